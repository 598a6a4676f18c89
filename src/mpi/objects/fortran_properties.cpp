// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/fortran_properties.hpp"

#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "mpi/datatype/default_kinds.hpp"
#include "mpi/error/error.hpp"

namespace weft::mpi {
namespace {

// Reads the bytes of a kind, if the info has them.
int read_bytes(const info& from, const char* key, int& bytes) {
  const std::optional<std::string> text = from.find(key);
  if (!text) return MPI_SUCCESS;
  const char* const end = text->data() + text->size();
  const auto [last, error] = std::from_chars(text->data(), end, bytes);
  if (error == std::errc{} && last == end && bytes > 0) return MPI_SUCCESS;
  return fail(MPI_ERR_INFO_VALUE, "%s is %s, and no number of bytes", key, text->c_str());
}

int set_sizes(const info& from) {
  default_kinds kinds;
  int error = read_bytes(from, "mpi_logical_size", kinds.logical);
  if (error == MPI_SUCCESS) error = read_bytes(from, "mpi_integer_size", kinds.integer);
  if (error == MPI_SUCCESS) error = read_bytes(from, "mpi_real_size", kinds.real);
  if (error == MPI_SUCCESS) error = read_bytes(from, "mpi_double_precision_size", kinds.double_precision);
  if (error != MPI_SUCCESS || set_default_kinds(kinds)) return error;
  return fail(MPI_ERR_INFO_VALUE,
              "a size that no datatype has: logicals of %d bytes, integers of %d, reals of %d and %d", kinds.logical,
              kinds.integer, kinds.real, kinds.double_precision);
}

}  // namespace

int fortran_properties::set_info(const info* from) noexcept {
  if (from == nullptr) return fail(MPI_ERR_INFO, "it is no info object");
  const std::lock_guard locked{mutex_};
  if (info_ != nullptr) return fail(MPI_ERR_ABI, "the properties of Fortran are set already");
  return guarded([&] {
    auto kept = std::make_unique<const info>(*from);
    const int error = set_sizes(*kept);
    if (error == MPI_SUCCESS) info_ = std::move(kept);
    return error;
  });
}

int fortran_properties::get_info(MPI_Info* made) noexcept {
  const std::lock_guard locked{mutex_};
  if (info_ != nullptr) {
    return guarded([&] {
      *made = new_handle(std::make_unique<info>(*info_));
      return MPI_SUCCESS;
    });
  }
  *made = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int fortran_properties::set_booleans(int bytes, const void* true_value, const void* false_value) noexcept {
  const auto size = static_cast<unsigned>(bytes);
  if (!std::has_single_bit(size) || size > bytes_max) return fail(MPI_ERR_ARG, "a boolean of %d bytes", bytes);
  const std::lock_guard locked{mutex_};
  if (bytes_ != 0) return fail(MPI_ERR_ABI, "the booleans of Fortran are set already");
  bytes_ = size;
  std::memcpy(true_.data(), true_value, size);
  std::memcpy(false_.data(), false_value, size);
  return MPI_SUCCESS;
}

int fortran_properties::get_booleans(int bytes, void* true_value, void* false_value, int* is_set) noexcept {
  const auto size = static_cast<unsigned>(bytes);
  if (!std::has_single_bit(size) || size > bytes_max) return fail(MPI_ERR_ARG, "a boolean of %d bytes", bytes);
  const std::lock_guard locked{mutex_};
  *is_set = bytes_ == size ? 1 : 0;
  if (*is_set == 0) return MPI_SUCCESS;
  std::memcpy(true_value, true_.data(), size);
  std::memcpy(false_value, false_.data(), size);
  return MPI_SUCCESS;
}

}  // namespace weft::mpi

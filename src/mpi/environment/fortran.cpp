// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/environment/fortran.hpp"

#include <bit>
#include <cstring>

#include "mpi/info/functions.hpp"
#include "mpi/objects/error.hpp"

namespace weft::mpi {

int fortran_properties::set_info(const info* from) noexcept {
  if (from == nullptr) return fail(MPI_ERR_INFO, "it is no info object");
  const std::lock_guard locked{mutex_};
  if (info_ != nullptr) return fail(MPI_ERR_ABI, "the properties of Fortran are set already");
  return guarded([&] {
    info_ = std::make_unique<const info>(*from);
    return MPI_SUCCESS;
  });
}

int fortran_properties::get_info(MPI_Info* made) noexcept {
  const std::lock_guard locked{mutex_};
  if (info_ != nullptr) return duplicate_info(*info_, made);
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

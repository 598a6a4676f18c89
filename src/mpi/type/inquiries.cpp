// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type/inquiries.hpp"

#include <algorithm>
#include <optional>

#include "mpi/datatype/contents.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/error/error.hpp"
#include "mpi/handle/copy_name.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

int fail_as_wide() noexcept {
  return fail(MPI_ERR_TYPE, "the datatype was made with counts of MPI_Count: ask the function that ends in _c");
}

// Handles of fixed-size types, by classes: (bytes of the smallest, then twice as many each time).
std::optional<std::uintptr_t> handle_of_size(int type_class, int bytes) noexcept {
  struct sized {
    int bytes;
    std::uintptr_t handle;
  };
  static constexpr sized integers[] = {{1, 0x2c1}, {2, 0x2c9}, {4, 0x2d1}, {8, 0x2d9}, {16, 0x2e1}};
  static constexpr sized reals[] = {{2, 0x2ca}, {4, 0x2d2}, {8, 0x2da}, {16, 0x2e2}};
  static constexpr sized complexes[] = {{4, 0x2d3}, {8, 0x2db}, {16, 0x2e3}, {32, 0x2eb}};
  std::span<const sized> types;
  if (type_class == MPI_TYPECLASS_INTEGER) types = integers;
  if (type_class == MPI_TYPECLASS_REAL) types = reals;
  if (type_class == MPI_TYPECLASS_COMPLEX) types = complexes;
  const auto found = std::ranges::find(types, bytes, &sized::bytes);
  return found != types.end() ? std::optional{found->handle} : std::nullopt;
}

}  // namespace

int get_envelope(const datatype& type, int* integers, int* addresses, int* types, int* kind) noexcept {
  const type_envelope found = envelope_of(type);
  if (found.large_counts != 0) return fail_as_wide();
  write_number(integers, found.integers);
  write_number(addresses, found.addresses);
  write_number(types, found.types);
  *kind = static_cast<int>(found.kind);
  return MPI_SUCCESS;
}

int get_envelope(const datatype& type, MPI_Count* integers, MPI_Count* addresses, MPI_Count* large_counts,
                 MPI_Count* types, int* kind) noexcept {
  const type_envelope found = envelope_of(type);
  *integers = found.integers;
  *addresses = found.addresses;
  *large_counts = found.large_counts;
  *types = found.types;
  *kind = static_cast<int>(found.kind);
  return MPI_SUCCESS;
}

int get_elements(const MPI_Status& status, const datatype& type, int* count) noexcept {
  return write_number(count, elements_in(type, static_cast<std::int64_t>(bytes_of(status))).value_or(MPI_UNDEFINED));
}

int get_elements(const MPI_Status& status, const datatype& type, MPI_Count* count) noexcept {
  return write_number(count, elements_in(type, static_cast<std::int64_t>(bytes_of(status))).value_or(MPI_UNDEFINED));
}

int get_name(rank_state& rank, MPI_Datatype handle, const datatype* type, char* name, int* length) noexcept {
  if (handle == MPI_DATATYPE_NULL) return copy_name("MPI_DATATYPE_NULL", name, length);
  if (type == nullptr) return fail(MPI_ERR_TYPE, "it is no datatype");
  return rank.names_of_types.get(*type, name, length);
}

int match_size(int type_class, int bytes, MPI_Datatype* to) noexcept {
  const std::optional<std::uintptr_t> found = handle_of_size(type_class, bytes);
  if (!found) return fail(MPI_ERR_ARG, "no datatype of class %d has %d bytes", type_class, bytes);
  *to = reinterpret_cast<MPI_Datatype>(*found);
  return MPI_SUCCESS;
}

int get_pair(const datatype& value, const datatype& index, MPI_Datatype* to) noexcept {
  const datatype* const found = find_pair(value, index);
  *to = found != nullptr ? handle_of(*found) : MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

}  // namespace weft::mpi

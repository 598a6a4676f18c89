// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/operation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "mpi/datatype/default_kinds.hpp"
#include "mpi/datatype/fortran.hpp"
#include "mpi/error/error.hpp"
#include "mpi/objects/datatype_handle.hpp"

namespace weft::mpi {
namespace {

bool is_predefined_operation(MPI_Op op) noexcept {
  if (op == MPI_REPLACE || op == MPI_NO_OP) return true;
  const std::uintptr_t index = number_of(op) - detail::first_operation;
  return index < detail::operations && detail::column_of_operation[index] != 0;
}

template <class Function>
int create(Function* function, int is_commutative, MPI_Op* out) noexcept {
  if (function == nullptr) return fail(MPI_ERR_ARG, "a null pointer for the function");
  return guarded([&] {
    *out = reinterpret_cast<MPI_Op>(new operation{function, is_commutative != 0});
    return MPI_SUCCESS;
  });
}

// Elements with gaps are combined as messages have them, some at a time.
void combine_with_gaps(const weft::reduction& reduction, const datatype& type, const void* input, void* inout,
                       MPI_Count count) {
  constexpr std::size_t room_bytes = 4096;
  std::array<std::byte, room_bytes> from, into;
  const auto size = static_cast<std::size_t>(type.size());
  const std::size_t whole = room_bytes / size * size;
  const auto all = static_cast<std::size_t>(count) * size;
  for (std::size_t done = 0; done < all; done += whole) {
    const std::size_t bytes = std::min(whole, all - done);
    type.pack(input, done, from.data(), bytes);
    type.pack(inout, done, into.data(), bytes);
    reduction.combine(from.data(), into.data(), bytes / size, reduction.context);
    type.unpack(inout, done, into.data(), bytes);
  }
}

}  // namespace

void operation::apply(void* input, void* inout, std::int64_t count, MPI_Datatype type) const {
  if (wide_ != nullptr) {
    MPI_Count length = count;
    return wide_(input, inout, &length, &type);
  }
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  while (count > 0) {
    int length = static_cast<int>(std::min(count, most));
    narrow_(input, inout, &length, &type);
    count -= most;
    if (count <= 0) return;
    const std::int64_t bytes = most * find_datatype(type)->extent();
    input = static_cast<std::byte*>(input) + bytes;
    inout = static_cast<std::byte*>(inout) + bytes;
  }
}

void operation::remove_reference(const operation* which) noexcept {
  // [operation.last] acq_rel <-> [operation.last]: the thread that destroys it sees all that others did with it.
  if (which->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete which;
}

const weft::reduction* find_reduction_of_fortran(MPI_Op op, const datatype& type) noexcept {
  const basic* const element = type.element();
  if (element == nullptr || (!is_of_fortran(type) && !has_default_kind(type))) return nullptr;
  const bool is_pair = type.size() == 2 * static_cast<std::int64_t>(element->bytes);
  return is_pair ? find_reduction_of_pair(number_of(op), element->handle)
                 : find_reduction(number_of(op), element->handle);
}

int create_operation(MPI_User_function* function, int is_commutative, MPI_Op* out) noexcept {
  return create(function, is_commutative, out);
}
int create_operation(MPI_User_function_c* function, int is_commutative, MPI_Op* out) noexcept {
  return create(function, is_commutative, out);
}

int free_operation(MPI_Op* op) noexcept {
  const operation* const found = find_operation(*op);
  if (found == nullptr)
    return fail(MPI_ERR_OP, "%s", is_predefined_operation(*op) ? "it is predefined" : "it is no operation");
  operation::remove_reference(found);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

int is_commutative(MPI_Op op, int* flag) noexcept {
  if (const operation* const found = find_operation(op)) {
    *flag = found->is_commutative() ? 1 : 0;
    return MPI_SUCCESS;
  }
  if (!is_predefined_operation(op)) return fail(MPI_ERR_OP, "it is no operation");
  *flag = op != MPI_REPLACE && op != MPI_NO_OP ? 1 : 0;
  return MPI_SUCCESS;
}

int reduce_local(const void* input, void* inout, MPI_Count count, const datatype& type, MPI_Op op) noexcept {
  return guarded([&] {
    if (count == 0) return MPI_SUCCESS;
    const weft::reduction* const reduction = find_reduction(op, type);
    if (reduction == nullptr) {
      find_operation(op)->apply(const_cast<void*>(input), inout, count, handle_of(type));
    } else if (type.is_contiguous(count)) {
      reduction->combine(input, inout, static_cast<std::size_t>(count), reduction->context);
    } else {
      combine_with_gaps(*reduction, type, input, inout, count);
    }
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi

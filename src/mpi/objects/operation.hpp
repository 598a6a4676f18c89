// SPDX-License-Identifier: BSD-3-Clause
// Operations of reductions: predefined ones, and those of programs, which count their references.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/handle/object.hpp"
#include "mpi/objects/predefined_reductions.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {

/// An operation of the program. Its handle is its address.
class operation {
 public:
  operation(MPI_User_function* function, bool is_commutative) noexcept
      : narrow_{function}, is_commutative_{is_commutative} {}
  operation(MPI_User_function_c* function, bool is_commutative) noexcept
      : wide_{function}, is_commutative_{is_commutative} {}

  [[nodiscard]] bool is_commutative() const noexcept { return is_commutative_; }
  /// Calls the program's function for elements of type `type`, as often as their number needs: it may have an int for
  /// it.
  void apply(void* input, void* inout, std::int64_t count, MPI_Datatype type) const;

  void add_reference() const noexcept {
    // relaxed: the caller has a reference already, so no thread destroys the operation.
    references_.fetch_add(1, std::memory_order_relaxed);
  }
  static void remove_reference(const operation* which) noexcept;

 private:
  friend const operation* find_operation(MPI_Op handle) noexcept;
  ~operation() { kind_ = object_kind::freed; }

  object_kind kind_ = object_kind::operation;  // first: handles of other kinds of objects are found by it
  MPI_User_function* narrow_ = nullptr;
  MPI_User_function_c* wide_ = nullptr;
  bool is_commutative_;
  mutable std::atomic<std::uint32_t> references_{1};
};

/// A reference to an operation, which lives at least as long.
class operation_ref {
 public:
  explicit operation_ref(const operation& op) noexcept : operation_{&op} { op.add_reference(); }
  ~operation_ref() { operation::remove_reference(operation_); }
  operation_ref(const operation_ref&) = delete;
  operation_ref& operator=(const operation_ref&) = delete;
  const operation* operator->() const noexcept { return operation_; }

 private:
  const operation* operation_;
};

/// The program's operation of a handle; null if it is none, or predefined.
[[nodiscard]] inline const operation* find_operation(MPI_Op handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  const auto* const found = reinterpret_cast<const operation*>(handle);
  return found->kind_ == object_kind::operation ? found : nullptr;
}

/// Finds the reduction of a type of Fortran that was found by its digits, or that has a default kind.
[[nodiscard, gnu::cold]] const weft::reduction* find_reduction_of_fortran(MPI_Op op, const datatype& type) noexcept;
/// How a predefined operation combines elements of `type`; null if it is not predefined, or does not take them.
[[nodiscard]] inline const weft::reduction* find_reduction(MPI_Op op, const datatype& type) noexcept {
  if (const weft::reduction* const found = find_reduction(number_of(op), type.handle())) [[likely]]
    return found;
  return find_reduction_of_fortran(op, type);
}

int create_operation(MPI_User_function* function, int is_commutative, MPI_Op* out) noexcept;
int create_operation(MPI_User_function_c* function, int is_commutative, MPI_Op* out) noexcept;
int free_operation(MPI_Op* op) noexcept;
int is_commutative(MPI_Op op, int* flag) noexcept;
/// `inout` becomes `input` combined with it, element by element.
int reduce_local(const void* input, void* inout, MPI_Count count, const datatype& type, MPI_Op op) noexcept;

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Error handlers: the predefined ones, which are numbers, and those of users, which count their references.
#pragma once

#include <atomic>
#include <cstdint>
#include <variant>

#include "mpi.h"
#include "mpi/handle/object.hpp"

namespace weft::mpi {

/// The user's function of an error handler: its type says for which objects the handler is.
using handler_function =
    std::variant<MPI_Comm_errhandler_function*, MPI_File_errhandler_function*, MPI_Session_errhandler_function*>;

/// A user's error handler. Objects that have it, and its handle, each hold a reference.
struct error_handler {
  explicit error_handler(handler_function called) noexcept : function{called} {}
  ~error_handler() { kind = object_kind::freed; }

  object_kind kind = object_kind::error_handler;
  std::atomic<std::uint32_t> references{1};
  handler_function function;
};

/// The user's handler of a handle; null: it is a predefined one, or none.
[[nodiscard]] error_handler* find_error_handler(MPI_Errhandler handle) noexcept;
/// Whether it is one for any kind of objects.
[[nodiscard]] bool is_error_handler(MPI_Errhandler handle) noexcept;
/// Whether it may be set on an object whose handlers have functions of this type.
template <class Function>
[[nodiscard]] bool is_error_handler_with(MPI_Errhandler handle) noexcept {
  const error_handler* const users = find_error_handler(handle);
  return users != nullptr ? std::holds_alternative<Function*>(users->function) : is_error_handler(handle);
}

/// The error handler of a communicator, or of files. A copy, for one that is made of another, has the same handler.
///
/// **Threads**: any, several at once. **Cost**: a lock of the process, as errors are rare and so are changes.
class error_handler_slot {
 public:
  error_handler_slot() noexcept = default;
  explicit error_handler_slot(MPI_Errhandler predefined) noexcept : handler_{predefined} {}
  error_handler_slot(const error_handler_slot& other) noexcept : handler_{other.acquire()} {}
  error_handler_slot& operator=(const error_handler_slot& other) = delete;
  ~error_handler_slot();

  void set(MPI_Errhandler handler) noexcept;
  /// The handler, with a reference that `release_error_handler` releases.
  [[nodiscard]] MPI_Errhandler acquire() const noexcept;

 private:
  MPI_Errhandler handler_ = MPI_ERRORS_ARE_FATAL;
};

/// Releases a reference. Predefined handlers have none.
void release_error_handler(MPI_Errhandler handler) noexcept;

int create_error_handler(handler_function function, MPI_Errhandler* handler) noexcept;
int free_error_handler(MPI_Errhandler* handler) noexcept;

}  // namespace weft::mpi

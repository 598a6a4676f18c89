// SPDX-License-Identifier: BSD-3-Clause
// How functions fail: an error class, with a reason for people, which goes through the error handler of an object.
#pragma once

#include "mpi.h"
#include "weft/error.hpp"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// Notes the reason for which the calling thread's function fails. Returns `error_class`.
[[gnu::cold, gnu::format(printf, 2, 3)]] int fail(int error_class, const char* format, ...) noexcept;
/// Notes also the communicator, where it is not an argument of the function but a request's. A function that returns
/// MPI_ERR_IN_STATUS calls its error handler with this class.
[[gnu::cold]] int fail_in(communicator& comm, int error_class) noexcept;
[[gnu::cold]] int fail_unsupported() noexcept;
/// The failure of a call before MPI_Init or after MPI_Finalize.
[[gnu::cold]] int fail_outside() noexcept;
[[gnu::cold]] int fail_by(const weft::error& thrown) noexcept;
/// Notes the text of the exception that is handled now.
[[gnu::cold]] int fail_by_exception() noexcept;

/// The class of an error with which an operation completes.
[[nodiscard]] int class_of(weft::errc code) noexcept;
/// The name of a class, as in `MPI_ERR_RANK`, and a sentence about it.
struct class_text {
  const char* name;
  const char* meaning;
};
[[nodiscard]] class_text text_of(int error_class) noexcept;
[[nodiscard]] bool is_predefined_class(int error_class) noexcept;

/// Calls the error handler of `comm`, or of MPI_COMM_SELF if it is null. Returns `error` if the handler returns.
/// **Errors**: the handler's exceptions. If `error` is `program_has_thrown`, it calls none, and throws the kept
/// exception.
[[gnu::cold]] int raise(rank_state& rank, communicator* comm, int error, const char* function);
/// Raises an error of a function of files, by the handler of MPI_FILE_NULL, which returns errors until the program sets
/// another one.
[[gnu::cold]] int raise_of_files(rank_state& rank, int error, const char* function);
/// Raises an error of a function that has the handler as an argument, and whose objects are null. **Errors**: the
/// handler's exceptions; ends the process where the handler is fatal, or is none.
[[gnu::cold]] int raise_by(MPI_Errhandler handler, int error, const char* function);
/// Raises an error where there is no rank, and so no error handler: ends the process.
[[noreturn, gnu::cold]] int raise_outside(const char* function, int error) noexcept;
/// Raises an error of a function that may be called at any time: `rank` is null where there is none.
[[gnu::cold]] int raise_anywhere(rank_state* rank, int error, const char* function);

int set_error_handler(communicator& comm, MPI_Errhandler handler) noexcept;
int get_error_handler(const communicator& comm, MPI_Errhandler* handler) noexcept;
/// MPI_Comm_call_errhandler, which succeeds if the handler returns. **Errors**: the handler's exceptions.
int call_error_handler(rank_state& rank, communicator& comm, int code);

/// The error handler of MPI_FILE_NULL: there are no other files.
int set_error_handler_of_files(rank_state& rank, MPI_File file, MPI_Errhandler handler) noexcept;
int get_error_handler_of_files(const rank_state& rank, MPI_File file, MPI_Errhandler* handler) noexcept;
int call_error_handler_of_files(rank_state& rank, MPI_File file, int code);  // **Errors**: the handler's exceptions

/// Runs `body`, which returns an error class, and turns exceptions into one.
template <class Body>
[[nodiscard]] [[gnu::always_inline]] inline int guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return fail_by_exception();
  }
}

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Errors that go through the error handler of an object, or end the job.
#pragma once

#include "mpi.h"
#include "mpi/error/error_owner.hpp"

namespace weft::mpi {

struct rank_state;

/// Calls the error handler of `owner`, or of MPI_COMM_SELF if it is null. Returns `error` if the handler returns.
/// **Errors**: the handler's exceptions. If `error` is `program_has_thrown`, it calls none, and throws the kept
/// exception.
[[gnu::cold]] int raise(rank_state& rank, error_owner* owner, int error, const char* function);
/// Raises an error of a function that has the handler as an argument, and whose objects are null. **Errors**: the
/// handler's exceptions; ends the process where the handler is fatal, or is none.
[[gnu::cold]] int raise_by(MPI_Errhandler handler, int error, const char* function);
/// Raises an error where there is no rank, and so no error handler: ends the process.
[[noreturn, gnu::cold]] int raise_outside(const char* function, int error) noexcept;
/// Raises an error of a function that may be called at any time: `rank` is null where there is none.
[[gnu::cold]] int raise_anywhere(rank_state* rank, int error, const char* function);

int set_error_handler(error_owner& owner, MPI_Errhandler handler) noexcept;
int get_error_handler(const error_owner& owner, MPI_Errhandler* handler) noexcept;
/// MPI_Comm_call_errhandler, which succeeds if the handler returns. **Errors**: the handler's exceptions.
int call_error_handler(rank_state& rank, error_owner& owner, int code);

/// The error handler of MPI_FILE_NULL: there are no other files.
int set_error_handler_of_files(rank_state& rank, MPI_File file, MPI_Errhandler handler) noexcept;
int get_error_handler_of_files(const rank_state& rank, MPI_File file, MPI_Errhandler* handler) noexcept;
int call_error_handler_of_files(rank_state& rank, MPI_File file, int code);  // **Errors**: the handler's exceptions

}  // namespace weft::mpi

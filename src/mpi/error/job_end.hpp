// SPDX-License-Identifier: BSD-3-Clause
// The end of the job by a rank: MPI_Abort, and errors that no handler of the program takes.
#pragma once

namespace weft::mpi {

/// Writes a line to standard error, writes out what `stdout` and `stderr` hold, and ends this process; the launcher
/// ends the other ranks. It runs no function of `atexit`, and leaves other files as they are: a thread that reads one
/// holds its lock for as long as nothing arrives.
///
/// **Blocking**: a second at most, where another thread holds one of both streams, or the reader of one does not read.
/// Then what they hold is lost. **Threads**: any, also in a signal handler: it takes no memory and no lock. Where
/// several call it, the first one decides.
[[noreturn, gnu::cold, gnu::format(printf, 2, 3)]] void end_job(int exit_code, const char* format, ...) noexcept;

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
// The environment in which the program runs, as an info object: MPI_INFO_ENV, MPI_Info_create_env.
#pragma once

#include <memory>
#include <mutex>

#include "mpi/info/info.hpp"

namespace weft::mpi {

/// Adds command, argv, maxprocs, host, arch and wdir (MPI 5.0, 11.2.1): the same before MPI_Init, after it, and after
/// MPI_Finalize. `argv` may be null. **Errors**: std::bad_alloc.
void add_environment(info& to, int argc, const char* const* argv);

/// MPI_INFO_ENV of a rank, which is made when the rank first uses it. **Threads**: any, several at once.
class environment_info {
 public:
  /// Null: there is no memory.
  [[nodiscard]] info* get() noexcept;

 private:
  std::mutex mutex_;
  std::unique_ptr<info> made_;
};

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Sessions: what a program starts before it communicates (MPI 5.0, 11.3). MPI_Init starts one, which users do not see.
#pragma once

#include <memory>
#include <thread>

#include "mpi/objects/call_checks.hpp"
#include "mpi/objects/vci.hpp"
#include "weft/runtime.hpp"

namespace weft::mpi {

/// All that a start sets up, and an end takes down: Weft's runtime, and who may call. Sessions of one process use one
/// runtime, which ends with the last of them.
struct session {
  std::shared_ptr<weft::runtime> runtime;
  int thread_level;  // a value such as MPI_THREAD_SINGLE
  vci_options vcis;
  std::thread::id main_thread = std::this_thread::get_id();
  std::unique_ptr<call_checks> checks{};  // null: WEFT_CHECK=0
};

/// Makes a runtime for a session of this thread level, or takes the given one, which is another owner's. **Errors**:
/// those of `weft::runtime`.
[[nodiscard]] session start_session(weft::runtime* given, int thread_level);

}  // namespace weft::mpi

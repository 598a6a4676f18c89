// SPDX-License-Identifier: BSD-3-Clause
// A communicator of Weft's MPI library as Weft sees it, for programs that use MPI and Weft beside each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/progress_policy.hpp"

/// An `MPI_Comm` of the standard ABI points to it, so this header needs no `mpi.h`.
struct MPI_ABI_Comm;

namespace weft {

class device;
class runtime;

/// What is Weft's of a communicator.
struct mpi_communicator {
  weft::runtime* runtime = nullptr;  ///< MPI_Init has made it; it ends with MPI_Finalize
  weft::device* device = nullptr;    ///< carries the messages of the communicator go
  /// The rank in `runtime` of each member, by its rank in the communicator. Of an intercommunicator: of the local
  /// group.
  std::vector<std::uint32_t> world_ranks{};
};

/// The runtime, the device and the ranks of a communicator, as in `weft::describe_communicator(MPI_COMM_WORLD)`. Up to
/// MPI_THREAD_SERIALIZED the runtime is one thread's at a time: calls of MPI and of Weft together. Both make progress
/// for both: a handler of Weft's may run inside a function of MPI.
/// **Blocking**: never. **Threads**: any, between MPI_Init and MPI_Finalize.
/// **Errors**: `invalid_state` if the process has no MPI library of Weft's that is initialized, `invalid_argument` if
/// the handle is no communicator.
[[nodiscard]] mpi_communicator describe_communicator(MPI_ABI_Comm* communicator);

namespace detail {

/// The part of the MPI library: fills in a description. False: the handle is no communicator of the calling thread's
/// rank. Null in `runtime`: MPI is not initialized.
using communicator_description = bool (*)(MPI_ABI_Comm* communicator, mpi_communicator& to);

/// The MPI library tells of itself, before it makes its runtime. **Blocking**: never. **Threads**: any.
/// **Errors**: `boot_failed` if the process has another copy of Weft, whose messages the MPI library would not see.
void set_mpi_library(communicator_description describe);

/// Settings of the MPI library, which has no access to the table of settings.
struct mpi_settings {
  std::optional<std::uint32_t> vcis;  ///< WEFT_MPI_VCIS
  bool global_progress;               ///< WEFT_MPI_GLOBAL_PROGRESS
  bool progress_thread;               ///< WEFT_MPI_PROGRESS_THREAD
  progress_policy policy;             ///< WEFT_PROGRESS_POLICY
  std::uint32_t devices_max;          ///< WEFT_DEVICES_MAX
  std::size_t core_count;             ///< cores that the calling thread may use
};

/// Reads them from the environment. **Blocking**: never. **Threads**: any. **Errors**: `configuration` for values out
/// of range, and for settings that contradict each other.
[[nodiscard]] mpi_settings read_mpi_settings();

/// Whether calls of this runtime's program are checked (WEFT_CHECK). **Blocking**: never. **Threads**: any.
[[nodiscard]] bool checks_calls(const weft::runtime& owner) noexcept;

}  // namespace detail
}  // namespace weft

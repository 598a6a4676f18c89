// SPDX-License-Identifier: BSD-3-Clause
// Options of a runtime: a member for each setting that is a runtime's, and not the process's.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "weft/device_options.hpp"
#include "weft/long_messages.hpp"
#include "weft/progress_policy.hpp"

namespace weft {

/// Options of `runtime`. Each member but `default_device` is the variable `WEFT_…` of its name, and takes precedence
/// over it: docs/configuration.md says which values are allowed, and which all ranks of a job must give alike. A member
/// that is not given leaves the choice to the variable, and an unset variable to the default. A text that is empty is
/// not given.
struct runtime_options {
  /// The default device's. With `.shared = false` a single thread at a time may use the runtime and all objects that
  /// are made from it, its other devices included; its messages then cost no lock.
  device_options default_device{};

  // Sizes that all ranks must give alike.
  std::optional<std::size_t> packet_count{};  ///< packets in the pool
  std::optional<std::size_t> packet_bytes{};  ///< payload of a packet; longer messages go by rendezvous
  std::optional<std::size_t> ring_cells{};    ///< cells of a ring between two devices
  std::optional<std::size_t> devices_max{};   ///< devices
  std::optional<std::size_t> shared_bytes{};  ///< memory for regions that peers map
  std::optional<std::size_t> regions_max{};   ///< memory regions

  // Bounds that are this rank's own.
  std::optional<std::size_t> state_bytes_max{};       ///< memory for operations, receives and waiting messages together
  std::optional<std::size_t> operations_max{};        ///< long operations under way
  std::optional<std::size_t> receives_max{};          ///< receives that are posted
  std::optional<std::size_t> matching_buckets{};      ///< buckets of the table in which sends and receives match
  std::optional<std::size_t> queue_capacity{};        ///< records in a lane of a queue that is given no capacity
  std::optional<std::size_t> foreign_packets_max{};   ///< packets of a peer in records; beyond it delivery copies
  std::optional<std::size_t> unexpected_bytes_max{};  ///< memory for messages of ids to come; as much for copies
  std::optional<std::size_t> unexpected_sends_max{};  ///< messages that wait for their receives
  std::optional<std::size_t> unexpected_packets_max{};  ///< packets of these; beyond it they are copied

  /// Policy of devices that name none.
  std::optional<weft::progress_policy> progress_policy{};
  /// Whether the counters of each device are written to standard error at its end.
  std::optional<bool> print_counters{};

  /// Whether ranks that a launcher left on one set of processors divide the cores among themselves, as `weft-run` does:
  /// each rank gets whole cores next to each other. Nothing happens if there are more ranks than cores. It binds the
  /// calling thread and threads that it starts later. Ranks that are bound already stay where they are; other jobs of
  /// the machine are not considered. All ranks must give one value.
  std::optional<bool> bind{};
  /// The transports to use, in order of preference, as in `"shm,ofi"`. All ranks must give one value.
  std::string transport{};
  /// The algorithms of collectives, by operation, as in `"allreduce:ring,broadcast:binomial"`: of all groups.
  /// `collective_options::algorithm` takes precedence. All ranks must give one value.
  std::string coll{};
  /// Whether the members of a group compare their calls before each collective, and refuse calls that differ
  /// (docs/collectives.md), and whether MPI refuses calls that its threads may not make (docs/mpi.md). All ranks must
  /// give one value.
  std::optional<bool> check{};
  /// Whether to try to read and write long messages in the memory of the other process.
  std::optional<bool> shm_cma{};
  /// How messages that are longer than a packet travel from a peer whose memory this rank can read.
  std::optional<weft::long_messages> long_messages{};
  /// Bytes that a side copies at a time where both sides copy a message; 0: chosen by size.
  std::optional<std::size_t> copy_piece_bytes{};
  /// The libfabric provider. Rank 0's counts for all ranks.
  std::string ofi_provider{};

  // Settings of a simulated network (`sim:` in `transport`).
  std::optional<std::size_t> sim_seed{};  ///< source of all random choices; 0 draws one; rank 0's counts for all ranks
  std::optional<std::size_t> sim_delay_percent{};   ///< arrivals that are held back
  std::optional<std::size_t> sim_refuse_percent{};  ///< posts that are refused though there is room
  std::optional<std::size_t> sim_deny_percent{};    ///< direct copies and mappings that are denied
  std::string sim_fail{};                           ///< a direct copy that fails, as in `"read:17"`
};

}  // namespace weft

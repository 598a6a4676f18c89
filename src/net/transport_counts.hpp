// SPDX-License-Identifier: BSD-3-Clause
// The counters of transports.
#pragma once

#include <cstdint>

namespace weft::net {

/// How often a simulated network has disturbed its messages on purpose; all zero elsewhere.
struct fault_counts {
  std::uint64_t delayed = 0;      // arrivals held back
  std::uint64_t reordered = 0;    // arrivals that overtook an older one of their peer's
  std::uint64_t full = 0;         // posts refused though there was room
  std::uint64_t busy = 0;         // posts refused though no other thread was posting
  std::uint64_t unavailable = 0;  // direct copies denied
  std::uint64_t unmapped = 0;     // peers' shared memory denied
  // Direct copies that WEFT_SIM_FAIL chose:
  std::uint64_t failed_reads = 0;   // answered bad_address
  std::uint64_t failed_writes = 0;  // answered bad_address
  std::uint64_t gone_reads = 0;     // answered peer_gone
  std::uint64_t gone_writes = 0;    // answered peer_gone
};

/// The messages that this rank has sent over a fabric, and their bytes with headers. Messages that stay on the machine
/// do not count.
struct traffic_counts {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
};

/// The counts of one transport.
struct transport_counts {
  std::uint64_t refused = 0;  // messages dropped because a peer wrote impossible values
  /// Payloads owned by this transport that a sink has not given back, less the payloads of any owner that this
  /// transport holds as the sink of another one. The sum over all transports, plus the lent packets, is the number
  /// that the core holds.
  std::int64_t payloads_out = 0;
  fault_counts faults{};
  traffic_counts traffic{};
};

}  // namespace weft::net

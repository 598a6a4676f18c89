// SPDX-License-Identifier: BSD-3-Clause
// The memory of a rank that its messages use: packets, regions, and the copy states of long messages. It lies in a
// segment that a transport shares with peers, if there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/config.hpp"
#include "core/memory/memory_kinds.hpp"
#include "core/memory/packet_pool.hpp"
#include "core/runtime/copy_choices.hpp"
#include "core/runtime/copy_states.hpp"
#include "core/runtime/job.hpp"
#include "core/runtime/regions.hpp"
#include "core/runtime/transport_set.hpp"

namespace weft::core {

class rank_memory {
 public:
  /// Gives the packets to all transports. **Errors**: out_of_memory.
  rank_memory(const transport_set& transports, const job& job, const base::settings& settings);

  [[nodiscard]] packet_pool& packets() noexcept { return packets_; }
  /// Kinds of memory that buffers of this runtime may name.
  [[nodiscard]] memory_kinds& kinds() noexcept { return kinds_; }
  [[nodiscard]] region_table& regions() noexcept { return regions_; }
  /// Copy states of long messages that both sides copy.
  [[nodiscard]] core::copy_states& copy_states() noexcept { return copy_states_; }
  /// How the bytes of long messages travel to this rank.
  [[nodiscard]] core::copy_choices& copy_choices() noexcept { return copy_choices_; }

 private:
  using block = std::unique_ptr<std::byte, void (*)(std::byte*)>;
  [[nodiscard]] static block allocate_packets(const base::settings& settings);

  block own_packets_;  // null if a transport has lent them
  packet_pool packets_;
  memory_kinds kinds_;
  region_table regions_;
  core::copy_states copy_states_;
  core::copy_choices copy_choices_;
};

}  // namespace weft::core

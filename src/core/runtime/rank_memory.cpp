// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/rank_memory.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "net/packet_stride.hpp"
#include "weft/error.hpp"

namespace weft::core {

// Pages that are never used take no memory, so a rank alone in its job may allocate all packets.
rank_memory::block rank_memory::allocate_packets(const base::settings& settings) {
  const std::size_t bytes = net::packet_stride(settings.packet_bytes) * settings.packet_count;
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(detail::cache_line_bytes, bytes));
  if (memory == nullptr) {
    throw error{errc::out_of_memory, fmt::format("no memory for {} packets of {} bytes; lower WEFT_PACKET_COUNT",
                                                 settings.packet_count, settings.packet_bytes)};
  }
  return {memory, [](std::byte* mine) { std::free(mine); }};
}

rank_memory::rank_memory(const transport_set& transports, const job& job, const base::settings& settings)
    : own_packets_{transports.sharing() != nullptr ? block{nullptr, nullptr} : allocate_packets(settings)},
      packets_{own_packets_ != nullptr ? own_packets_.get() : transports.sharing()->packet_memory(),
               settings.packet_count, static_cast<std::uint32_t>(settings.packet_bytes)},
      regions_{job.rank(), job.size(), transports.all(), settings},
      copy_states_{regions_, job.rank()},
      copy_choices_{job.rank(), job.size(), settings} {
  if (net::memory_sharing* const lender = transports.sharing(); lender != nullptr) packets_.reclaim_from(*lender);
  for (const auto& transport : transports) transport->use_packets(packets_);
}

}  // namespace weft::core

// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/transport_set.hpp"

#include <algorithm>

#include "base/assertion.hpp"
#include "net/transports.hpp"

namespace weft::core {

void transport_set::make(const net::transport_context& context) {
  WEFT_ASSERT(all_.empty());
  all_ = net::make_transports(context);
}

void transport_set::find_neighbours(std::uint32_t rank, std::uint32_t size, bool divides) {
  neighbours_.find(all_, rank, size);
  if (divides) neighbours_.divide_cores();
}

void transport_set::use_sleep_words_in(parking& lot) noexcept {
  net::memory_sharing* const shared = sharing();
  net::sleep_words& words = shared != nullptr ? shared->shared_sleep_words() : own_sleepers_;
  for (const auto& transport : all_) transport->use_sleep_words(words);
  lot.use(words, std::ranges::all_of(all_, [](const auto& each) { return each->wakes_sleepers(); }));
}

net::memory_sharing* transport_set::sharing() const noexcept {
  for (const auto& transport : all_) {
    if (net::memory_sharing* const shared = transport->sharing(); shared != nullptr) return shared;
  }
  return nullptr;
}

std::uint32_t transport_set::devices_max(std::uint32_t wanted) const noexcept {
  for (const auto& transport : all_) wanted = std::min(wanted, transport->devices_max());
  return wanted;
}

void transport_set::add_to(runtime_counters& out) const noexcept {
  for (const auto& transport : all_) {
    const net::transport_counts counted = transport->counted();
    const net::fault_counts& faults = counted.faults;
    out.messages_refused += counted.refused;
    out.faults_delayed += faults.delayed;
    out.faults_reordered += faults.reordered;
    out.faults_refused += faults.full + faults.busy;
    out.faults_denied += faults.unavailable + faults.unmapped;
    out.faults_failed += faults.failed_reads + faults.failed_writes + faults.gone_reads + faults.gone_writes;
    out.fabric_messages += counted.traffic.messages;
    out.fabric_bytes += counted.traffic.bytes;
  }
}

std::int64_t transport_set::payloads_out() const noexcept {
  std::int64_t out = 0;
  for (const auto& transport : all_) out += transport->counted().payloads_out;
  return out;
}

}  // namespace weft::core

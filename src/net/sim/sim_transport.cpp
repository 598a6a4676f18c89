// SPDX-License-Identifier: BSD-3-Clause
#include "net/sim/sim_transport.hpp"

#include <fmt/format.h>

#include "base/log.hpp"

namespace weft::net::sim {
namespace {

// A hash that is equal in every build, unlike std::hash.
std::uint64_t number_of(std::string_view name) noexcept {
  std::uint64_t out = 0;
  for (const char each : name) out = mixed(out + static_cast<unsigned char>(each) + 1);
  return out;
}

// A key of the bootstrap; only the first word of a transport's name is used, the rest are details.
std::string key_for(std::string_view name) { return fmt::format("sim-{}", name.substr(0, name.find(' '))); }

}  // namespace

sim_transport::sim_transport(const transport_context& context, std::unique_ptr<transport> wrapped)
    : wrapped_{std::move(wrapped)},
      name_{fmt::format("sim:{}", wrapped_->name())},
      rank_{context.boot.rank()},
      ranks_{context.boot.size()},
      plan_{agree_on_plan(context, key_for(wrapped_->name()))},
      seed_{mixed(plan_.seed) ^ mixed(number_of(name_) + rank_)} {}

sim_transport::~sim_transport() {
  const fault_counts counts = tally_.read();
  base::log_info(
      "{}: seed {}, faults: delayed={} reordered={} full={} busy={} unavailable={} unmapped={} failed_reads={} "
      "failed_writes={} gone_reads={} gone_writes={}",
      name_, plan_.seed, counts.delayed, counts.reordered, counts.full, counts.busy, counts.unavailable,
      counts.unmapped, counts.failed_reads, counts.failed_writes, counts.gone_reads, counts.gone_writes);
}

transport_counts sim_transport::counted() const noexcept {
  transport_counts out = wrapped_->counted();
  for (const auto& each : slots_) {
    if (each != nullptr) out.payloads_out -= each->arrivals.payloads_held();
  }
  out.faults = tally_.read();
  return out;
}

std::byte* sim_transport::shared_memory(std::uint32_t rank) noexcept {
  std::byte* const there = wrapped_->sharing()->shared_memory(rank);
  // Answers alike in each call: memory that was mapped stays mapped.
  if (there == nullptr || rank == rank_ || mixed(seed_ + rank) % 100 >= plan_.deny_percent) return there;
  tally::count(tally_.unmapped);
  return nullptr;
}

slot& sim_transport::slot_at(std::uint32_t index) {
  const std::scoped_lock lock{opening_};
  if (slots_.size() <= index) slots_.resize(index + 1);
  if (!slots_[index]) slots_[index] = std::make_unique<slot>(plan_, mixed(seed_ + index), ranks_, tally_);
  return *slots_[index];
}

copy_result sim_transport::next_copy(slot& from, bool write) noexcept {
  // [sim.copy_number] relaxed: hands out numbers, and nothing with them.
  const std::uint64_t number = (write ? writes_ : reads_).fetch_add(1, std::memory_order_relaxed) + 1;
  if (plan_.failure && plan_.failure->write == write && plan_.failure->number == number) {
    tally_.count(*plan_.failure);
    return plan_.failure->answer;
  }
  if (!from.posts.happens(plan_.deny_percent)) return copy_result::done;
  tally::count(tally_.unavailable);
  return copy_result::unavailable;
}

post_result sim_transport::next_post(slot& from) noexcept {
  // Nothing is refused twice in a row, so a thread that posts again succeeds.
  if (from.refused.load(std::memory_order_relaxed)) {      // [hint] two threads may both be refused again
    from.refused.store(false, std::memory_order_relaxed);  // [hint]
    return post_result::ok;
  }
  if (!from.posts.happens(plan_.refuse_percent)) return post_result::ok;
  from.refused.store(true, std::memory_order_relaxed);  // [hint]
  const bool full = from.posts.happens(50);
  tally::count(full ? tally_.full : tally_.busy);
  return full ? post_result::full : post_result::busy;
}

}  // namespace weft::net::sim

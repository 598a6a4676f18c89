// SPDX-License-Identifier: BSD-3-Clause
#include "net/sim/inbox.hpp"

#include <algorithm>

namespace weft::net::sim {

inbox::inbox(const plan& plan, std::uint64_t seed, std::uint32_t ranks, tally& faults)
    : delay_percent_{plan.delay_percent}, dice_{seed}, faults_{&faults}, held_from_(ranks), blocked_(ranks) {}

bool inbox::on_message(arrival message) noexcept {
  if (held_from_[message.source] == held_per_peer_max) return false;
  held entry;
  entry.message = message;
  entry.due = now_;
  if (dice_.happens(delay_percent_)) {
    entry.due += 1 + dice_.roll() % polls_max;
    tally::count(faults_->delayed);
  }
  entry.serial = ++serial_;
  if (message.owner == nullptr && message.bytes != 0) std::memcpy(entry.payload.data(), message.payload, message.bytes);
  try {
    held_.push_back(entry);
  } catch (const std::bad_alloc&) {
    return false;
  }
  ++held_from_[message.source];
  return true;
}

std::int64_t inbox::payloads_held() const noexcept {
  return std::ranges::count_if(held_, [](const held& each) { return each.message.owner != nullptr; });
}

void inbox::begin_poll() noexcept { ++now_; }

bool inbox::may_go(const held& each) const noexcept {
  return each.due <= now_ && blocked_[each.message.source] != now_;
}

inbox::held* inbox::choose() noexcept {
  const auto due = std::count_if(held_.begin(), held_.end(), [&](const held& each) { return may_go(each); });
  if (due == 0) return nullptr;
  std::uint64_t skip = dice_.roll() % static_cast<std::uint64_t>(due);
  for (held& each : held_) {
    if (may_go(each) && skip-- == 0) return &each;
  }
  return nullptr;
}

void inbox::remove(held& gone) noexcept {
  const bool overtakes = std::any_of(held_.begin(), held_.end(), [&](const held& each) {
    return each.message.source == gone.message.source && each.serial < gone.serial;
  });
  if (overtakes) tally::count(faults_->reordered);
  --held_from_[gone.message.source];
  gone = held_.back();
  held_.pop_back();
}

}  // namespace weft::net::sim

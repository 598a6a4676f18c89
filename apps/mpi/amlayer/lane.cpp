// SPDX-License-Identifier: BSD-3-Clause
#include "lane.hpp"

#include <algorithm>
#include <cstring>

namespace mpi_amlayer {

// Payloads of messages whose number is divisible by this are compared in full, others at both ends.
constexpr std::uint64_t full_check_interval = 64;

std::vector<std::byte> pattern_of(int rank, int lane, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    out[i] = static_cast<std::byte>(i * 31 + static_cast<std::size_t>(rank * 7 + lane * 13 + 1));
  return out;
}

void lane::prepare(int rank, int partner, int number, std::size_t bytes, int first_tag, std::size_t slots) {
  expected_ = pattern_of(partner, number, bytes);
  const std::vector<std::byte> sent = pattern_of(rank, number, bytes);
  for (std::size_t slot = 0; slot < slots; ++slot) {
    outgoing_.push_back(std::make_unique<outgoing_message>(first_tag + static_cast<int>(slot), bytes));
    std::memcpy(outgoing_.back()->payload(), sent.data(), bytes);
  }
}

void lane::count(std::uint64_t number, std::span<const std::byte> payload, bool is_expected) noexcept {
  if (!is_expected || !is_right(number, payload)) {
    // [stat]
    wrong_.fetch_add(1, std::memory_order_relaxed);
  }
  // [stat]
  sum_.fetch_add(number, std::memory_order_relaxed);
  // [lane.received] release -> [lane.look]: the counters.
  received_.fetch_add(1, std::memory_order_release);
}

bool lane::is_right(std::uint64_t number, std::span<const std::byte> payload) const noexcept {
  constexpr std::size_t begin = sizeof number;
  if (payload.size() != expected_.size() || std::memcmp(payload.data(), &number, begin) != 0) return false;
  if (payload.size() == begin) return true;
  if (number % full_check_interval == 0)
    return std::memcmp(payload.data() + begin, expected_.data() + begin, payload.size() - begin) == 0;
  return payload.back() == expected_.back();
}

std::uint64_t lane::count_wrong(std::uint64_t end) const noexcept {
  // [stat]
  std::uint64_t out = wrong_.load(std::memory_order_relaxed);
  const std::uint64_t arrived = received();
  if (arrived != end) return out + std::max(arrived, end) - std::min(arrived, end);
  // [stat]
  const bool is_each_once = sum_.load(std::memory_order_relaxed) == (end == 0 ? 0 : end * (end - 1) / 2);
  return out + (is_each_once ? 0 : 1);
}

bool lane::is_all_sent() const noexcept {
  return std::ranges::all_of(outgoing_, [](const auto& each) { return each->is_free(); });
}

}  // namespace mpi_amlayer

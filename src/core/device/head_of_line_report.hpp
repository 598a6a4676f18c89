// SPDX-License-Identifier: BSD-3-Clause
// Messages for which there is no room at their target, such as a full completion object, for a report: they stop what
// the same device of their sender has sent behind them.
//
// Cost: a store for each such message in each poll.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace weft::core {

/// **Threads**: any, each function.
class head_of_line_report {
 public:
  struct message {
    std::uint32_t source;
    std::uint32_t kind;  // the low byte of the header's
    std::uint32_t id;
  };

  void note(std::uint32_t source, std::uint32_t kind, std::uint32_t id) noexcept {
    // Ranks are below 2^24.
    const std::uint64_t word = std::uint64_t{id} << 32 | (std::uint64_t{kind} & 0xff) << 24 | (source & 0xff'ffff);
    kept_[source % kept_.size()].store(word, std::memory_order_relaxed);  // [hint] for people
  }
  void clear() noexcept {
    for (auto& each : kept_) each.store(none, std::memory_order_relaxed);  // [hint]
  }
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& entry : kept_) {
      const std::uint64_t word = entry.load(std::memory_order_relaxed);  // [hint]
      if (word == none) continue;
      visit(message{static_cast<std::uint32_t>(word & 0xff'ffff), static_cast<std::uint32_t>(word >> 24 & 0xff),
                    static_cast<std::uint32_t>(word >> 32)});
    }
  }

 private:
  static constexpr std::uint64_t none = 0;  // a kind that no message has
  std::array<std::atomic<std::uint64_t>, 8> kept_{};
};

}  // namespace weft::core

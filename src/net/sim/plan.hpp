// SPDX-License-Identifier: BSD-3-Clause
// What goes wrong in a simulated network, how often, and the dice that decide it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>

#include "net/transport.hpp"

namespace weft::net::sim {

/// The direct copy that WEFT_SIM_FAIL chooses.
struct chosen_failure {
  bool write = false;
  std::uint64_t number = 0;  // counted from 1, for each rank and transport
  copy_result answer = copy_result::bad_address;
};

/// Reads `read:17`, `write:3` or `read:17:gone`. `origin` says in messages where the text is from. **Errors**:
/// `configuration`.
[[nodiscard]] chosen_failure parse_failure(std::string_view text, std::string_view origin);

/// The failure that the settings choose; empty if they choose none. **Errors**: those of `parse_failure`.
[[nodiscard]] std::optional<chosen_failure> failure_of(const base::settings& settings);

struct plan {
  std::uint64_t seed = 1;
  std::uint32_t delay_percent = 0;
  std::uint32_t refuse_percent = 0;
  std::uint32_t deny_percent = 0;
  std::optional<chosen_failure> failure;
};

/// The plan of a job: all ranks use and report rank 0's seed. Collective; `key` names the exchange.
[[nodiscard]] plan agree_on_plan(const transport_context& context, std::string_view key);

/// Mixes the bits of `word` so that similar words have nothing in common (the finalizer of SplitMix64).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t word) noexcept {
  word = (word ^ word >> 30) * 0xbf58'476d'1ce4'e5b9;
  word = (word ^ word >> 27) * 0x94d0'49bb'1331'11eb;
  return word ^ word >> 31;
}

/// Random choices by their number: the n-th is the same in every run, whichever thread makes it. **Threads**: any.
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : seed_{mixed(seed)} {}

  [[nodiscard]] std::uint64_t roll() noexcept {
    // [sim.roll] relaxed: hands out numbers, and nothing with them.
    const std::uint64_t number = rolled_.fetch_add(1, std::memory_order_relaxed);
    return mixed(seed_ + (number + 1) * 0x9e37'79b9'7f4a'7c15);
  }
  [[nodiscard]] bool happens(std::uint32_t percent) noexcept { return roll() % 100 < percent; }

 private:
  std::uint64_t seed_;
  std::atomic<std::uint64_t> rolled_{0};
};

/// Faults so far, by kind. **Threads**: any.
struct tally {
  std::atomic<std::uint64_t> delayed{0};
  std::atomic<std::uint64_t> reordered{0};
  std::atomic<std::uint64_t> full{0};
  std::atomic<std::uint64_t> busy{0};
  std::atomic<std::uint64_t> unavailable{0};
  std::atomic<std::uint64_t> unmapped{0};
  std::atomic<std::uint64_t> failed_reads{0};
  std::atomic<std::uint64_t> failed_writes{0};
  std::atomic<std::uint64_t> gone_reads{0};
  std::atomic<std::uint64_t> gone_writes{0};

  static void count(std::atomic<std::uint64_t>& kind) noexcept {
    kind.fetch_add(1, std::memory_order_relaxed);  // [stat]
  }
  void count(const chosen_failure& happened) noexcept;
  [[nodiscard]] fault_counts read() const noexcept;
};

}  // namespace weft::net::sim

// SPDX-License-Identifier: BSD-3-Clause
#include "net/sim/plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>

#include "base/config.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "weft/error.hpp"

namespace weft::net::sim {
namespace {

// One for all transports and runtimes of this process, so that one number replays them all.
std::uint64_t drawn_seed() {
  static const std::uint64_t seed = 1 + base::random_word() % 1'000'000'000;
  return seed;
}

}  // namespace

chosen_failure parse_failure(std::string_view text, std::string_view origin) {
  const auto refuse = [&] {
    throw error{errc::configuration,
                fmt::format("{}='{}' chooses no operation; allowed: read or write, a colon and which one counted from "
                            "1, as in read:17, and :gone behind that for a peer that is no longer there",
                            origin, text)};
  };
  chosen_failure out;
  std::string_view rest = text;
  if (rest.starts_with("write:")) {
    out.write = true;
    rest.remove_prefix(6);
  } else if (rest.starts_with("read:")) {
    rest.remove_prefix(5);
  } else {
    refuse();
  }
  if (rest.ends_with(":gone")) {
    out.answer = copy_result::peer_gone;
    rest.remove_suffix(5);
  }
  const auto [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), out.number);
  if (problem != std::errc{} || end != rest.data() + rest.size() || out.number == 0) refuse();
  return out;
}

std::optional<chosen_failure> failure_of(const base::settings& settings) {
  if (settings.sim_fail.empty()) return std::nullopt;
  return parse_failure(settings.sim_fail, base::origin_of(settings, "WEFT_SIM_FAIL"));
}

plan agree_on_plan(const transport_context& context, std::string_view key) {
  const base::settings& settings = context.settings;
  plan out{0, settings.sim_delay_percent, settings.sim_refuse_percent, settings.sim_deny_percent, failure_of(settings)};
  const std::uint64_t mine = settings.sim_seed != 0 ? settings.sim_seed : drawn_seed();
  const std::string full_key = fmt::format("{}.{}", context.name, key);
  context.boot.put(full_key, std::string{reinterpret_cast<const char*>(&mine), sizeof mine});
  context.boot.fence();
  const std::string first = context.boot.get(0, full_key);
  if (first.size() != sizeof out.seed) {
    throw error{errc::transport_failed, "rank 0 published no seed for sim: do all ranks use the same version of Weft?"};
  }
  std::memcpy(&out.seed, first.data(), sizeof out.seed);
  if (context.boot.rank() == 0) {
    // A drawn seed is printed as a warning, so that a user who did not ask for it still sees it.
    static base::said_once said;
    base::log_once(said, settings.sim_seed != 0 ? base::log_level::info : base::log_level::warn,
                   "sim: a simulated network; WEFT_SIM_SEED={} replays it", out.seed);
  }
  return out;
}

void tally::count(const chosen_failure& happened) noexcept {
  if (happened.answer == copy_result::peer_gone) {
    count(happened.write ? gone_writes : gone_reads);
  } else {
    count(happened.write ? failed_writes : failed_reads);
  }
}

fault_counts tally::read() const noexcept {
  const auto value = [](const std::atomic<std::uint64_t>& kind) {
    return kind.load(std::memory_order_relaxed);  // [stat]
  };
  return {.delayed = value(delayed),
          .reordered = value(reordered),
          .full = value(full),
          .busy = value(busy),
          .unavailable = value(unavailable),
          .unmapped = value(unmapped),
          .failed_reads = value(failed_reads),
          .failed_writes = value(failed_writes),
          .gone_reads = value(gone_reads),
          .gone_writes = value(gone_writes)};
}

}  // namespace weft::net::sim

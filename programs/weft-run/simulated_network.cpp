// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/simulated_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/random.hpp"

namespace weft::run {
namespace {

constexpr std::string_view name = "WEFT_TRANSPORT=";
// A send below a packet, which is nearly always done at once, waits for its receive where an earlier one does.
constexpr std::string_view few_unexpected = "WEFT_UNEXPECTED_PACKETS_MAX";
// Collectives that differ by rank are named, and not only found by results that are wrong in some orders of messages.
constexpr std::string_view check_of_collectives = "WEFT_CHECK";
// Messages of a rank to itself included.
constexpr std::string_view by_default = "self,shm";

std::string all_simulated(std::string_view list) {
  std::string out;
  while (!list.empty()) {
    const std::string_view each = list.substr(0, list.find(','));
    list.remove_prefix(std::min(each.size() + 1, list.size()));
    out += fmt::format("{}{}{}", out.empty() ? "" : ",", each.starts_with("sim:") ? "" : "sim:", each);
  }
  return out;
}

}  // namespace

std::uint64_t simulate_network(options& chosen, std::uint64_t wished) {
  const std::uint64_t seed = wished != 0 ? wished : 1 + base::random_word() % 1'000'000'000;
  std::string list{by_default};
  if (const char* const own = std::getenv("WEFT_TRANSPORT"); own != nullptr && *own != '\0') list = own;
  for (const std::string& each : chosen.environment) {
    if (each.starts_with(name)) list = each.substr(name.size());
  }
  std::erase_if(chosen.environment,
                [](const std::string& each) { return each.starts_with(name) || each.starts_with("WEFT_SIM_SEED="); });
  chosen.environment.push_back(std::string{name} + all_simulated(list));
  chosen.environment.push_back(fmt::format("WEFT_SIM_SEED={}", seed));
  for (const std::string_view variable : {few_unexpected, check_of_collectives}) {
    const std::string begin = fmt::format("{}=", variable);
    const auto sets_it = [&](const std::string& each) { return each.starts_with(begin); };
    if (std::getenv(variable.data()) == nullptr && std::ranges::none_of(chosen.environment, sets_it))
      chosen.environment.push_back(begin + "1");
  }
  return seed;
}

}  // namespace weft::run

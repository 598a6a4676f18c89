// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/agreed_settings.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "base/processors.hpp"
#include "boot/backends.hpp"

namespace weft::core {
namespace {

constexpr std::size_t shown_max = 64;  // bytes of a value
constexpr std::string_view processors_line = "processors";

// Tells machines apart; "" if the system doesn't say. Machines with one name count as one, which changes speed alone.
std::string host_name() {
  std::array<char, 256> out{};
  return gethostname(out.data(), out.size() - 1) == 0 ? out.data() : "";
}

// The value of setting `name` in the lines that a rank has published; without data if it has published none.
std::string_view value_of(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.starts_with(name) && line.substr(name.size()).starts_with('=')) return line.substr(name.size() + 1);
  }
  return {};
}

std::string shown(std::string_view value) {
  if (value.data() == nullptr) return "not given (by another version of Weft)";
  if (value.empty()) return "not set";
  std::string out{value.substr(0, shown_max)};
  for (char& c : out) c = c < ' ' || c > '~' ? '?' : c;
  return value.size() > shown_max ? out + "..." : out;
}

// `8192 at rank 0, 16384 at ranks 1-3`; "" if all have one value.
std::string values_of(const base::setting& row, const std::vector<std::string>& published) {
  std::vector<std::pair<std::string_view, std::vector<std::uint32_t>>> groups;
  for (std::uint32_t rank = 0; rank < published.size(); ++rank) {
    const std::string_view value = value_of(published[rank], row.name);
    auto same = std::ranges::find(groups, value, [](const auto& each) { return each.first; });
    if (same == groups.end()) same = groups.insert(same, {value, {}});
    same->second.push_back(rank);
  }
  if (groups.size() < 2) return {};
  std::string out;
  for (const auto& [value, ranks] : groups) {
    out += fmt::format("{}{} at {} {}", out.empty() ? "" : ", ", shown(value), ranks.size() == 1 ? "rank" : "ranks",
                       boot::list_of_ranks(ranks));
  }
  return out;
}

}  // namespace

std::string published_settings(const base::settings& settings) {
  std::string out;
  for (const base::setting& row : base::setting_table()) {
    if (row.scope == base::setting_scope::job) out += fmt::format("{}={}\n", row.name, row.show(row, settings));
  }
  // A number, as the list may be longer than a value.
  const base::processor_set processors = base::processors_of_this_thread();
  return out + fmt::format("{}={} {:x} {}\n", processors_line, processors.count(),
                           std::hash<std::string>{}(processors.to_text()), host_name());
}

bool are_beyond_processors(const std::vector<std::string>& published) {
  std::map<std::string_view, std::size_t> ranks;  // key: line
  for (const std::string& each : published) ++ranks[value_of(each, processors_line)];
  return std::ranges::any_of(ranks, [](const auto& each) {
    std::size_t processors = 0;
    const std::string_view text = each.first;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), processors);
    return end.ec == std::errc{} && processors != 0 && each.second > processors;
  });
}

std::string differences(const std::vector<std::string>& published) {
  std::string out;
  for (const base::setting& row : base::setting_table()) {
    if (row.scope != base::setting_scope::job) continue;
    const std::string values = values_of(row, published);
    if (values.empty()) continue;
    out += fmt::format("{}{} (runtime_options::{}) is {}", out.empty() ? "" : "; ", row.name, base::member_name(row),
                       values);
  }
  return out;
}

}  // namespace weft::core

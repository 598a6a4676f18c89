#include "core/runtime/agreed_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "boot/backends.hpp"

namespace weft::core {
namespace {

constexpr std::size_t shown_max = 64;  // bytes of a value

// The value of setting `name` in the lines that a rank has published.
std::string_view value_of(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.starts_with(name) && line.substr(name.size()).starts_with('=')) return line.substr(name.size() + 1);
  }
  return {};
}

std::string shown(std::string_view value) {
  if (value.empty()) return "not given (by another version of Weft)";
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

std::string published_settings(const base::settings& of) {
  std::string out;
  for (const base::setting& row : base::setting_table()) {
    if (row.scope == base::setting_scope::job) out += fmt::format("{}={}\n", row.name, row.show(row, of));
  }
  return out;
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

// SPDX-License-Identifier: BSD-3-Clause
#include "net/transport_list.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weft/error.hpp"

namespace weft::net {
namespace {

constexpr std::string_view wrapper = "sim:";

struct given_list {
  std::string_view origin;
  std::string_view text;
};

[[noreturn]] void refuse(const given_list& given, const std::string& why, std::span<const std::string_view> known) {
  throw error{errc::configuration,
              fmt::format("{}='{}' {}; allowed: names separated by commas, each once, of {}, and before any of them "
                          "sim: to simulate a bad network over it",
                          given.origin, given.text, why, fmt::join(known, ", "))};
}

}  // namespace

std::vector<listed_transport> parse_transport_list(std::string_view text, std::span<const std::string_view> known,
                                                   bool standard, std::string_view origin) {
  const given_list given{origin, text};
  std::vector<listed_transport> out{{std::string{known.front()}, false}};
  bool self_listed = false;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string_view name = text.substr(begin, end - begin);
    begin = end + 1;
    const bool simulated = name.starts_with(wrapper);
    if (simulated) name.remove_prefix(wrapper.size());
    if (name.empty()) refuse(given, "has an empty name", known);
    if (name.starts_with(wrapper)) refuse(given, "wraps a transport twice", known);
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      if (standard) continue;
      refuse(given, fmt::format("names '{}', which this Weft does not have", name), known);
    }
    const auto listed = std::find_if(out.begin(), out.end(), [&](const auto& each) { return each.name == name; });
    if (listed == out.end()) {
      out.push_back({std::string{name}, simulated});
    } else if (listed == out.begin() && !self_listed) {
      self_listed = true;
      listed->simulated = simulated;
    } else {
      refuse(given, fmt::format("names '{}' twice", name), known);
    }
  }
  return out;
}

}  // namespace weft::net

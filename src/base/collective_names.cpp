// SPDX-License-Identifier: BSD-3-Clause
#include "base/collective_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weft::base {

namespace {

// Cuts the part before the first `end` off the front of `text`.
std::string_view cut_first(std::string_view& text, char end) noexcept {
  const std::size_t position = text.find(end);
  const std::string_view out = text.substr(0, position);
  text.remove_prefix(position == text.npos ? text.size() : position + 1);
  return out;
}

bool is_operation(std::string_view name) noexcept {
  return std::ranges::any_of(collective_names, [&](const collective_name& each) { return each.operation == name; });
}

bool is_algorithm(std::string_view operation, std::string_view name) noexcept {
  return std::ranges::any_of(collective_names, [&](const collective_name& each) {
    return each.operation == operation && each.algorithm == name;
  });
}

}  // namespace

std::string fault_of_algorithms(std::string_view text) {
  std::vector<std::string_view> seen;
  if (text.empty() || text.ends_with(',')) return "has an empty entry";
  while (!text.empty()) {
    std::string_view algorithm = cut_first(text, ',');
    const bool has_colon = algorithm.find(':') != algorithm.npos;
    const std::string_view operation = cut_first(algorithm, ':');
    if (!has_colon) return fmt::format("has '{}', where an operation, a colon and an algorithm have to be", operation);
    if (!is_operation(operation)) return fmt::format("names '{}', which is no operation", operation);
    if (!is_algorithm(operation, algorithm))
      return fmt::format("names '{}', which is no algorithm of {}", algorithm, operation);
    if (std::ranges::find(seen, operation) != seen.end()) return fmt::format("names {} twice", operation);
    seen.push_back(operation);
  }
  return {};
}

std::string_view algorithm_in(std::string_view list, std::string_view operation) noexcept {
  while (!list.empty()) {
    std::string_view algorithm = cut_first(list, ',');
    if (cut_first(algorithm, ':') == operation) return algorithm;
  }
  return {};
}

std::string all_algorithms() {
  std::string out;
  std::string_view last;
  for (const collective_name& each : collective_names) {
    if (each.operation == last) {
      out += fmt::format(", {}", each.algorithm);
    } else {
      out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", each.operation, each.algorithm);
    }
    last = each.operation;
  }
  return out;
}

}  // namespace weft::base

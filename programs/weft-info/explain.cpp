// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <limits>

#include "weft-info/info.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft::info {

void print_explanation(std::uint32_t rank, std::uint64_t bytes) {
  runtime rt;
  // Every rank asks, so that all fail together where there is no such rank.
  const std::string text = rt.explain(rank, static_cast<std::size_t>(bytes));
  if (rt.rank() == 0) fmt::print("{}", text);
  rt.barrier();
}

std::uint64_t parse_size(const std::string& text) {
  const auto refuse = [&] {
    throw error{
        errc::invalid_argument,
        fmt::format("--explain: '{}' is no size; allowed: a whole number, of bytes or with KiB, MiB or GiB", text)};
  };
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{}) refuse();
  const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
  const int shift = unit.empty() || unit == "B" ? 0 : unit == "KiB" ? 10 : unit == "MiB" ? 20 : unit == "GiB" ? 30 : -1;
  if (shift < 0 || value > std::numeric_limits<std::uint64_t>::max() >> shift) refuse();
  return value << shift;
}

}  // namespace weft::info

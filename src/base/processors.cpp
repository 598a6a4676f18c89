// SPDX-License-Identifier: BSD-3-Clause
#include "base/processors.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <fstream>
#include <utility>

namespace weft::base {
namespace {

// One line of what /sys tells about a processor; empty where it tells nothing.
std::string told_of(std::uint32_t processor, const char* attribute) {
  std::ifstream file{fmt::format("/sys/devices/system/cpu/cpu{}/topology/{}", processor, attribute)};
  std::string out;
  std::getline(file, out);
  return out;
}

std::uint32_t number_in(const std::string& text) noexcept {
  std::uint32_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// The kernel refuses a set that is smaller than its own, which one `cpu_set_t` with its 1024 processors may be.
using system_set = std::array<cpu_set_t, processor_set::size / CPU_SETSIZE>;

}  // namespace

std::size_t processor_set::count() const noexcept {
  std::size_t out = 0;
  for (const std::uint64_t word : words_) out += static_cast<std::size_t>(std::popcount(word));
  return out;
}

std::string processor_set::to_text() const {
  std::string out;
  for (std::uint32_t first = 0; first < end(); ++first) {
    if (!has(first)) continue;
    std::uint32_t last = first;
    while (has(last + 1)) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ",", first);
    if (last > first) out += fmt::format("-{}", last);
    first = last;
  }
  return out.empty() ? "none" : out;
}

processor_set processors_of_this_thread() {
  processor_set out;
  system_set allowed{};
  if (sched_getaffinity(0, sizeof allowed, allowed.data()) != 0) return out;
  for (std::uint32_t each = 0; each < processor_set::size; ++each) {
    if (CPU_ISSET_S(each, sizeof allowed, allowed.data())) out.add(each);
  }
  return out;
}

bool keep_this_thread_on(const processor_set& wanted) noexcept {
  system_set allowed{};
  for (std::uint32_t each = 0; each < wanted.end(); ++each) {
    if (wanted.has(each)) CPU_SET_S(each, sizeof allowed, allowed.data());
  }
  return sched_setaffinity(0, sizeof allowed, allowed.data()) == 0;
}

std::vector<processor_set> cores_within(const processor_set& within) {
  std::vector<std::pair<std::uint32_t, processor_set>> found;  // second: processors of the socket
  processor_set seen;
  for (std::uint32_t each = 0; each < within.end(); ++each) {
    if (!within.has(each) || seen.has(each)) continue;
    const processor_set all = read_processor_list(told_of(each, "thread_siblings_list"));
    processor_set core;
    core.add(each);
    for (std::uint32_t other = each; other < all.end(); ++other) {
      if (all.has(other) && within.has(other) && !seen.has(other)) core.add(other);
    }
    seen.add(core);
    found.emplace_back(number_in(told_of(each, "physical_package_id")), core);
  }
  std::ranges::stable_sort(found, {}, &std::pair<std::uint32_t, processor_set>::first);
  std::vector<processor_set> out;
  for (const auto& each : found) out.push_back(each.second);
  return out;
}

processor_set part_of(const std::vector<processor_set>& cores, std::size_t index, std::size_t parts) {
  processor_set out;
  if (parts == 0 || index >= parts || cores.size() < parts) return out;
  for (std::size_t i = index * cores.size() / parts; i < (index + 1) * cores.size() / parts; ++i) out.add(cores[i]);
  return out;
}

processor_set read_processor_list(const std::string& text) {
  processor_set out;
  const char* position = text.data();
  const char* const end = text.data() + text.size();
  const auto number = [&](std::uint32_t& into) {
    const auto [behind, problem] = std::from_chars(position, end, into);
    position = behind;
    return problem == std::errc{};
  };
  for (;;) {
    std::uint32_t first = 0;
    if (!number(first)) return out;
    std::uint32_t last = first;
    if (position != end && *position == '-') {
      ++position;
      if (!number(last)) return out;
    }
    for (std::uint32_t each = first; each <= std::min(last, processor_set::size - 1); ++each) out.add(each);
    if (position == end || *position != ',') return out;
    ++position;
  }
}

}  // namespace weft::base

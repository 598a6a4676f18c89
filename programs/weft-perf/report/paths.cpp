// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/report/paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <sstream>

namespace weft::perf {
namespace {

// Places in `traffic`: what was posted, then its paths, first of messages, then of puts and gets.
constexpr std::size_t posted_messages = 0;
constexpr std::size_t message_paths = 1;
constexpr std::size_t posted_transfers = 5;
constexpr std::size_t transfer_paths = 6;
constexpr std::size_t over_fabric = 10;

constexpr std::array counted_paths{path::packet, path::many_packets, path::cross_memory, path::cross_memory_shared};

void put_paths(double* to, const path_counters& paths) noexcept {
  for (const auto& each : {paths.one_packet, paths.many_packets, paths.copied, paths.copied_by_both}) {
    *to++ = static_cast<double>(each.bytes);
  }
}

std::array<path, path_count> most_first(const path_mix& mix) {
  std::array<path, path_count> out;
  for (std::size_t i = 0; i < path_count; ++i) out[i] = static_cast<path>(i);
  std::stable_sort(out.begin(), out.end(), [&](path a, path b) { return mix.fraction(a) > mix.fraction(b); });
  return out;
}

}  // namespace

const char* name_of(path taken) noexcept {
  switch (taken) {
    case path::cell: return "cell";
    case path::packet: return "packet";
    case path::many_packets: return "many packets";
    case path::cross_memory: return "cross-memory copy";
    case path::cross_memory_shared: return "cross-memory copy by both";
    case path::mapped_memory: return "mapped memory";
    case path::libfabric: return "libfabric";
  }
  return "unknown";
}

traffic::traffic(const device_counters& counted, std::uint64_t fabric_bytes) noexcept {
  values_[posted_messages] = static_cast<double>(counted.posts.active_messages.bytes + counted.posts.sends.bytes);
  put_paths(&values_[message_paths], counted.message_paths);
  values_[posted_transfers] = static_cast<double>(counted.posts.puts.bytes + counted.posts.gets.bytes);
  put_paths(&values_[transfer_paths], counted.transfer_paths);
  values_[over_fabric] = static_cast<double>(fabric_bytes);
}

traffic& traffic::operator+=(const traffic& other) noexcept {
  std::transform(values_.begin(), values_.end(), other.values_.begin(), values_.begin(), std::plus{});
  return *this;
}

traffic& traffic::operator-=(const traffic& before) noexcept {
  std::transform(values_.begin(), values_.end(), before.values_.begin(), values_.begin(), std::minus{});
  return *this;
}

path_mix::path_mix(const traffic& by_all) noexcept {
  const auto& bytes = by_all.values();
  const double all = bytes[posted_messages] + bytes[posted_transfers];
  if (all <= 0) return;
  if (bytes[over_fabric] > all / 2) {
    set(path::libfabric, 1);
    return;
  }
  // What is not counted went the shortest way.
  double inline_bytes = bytes[posted_messages];
  double mapped_bytes = bytes[posted_transfers];
  for (std::size_t i = 0; i < counted_paths.size(); ++i) {
    inline_bytes -= bytes[message_paths + i];
    mapped_bytes -= bytes[transfer_paths + i];
    set(counted_paths[i], (bytes[message_paths + i] + bytes[transfer_paths + i]) / all);
  }
  set(path::cell, std::max(0.0, inline_bytes / all));
  set(path::mapped_memory, std::max(0.0, mapped_bytes / all));
}

bool path_mix::are_known() const noexcept {
  return std::any_of(fractions_.begin(), fractions_.end(), [](double fraction) { return fraction > 0; });
}

path path_mix::main() const noexcept { return most_first(*this).front(); }

std::string path_mix::text() const {
  if (!are_known()) return {};
  std::string out;
  const bool is_one =
      std::count_if(fractions_.begin(), fractions_.end(), [](double fraction) { return fraction >= 0.05; }) == 1;
  for (const path each : most_first(*this)) {
    if (!counts(each)) continue;
    if (is_one) return name_of(each);
    fmt::format_to(std::back_inserter(out), "{}{} {:.0f} %", out.empty() ? "" : ", ", name_of(each),
                   fraction(each) * 100);
  }
  return out;
}

std::string path_mix::wire_text() const {
  std::string out;
  for (const path each : most_first(*this)) {
    if (fraction(each) <= 0) break;
    fmt::format_to(std::back_inserter(out), "{}{}={:.4g}", out.empty() ? "" : ",", name_of(each), fraction(each));
  }
  return out;
}

path_mix path_mix::parse(const std::string& wire_text) {
  path_mix out;
  std::istringstream words{wire_text};
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t sign = word.find('=');
    if (sign == std::string::npos) continue;
    for (std::size_t i = 0; i < path_count; ++i) {
      const auto each = static_cast<path>(i);
      if (word.compare(0, sign, name_of(each)) == 0) out.set(each, std::strtod(word.c_str() + sign + 1, nullptr));
    }
  }
  return out;
}

}  // namespace weft::perf

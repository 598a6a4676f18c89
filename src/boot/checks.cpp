// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <algorithm>

#include "boot/backends.hpp"
#include "weft/error.hpp"

namespace weft::boot {

void check_key(std::string_view key) {
  static constexpr std::size_t key_bytes_max = 48;
  const bool good = !key.empty() && key.size() <= key_bytes_max && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
  if (!good) {
    throw error{errc::invalid_argument,
                fmt::format("bootstrap key '{}': a key has 1 to {} of the characters [a-z0-9._-]", key, key_bytes_max)};
  }
}

void check_value(std::string_view key, std::string_view bytes) {
  check_key(key);
  if (bytes.size() > value_bytes_max) {
    throw error{errc::invalid_argument, fmt::format("bootstrap value of key '{}' has {} bytes; at most {} are carried",
                                                    key, bytes.size(), value_bytes_max)};
  }
}

void check_rank(std::uint32_t rank, std::uint32_t size) {
  if (rank >= size) {
    throw error{errc::invalid_argument, fmt::format("rank {} is not one of the job's {} ranks", rank, size)};
  }
}

void throw_no_value(const bootstrap& from, std::uint32_t rank, std::string_view key) {
  throw error{errc::boot_failed,
              fmt::format("bootstrap {}: rank {} of {} finds no value of rank {} under key '{}': it was not put before "
                          "a fence that both have passed",
                          from.name(), from.rank(), from.size(), rank, key)};
}

void throw_put_twice(const bootstrap& to, std::string_view key) {
  throw error{errc::invalid_argument, fmt::format("bootstrap {}: rank {} of {} puts key '{}' a second time", to.name(),
                                                  to.rank(), to.size(), key)};
}

std::string list_of_ranks(const std::vector<std::uint32_t>& sorted) {
  static constexpr std::size_t groups_max = 8;
  std::string words;
  std::size_t groups = 0;
  for (std::size_t i = 0; i < sorted.size(); ++groups) {
    if (groups == groups_max) return words + fmt::format(" and {} more", sorted.size() - i);
    std::size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (i > 0) words += ", ";
    words += last == i ? fmt::format("{}", sorted[i]) : fmt::format("{}-{}", sorted[i], sorted[last]);
    i = last + 1;
  }
  return words;
}

}  // namespace weft::boot

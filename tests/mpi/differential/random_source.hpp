// SPDX-License-Identifier: BSD-3-Clause
// Random numbers that are equal on every machine and at every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace differential {

/// A good mix of the bits of `x`.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_{mix(seed)} {}

  std::uint64_t next() { return mix(state_++); }
  /// Both ends included.
  int between(int low, int high) {
    return low + static_cast<int>(next() % (static_cast<std::uint64_t>(high - low) + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class Element>
  const Element& pick(const std::vector<Element>& from) {
    return from[static_cast<std::size_t>(between(0, static_cast<int>(from.size()) - 1))];
  }
  template <class Element>
  void shuffle(std::vector<Element>& all) {
    for (std::size_t left = all.size(); left > 1; --left) {
      std::swap(all[left - 1], all[static_cast<std::size_t>(between(0, static_cast<int>(left) - 1))]);
    }
  }
  /// `total` as `parts` numbers, each at least 1.
  std::vector<int> split(int total, int parts) {
    std::vector<int> out(static_cast<std::size_t>(parts), 1);
    for (int left = total - parts; left > 0; --left) ++out[static_cast<std::size_t>(between(0, parts - 1))];
    return out;
  }

 private:
  std::uint64_t state_;
};

}  // namespace differential

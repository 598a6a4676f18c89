// SPDX-License-Identifier: BSD-3-Clause
// Inputs made from kept ones, where there is no fuzzer that watches what they reach: a seed and a number say which.
// Numbers are drawn at the bounds more often than anywhere else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "support/boundaries.hpp"

namespace weft::fuzz {

using bytes = std::vector<std::uint8_t>;

class mutator {
 public:
  static constexpr std::size_t size_max = 512;

  /// `kept` is not empty.
  mutator(std::uint64_t seed, std::vector<bytes> kept) : random_{seed}, kept_{std::move(kept)} {}

  [[nodiscard]] bytes next() {
    bytes out = kept_[below(kept_.size())];
    for (std::uint64_t changes = 1 + below(5); changes > 0; --changes) change(out);
    if (out.size() > size_max) out.resize(size_max);
    return out;
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

  void change(bytes& out) {
    switch (below(7)) {
      case 0: write_number(out); break;
      case 1: insert(out, below(out.size() + 1), bytes(1 + below(8), static_cast<std::uint8_t>(random_()))); break;
      case 2: erase(out); break;
      case 3: append_another(out); break;
      case 4: insert(out, below(out.size() + 1), piece_of(kept_[below(kept_.size())])); break;
      default:
        if (!out.empty()) out[below(out.size())] = one_byte();
        break;
    }
  }

  [[nodiscard]] std::uint8_t one_byte() {
    constexpr std::uint8_t bounds[] = {0, 1, 0x7f, 0x80, 0xe0, 0xf0, 0xff};
    return below(2) == 0 ? bounds[below(std::size(bounds))] : static_cast<std::uint8_t>(random_());
  }

  // A bound, or the size of the input, of as many bytes as numbers have; one more or less now and then. Half of them
  // stand behind the mark by which fuzz targets know a whole word (wild_peer.hpp).
  void write_number(bytes& out) {
    std::uint64_t value = below(8) == 0 ? out.size() : test::boundary_words[below(test::boundary_words.size())];
    value += below(3) - 1;
    const std::size_t width = std::size_t{1} << below(4);
    bytes written(1 + width, 0xf0);
    std::memcpy(written.data() + 1, &value, width);
    if (below(2) == 0) written.erase(written.begin());
    const std::size_t at = below(out.size() + 1);
    if (below(2) == 0) return insert(out, at, written);
    for (std::size_t i = 0; i < std::min(written.size(), out.size() - at); ++i) out[at + i] = written[i];
  }

  void erase(bytes& out) {
    if (out.empty()) return;
    const std::size_t at = below(out.size());
    const std::size_t count = 1 + below(std::min<std::size_t>(out.size() - at, 16));
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(at), out.begin() + static_cast<std::ptrdiff_t>(at + count));
  }

  void append_another(bytes& out) {
    const bytes other = kept_[below(kept_.size())];
    out.resize(below(out.size() + 1));
    insert(out, out.size(), other);
  }

  [[nodiscard]] bytes piece_of(const bytes& from) {
    if (from.empty()) return {};
    const std::size_t at = below(from.size());
    const std::size_t count = 1 + below(std::min<std::size_t>(from.size() - at, 32));
    return {from.begin() + static_cast<std::ptrdiff_t>(at), from.begin() + static_cast<std::ptrdiff_t>(at + count)};
  }

  static void insert(bytes& out, std::size_t at, const bytes& inserted) {
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(at), inserted.begin(), inserted.end());
  }

  std::mt19937_64 random_;
  std::vector<bytes> kept_;
};

}  // namespace weft::fuzz

// SPDX-License-Identifier: BSD-3-Clause
// The bytes that a fuzz target is given, taken piece by piece; behind their end everything is zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>

/// What each target defines: runs one input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace weft::fuzz {

class input {
 public:
  input(const std::uint8_t* data, std::size_t size) noexcept : left_{data, size} {}

  [[nodiscard]] bool is_empty() const noexcept { return left_.empty(); }

  template <class Word>
  [[nodiscard]] Word take() noexcept {
    Word out{};
    const std::span<const std::uint8_t> bytes = take_bytes(sizeof out);
    if (!bytes.empty()) std::memcpy(&out, bytes.data(), bytes.size());
    return out;
  }

  /// As many as there are, at most `count`.
  [[nodiscard]] std::span<const std::uint8_t> take_bytes(std::size_t count) noexcept {
    const auto out = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(out.size());
    return out;
  }

  [[nodiscard]] std::string_view take_rest() noexcept {
    const auto out = take_bytes(left_.size());
    return {reinterpret_cast<const char*>(out.data()), out.size()};
  }

 private:
  std::span<const std::uint8_t> left_;
};

/// Ends the process where something that must hold does not: the fuzzer keeps the input.
inline void require(bool good, const char* description) noexcept {
  if (good) return;
  std::fprintf(stderr, "fuzz target: %s\n", description);
  std::abort();
}

}  // namespace weft::fuzz

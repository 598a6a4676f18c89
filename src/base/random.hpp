// SPDX-License-Identifier: BSD-3-Clause
// Random bytes of the system's, for names, passwords and numbers that nobody else has.
#pragma once

#include <sys/random.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.hpp"

namespace weft::base {

/// False where the system has none.
[[nodiscard]] inline bool try_fill_random(std::span<std::byte> out) noexcept {
  return ::getrandom(out.data(), out.size(), 0) == static_cast<ssize_t>(out.size());
}

/// A number that hardly anybody else has: of the process and the time where the system has no random ones.
[[nodiscard]] inline std::uint64_t random_word() noexcept {
  std::uint64_t out = 0;
  if (try_fill_random(std::as_writable_bytes(std::span{&out, 1}))) return out;
  const auto time = static_cast<std::uint64_t>(clock::now().time_since_epoch().count());
  return (time ^ static_cast<std::uint64_t>(::getpid()) << 32) * 0x9e37'79b9'7f4a'7c15 | 1;
}

}  // namespace weft::base

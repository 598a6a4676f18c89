// SPDX-License-Identifier: BSD-3-Clause
// Numbers of things in texts for people.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace weft::base {

/// `1 message`, `2 messages`.
[[nodiscard]] inline std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// The form of a word that fits so many things.
[[nodiscard]] constexpr const char* form_for(std::uint64_t count, const char* singular, const char* several) noexcept {
  return count == 1 ? singular : several;
}

}  // namespace weft::base

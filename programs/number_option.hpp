// Options of programs whose values are numbers. CLI11 alone takes nan for a number within any bounds, 010 for eight,
// " -1" for 2^64 - 1 and nothing for 0.
#pragma once

#include <CLI/CLI.hpp>

#include <charconv>
#include <sstream>
#include <string>
#include <system_error>
#include <type_traits>

namespace weft {

/// For `transform`: a decimal number from `min` to `max` and nothing else; whole ones for an integral `Number`.
template <class Number>
[[nodiscard]] CLI::Validator number_from(Number min, Number max) {
  constexpr bool is_whole = std::is_integral_v<Number>;
  std::ostringstream bounds;
  bounds << min << " to " << max;
  const auto check = [min, max, bounds = bounds.str()](std::string& text) -> std::string {
    Number value{};
    const char* const last = text.data() + text.size();
    const auto [end, problem] = std::from_chars(text.data(), last, value);
    if (end != last || problem == std::errc::invalid_argument) {
      return "'" + text + "' is no " + (is_whole ? "whole number" : "number");
    }
    if (problem != std::errc{} || !(value >= min && value <= max)) return "'" + text + "' is not from " + bounds;
    if constexpr (is_whole) text = std::to_string(value);
    return {};
  };
  return CLI::Validator{check, (is_whole ? "INT from " : "FLOAT from ") + bounds.str()};
}

/// For `check`: a name of a file, which an unset variable of a shell is not.
[[nodiscard]] inline CLI::Validator not_empty() {
  return CLI::Validator{[](std::string& text) { return std::string{text.empty() ? "the name is empty" : ""}; }, ""};
}

}  // namespace weft

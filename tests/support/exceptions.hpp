// SPDX-License-Identifier: BSD-3-Clause
// Exceptions that leave a scope, and what a handler far outside gets of them.
#pragma once

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

namespace weft::test {

[[noreturn]] inline void fail() { throw std::runtime_error{"disk full"}; }

/// What a handler in `main` gets from `scope`.
inline std::string text_from(const std::function<void()>& scope) {
  try {
    scope();
  } catch (const std::exception& caught) {
    return caught.what();
  }
  return "nothing";
}

}  // namespace weft::test

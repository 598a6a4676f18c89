// SPDX-License-Identifier: BSD-3-Clause
#include "base/misuse.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "base/exception_text.hpp"
#include "base/last_error.hpp"
#include "base/log.hpp"

namespace weft::base {
namespace {

// The exception that no handler will get, as the process ends; often it is the cause of the wrong use.
std::string lost_exception() noexcept {
  try {
    const bool is_unwinding = base::is_unwinding();
    std::string text = exception_text();
    if (text.empty() && is_unwinding) text = uncaught_error();
    if (!text.empty()) return (is_unwinding ? "; an exception is leaving the scope: " : ": ") + text;
    if (is_unwinding) return "; an exception is leaving the scope, whose text can't be found: catch it there";
  } catch (...) {  // no memory for a report
  }
  return {};
}

}  // namespace

void misuse(const char* description) noexcept {
  log_error("wrong use: {}{}", description, lost_exception());
  std::abort();
}

void refuse_to_child(const char* object) noexcept {
  misuse(
      fmt::format("a child of fork() uses {} of its parent, which has it still: make what communicates after fork(), "
                  "or let the child call exec",
                  object)
          .c_str());
}

}  // namespace weft::base

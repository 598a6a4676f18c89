// SPDX-License-Identifier: BSD-3-Clause
#include "weft/error.hpp"

#include <exception>

#include "base/last_error.hpp"
#include "base/of_fiber.hpp"

namespace weft {

error::error(errc code, const std::string& text) : std::runtime_error{text}, code_{code} {
  base::error_text& last = base::last_error_text();
  last[text.copy(last.data(), last.size() - 1)] = '\0';
  base::words_of_fiber.flags |= base::fiber_words::has_error_text;
}

[[gnu::noinline]] base::error_text& base::last_error_text() noexcept {
  static thread_local constinit error_text last{};  // variable of the fiber (of_fiber.hpp)
  return last;
}

const char* base::uncaught_error() noexcept {
  return std::uncaught_exceptions() == 0 ? nullptr : last_error_text().data();
}

const char* name_of(errc code) noexcept {
  switch (code) {
    case errc::none: return "none";
    case errc::invalid_argument: return "invalid_argument";
    case errc::invalid_state: return "invalid_state";
    case errc::configuration: return "configuration";
    case errc::boot_failed: return "boot_failed";
    case errc::transport_failed: return "transport_failed";
    case errc::out_of_memory: return "out_of_memory";
    case errc::backlog_full: return "backlog_full";
    case errc::peer_failed: return "peer_failed";
    case errc::unknown_completion: return "unknown_completion";
    case errc::truncated: return "truncated";
    case errc::cancelled: return "cancelled";
    case errc::region_refused: return "region_refused";
    case errc::user_exception: return "user_exception";
    case errc::memory_failed: return "memory_failed";
  }
  return "unknown";
}

}  // namespace weft

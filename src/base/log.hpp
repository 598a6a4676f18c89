// SPDX-License-Identifier: BSD-3-Clause
// Messages for people on standard error: levels, the rank in front, each line by one write so that ranks don't mix.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/config.hpp"

namespace weft::base {

/// Whether messages of a level are wanted (WEFT_LOG). With settings that can't be read: errors and warnings are.
[[nodiscard]] bool log_enabled(log_level level) noexcept;

/// Lets every line begin with `weft 2/4: `, with this rank and size. Called once the rank is known. **Threads**
/// any.
void set_log_identity(std::uint32_t rank, std::uint32_t size) noexcept;

/// The beginning of a line of such a kind: `weft 2/4: stuck: `. **Threads** any.
[[nodiscard]] std::string log_head(std::string_view kind);
/// Writes lines, with their newlines, as they are. **Threads** any.
void write_log_block(std::string_view lines) noexcept;

/// Writes one line (a newline is added), whether or not its level is wanted. **Threads** any.
void write_log_line(log_level level, std::string_view text) noexcept;

template <class... Args>
void log(log_level level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (!log_enabled(level)) return;
  try {
    write_log_line(level, fmt::format(format, std::forward<Args>(args)...));
  } catch (...) {  // out of memory while telling of it: the bare words are better than nothing
    const fmt::string_view words = format;
    write_log_line(level, {words.data(), words.size()});
  }
}

template <class... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log<Args...>(log_level::error, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_warn(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log<Args...>(log_level::warn, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log<Args...>(log_level::info, format, std::forward<Args>(args)...);
}
template <class... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) noexcept {
  log<Args...>(log_level::debug, format, std::forward<Args>(args)...);
}

/// Logs a warning for each of `foreign_variables`. For one process of a job.
void warn_of_foreign_variables(const settings& from) noexcept;

/// Lets a line be written once, not every time: `static base::said_once said; log_once(said, log_level::warn, ...)`.
class said_once {
 public:
  /// True for exactly one caller. **Threads** any.
  [[nodiscard]] bool first() noexcept {
    // [log.first] relaxed: decides only which caller writes the line; nothing is read on the strength of it
    return !said_.load(std::memory_order_relaxed) && !said_.exchange(true, std::memory_order_relaxed);
  }

 private:
  std::atomic<bool> said_{false};
};

template <class... Args>
void log_once(said_once& said, log_level level, fmt::format_string<Args...> format, Args&&... args) noexcept {
  if (log_enabled(level) && said.first()) log<Args...>(level, format, std::forward<Args>(args)...);
}

}  // namespace weft::base

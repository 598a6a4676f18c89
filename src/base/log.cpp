// SPDX-License-Identifier: BSD-3-Clause
#include "base/log.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace weft::base {
namespace {

// Rank in the upper half, size in the lower; 0 means not known yet (a size is never 0).
// [hint] one word, complete in itself
std::atomic<std::uint64_t> identity{0};

log_level wanted_level() noexcept {
  try {
    return process_settings().log;
  } catch (...) {  // the user gets the error as an exception from the next function that asks for a setting
    return log_level::warn;
  }
}

void write_all(const char* text, std::size_t left) noexcept {
  while (left > 0) {
    const ssize_t n = ::write(STDERR_FILENO, text, left);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // nobody to tell
    text += n;
    left -= static_cast<std::size_t>(n);
  }
}

}  // namespace

bool log_enabled(log_level level) noexcept {
  static const log_level wanted = wanted_level();
  return level <= wanted;
}

void set_log_identity(std::uint32_t rank, std::uint32_t size) noexcept {
  // [hint] who reads the old value writes the old prefix
  identity.store(std::uint64_t{rank} << 32 | size, std::memory_order_relaxed);
}

std::string log_head(std::string_view kind) {
  // [hint] the prefix of a line
  const std::uint64_t rank_and_size = identity.load(std::memory_order_relaxed);
  const auto size = static_cast<std::uint32_t>(rank_and_size);
  return size > 1 ? fmt::format("weft {}/{}: {}: ", rank_and_size >> 32, size, kind) : fmt::format("weft: {}: ", kind);
}

void write_log_block(std::string_view lines) noexcept {
  const int saved_errno = errno;
  write_all(lines.data(), lines.size());
  errno = saved_errno;
}

void write_log_line(log_level level, std::string_view text) noexcept {
  static constexpr std::array<const char*, 4> names{"error", "warning", "info", "debug"};
  const int saved_errno = errno;
  // [hint] the prefix of a line
  const std::uint64_t rank_and_size = identity.load(std::memory_order_relaxed);
  const char* name = names[static_cast<std::size_t>(level)];
  std::array<char, 1024> line;  // lines of usual length need no heap
  char* end = line.data();
  const auto size = static_cast<std::uint32_t>(rank_and_size);
  if (size > 1)
    end = fmt::format_to(end, "weft {}/{}: {}: ", rank_and_size >> 32, size, name);
  else
    end = fmt::format_to(end, "weft: {}: ", name);
  const auto room = static_cast<std::size_t>(line.data() + line.size() - end) - 1;
  if (text.size() <= room) {
    end = std::copy(text.begin(), text.end(), end);
    *end++ = '\n';
    write_all(line.data(), static_cast<std::size_t>(end - line.data()));
  } else {
    try {
      std::string whole{line.data(), end};
      whole.append(text).push_back('\n');
      write_all(whole.data(), whole.size());
    } catch (...) {
      end = std::copy_n(text.begin(), room, end);
      *end++ = '\n';
      write_all(line.data(), static_cast<std::size_t>(end - line.data()));
    }
  }
  errno = saved_errno;
}

void warn_of_foreign_variables(const settings& from) noexcept {
  for (const std::string& text : from.foreign_variables) log_warn("{}", text);
}

}  // namespace weft::base

// SPDX-License-Identifier: BSD-3-Clause
// The lines of a report about the events for which a process waits.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

namespace weft::base {

class report {
 public:
  /// `head` stands in front of each line.
  explicit report(std::string head) : head_{std::move(head)} {}

  /// Adds a line about one fault or one wait. Lines beyond the first hundred are only counted. **Errors**:
  /// std::bad_alloc.
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    if (++lines_ > lines_max) return;
    text_ += head_;
    text_ += fmt::format(format, std::forward<Args>(args)...);
    text_ += '\n';
  }

  /// How many lines were added.
  [[nodiscard]] unsigned lines() const noexcept { return lines_; }
  [[nodiscard]] unsigned left_out() const noexcept { return lines_ > lines_max ? lines_ - lines_max : 0; }
  [[nodiscard]] const std::string& head() const noexcept { return head_; }
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  static constexpr unsigned lines_max = 100;

  std::string head_;
  std::string text_;
  unsigned lines_ = 0;
};

}  // namespace weft::base

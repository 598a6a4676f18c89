// SPDX-License-Identifier: BSD-3-Clause
// The lines of the PMI-1 wire protocol: `cmd=get kvsname=k key=a\n`. Both ends read them with this; bytes from the
// socket are input like any other and may be malformed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::boot::pmi1_wire {

/// One line's `key=value` pairs, in any order.
class message {
 public:
  /// Takes a line without its newline. Returns nothing if it is not made of key=value pairs, with `cmd` among them,
  /// each key once. No value contains a blank.
  [[nodiscard]] static std::optional<message> parse(std::string_view line);

  [[nodiscard]] std::string_view command() const noexcept { return *find("cmd"); }
  [[nodiscard]] std::optional<std::string_view> find(std::string_view key) const noexcept;
  [[nodiscard]] std::optional<long> find_number(std::string_view key) const noexcept;

 private:
  struct pair {
    std::string key;
    std::string value;
  };
  std::vector<pair> pairs_;
};

/// Cuts a stream of bytes into lines of bounded length.
class line_reader {
 public:
  static constexpr std::size_t line_bytes_max = 65536;

  void append(std::string_view bytes) { buffer_.append(bytes); }
  /// The next whole line without its newline, if there is one.
  [[nodiscard]] std::optional<std::string> next();
  /// Whether a line is longer than any that the protocol knows; then nothing more is to be read.
  [[nodiscard]] bool overrun() const noexcept { return buffer_.size() - taken_ > line_bytes_max; }

 private:
  std::string buffer_;
  std::size_t taken_ = 0;
};

/// Control characters replaced and the length bounded: for putting a stranger's line into an error text.
[[nodiscard]] std::string printable(std::string_view line);

/// Arbitrary bytes as [A-Za-z0-9_-], four characters for three bytes, no padding.
[[nodiscard]] std::string encode(std::string_view bytes);
/// Returns nothing for text that `encode` did not write.
[[nodiscard]] std::optional<std::string> decode(std::string_view text);

}  // namespace weft::boot::pmi1_wire

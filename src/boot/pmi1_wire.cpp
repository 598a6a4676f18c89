// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmi1_wire.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace weft::boot::pmi1_wire {

std::optional<message> message::parse(std::string_view line) {
  message result;
  while (!line.empty()) {
    if (line.front() == ' ') {
      line.remove_prefix(1);
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == line.npos || equals == 0) return std::nullopt;
    const std::string_view key = line.substr(0, equals);
    if (key.find(' ') != key.npos || result.find(key)) return std::nullopt;
    line.remove_prefix(equals + 1);
    const std::size_t end = std::min(line.find(' '), line.size());
    result.pairs_.push_back({std::string{key}, std::string{line.substr(0, end)}});
    line.remove_prefix(end);
  }
  if (!result.find("cmd")) return std::nullopt;
  return result;
}

std::optional<std::string_view> message::find(std::string_view key) const noexcept {
  for (const pair& p : pairs_) {
    if (p.key == key) return p.value;
  }
  return std::nullopt;
}

std::optional<long> message::find_number(std::string_view key) const noexcept {
  const auto text = find(key);
  if (!text) return std::nullopt;
  long value = 0;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (problem != std::errc{} || end != text->data() + text->size()) return std::nullopt;
  return value;
}

std::optional<std::string> line_reader::next() {
  const std::size_t end = buffer_.find('\n', taken_);
  if (end == buffer_.npos) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    return std::nullopt;
  }
  std::string line = buffer_.substr(taken_, end - taken_);
  taken_ = end + 1;
  return line;
}

std::string printable(std::string_view line) {
  static constexpr std::size_t shown_max = 120;
  std::string text{line.substr(0, shown_max)};
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '?';
  }
  return line.size() > shown_max ? text + "..." : text;
}

namespace {
constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
}

std::string encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6;) {
      held -= 6;
      text.push_back(alphabet[bits >> held & 63]);
    }
  }
  if (held > 0) text.push_back(alphabet[bits << (6 - held) & 63]);
  return text;
}

std::optional<std::string> decode(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::size_t digit = alphabet.find(c);
    if (digit == alphabet.npos) return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes.push_back(static_cast<char>(bits >> held & 255));
    }
  }
  if (held >= 6 || (bits & ((1U << held) - 1)) != 0) return std::nullopt;
  return bytes;
}

}  // namespace weft::boot::pmi1_wire

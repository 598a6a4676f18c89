// SPDX-License-Identifier: BSD-3-Clause
// What comes over the launcher's socket: cut into lines, read as key=value pairs, and decoded.
#include <string>

#include "boot/pmi1_wire.hpp"
#include "fuzz/input.hpp"

namespace {

using namespace weft::boot::pmi1_wire;
using weft::fuzz::require;

void read_line(const std::string& line) {
  require(line.find('\n') == line.npos, "a line with an end inside");
  static_cast<void>(printable(line));
  const auto parsed = message::parse(line);
  if (!parsed) return;
  require(parsed->find("cmd").has_value() && !parsed->command().empty() == !parsed->find("cmd")->empty(), "no command");
  for (const char* key : {"cmd", "rc", "value", "kvsname", "size"}) {
    const auto value = parsed->find(key);
    if (!value) continue;
    require(value->find(' ') == value->npos, "a value with a blank");
    static_cast<void>(parsed->find_number(key));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::fuzz::input in{data, size};
  const std::size_t piece = in.take<std::uint8_t>() + std::size_t{1};
  const std::string_view text = in.take_rest();
  line_reader reader;
  std::size_t bytes = 0;
  for (std::size_t begin = 0; begin < text.size(); begin += piece) {
    reader.append(text.substr(begin, piece));
    while (const auto line = reader.next()) {
      bytes += line->size() + 1;
      read_line(*line);
    }
  }
  require(bytes <= text.size(), "more lines than text");
  require(decode(encode(text)) == text, "what is encoded is not decoded");
  const auto decoded = decode(text);
  require(!decoded || encode(*decoded) == text, "two texts for the same bytes");
  return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// What the tests of completion objects share: payloads whose return is noticed.
#pragma once

#include <span>
#include <vector>

#include "weft/completion.hpp"

namespace weft::test {

class counting_owner final : public detail::payload_owner {
 public:
  void release(void* data, std::size_t bytes) noexcept override {
    ++released;
    last = {static_cast<std::byte*>(data), bytes};
  }
  unsigned released = 0;
  std::span<std::byte> last;
};

/// A record of a message whose payload belongs to `owner`.
[[nodiscard]] inline completion_record owned_record(counting_owner& owner, std::span<std::byte> bytes,
                                                    std::uint64_t tag) {
  detail::raw_record raw;
  raw.opcode = operation::message;
  raw.peer = 3;
  raw.tag = tag;
  raw.location = detail::payload_location::owned;
  raw.refer({bytes.data(), bytes.size(), &owner, nullptr});
  return completion_record{raw};
}

[[nodiscard]] inline completion_record failed_record(errc why) {
  detail::raw_record raw;
  raw.opcode = operation::active_message;
  raw.error = why;
  return completion_record{raw};
}

}  // namespace weft::test

// SPDX-License-Identifier: BSD-3-Clause
// Only of operations that a post began, or that send bytes in answer to a get.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/message/payload.hpp"
#include "core/operation/listed_field.hpp"

namespace weft::core {

struct post_part {
  source_payload source;             // the memory of this rank that is sent
  listed_field<std::uint32_t> id;    // the id that the post's message names at the peer
  listed_field<std::uint32_t> kind;  // header::kind of the post
  std::uint32_t sequence = 0;        // number in an ordered engine
  bool lacks_credit = false;         // no credit for its number (core/matching/ordered_numbers.hpp)
  bool is_awaited = false;           // a flush waits for it
  bool done_when_sent = false;       // answers done once its first message is sent
  std::uint8_t awaited_in = 0;       // the place where flushes count it (runtime/flush_counts.hpp)
  // The last use of this operation whose peer was asked to give it up, as `operation_pool::request_of` has it.
  std::atomic<std::uint64_t> asked_back{0};
};

}  // namespace weft::core

// SPDX-License-Identifier: BSD-3-Clause
// Only of operations that receive or wait for a match: receives, gets, long messages that arrive, and sends in a
// receiver-first engine.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/message/payload.hpp"
#include "weft/completion.hpp"

namespace weft::core {

struct engine_state;

struct receive_part {
  std::atomic<engine_state*> engine{nullptr};  // it may match here; read also by a thread that cancels it
  target_payload into;                         // the memory of this rank that is written
  std::uint64_t message_bytes = 0;             // the size of the message that was sent
  // The sender's rank, of a receive in a receiver-first engine; read also by a thread that cancels it.
  std::atomic<std::uint32_t> announced_to{0};
  detail::payload_owner* owner = nullptr;  // owner of an arriving message's buffer
};

}  // namespace weft::core

// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/end_backlog.hpp"

#include <chrono>
#include <utility>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "base/clock.hpp"
#include "core/protocol/advance.hpp"

namespace weft::core {
namespace {

// Returns how many entries that a peer waits for found no room.
unsigned send_last_entries(device_state& dev, base::clock::time_point until) noexcept {
  unsigned unsent = 0;
  for (base::backoff waiting;; waiting.pause()) {
    unsent = 0;
    // Entries that are tried again add themselves to the list; the others are dropped with it.
    for (retry_entry* entry = dev.backlog().take_entries(); entry != nullptr;) {
      retry_entry& each = *std::exchange(entry, entry->behind);
      if (!each.is_answer()) {
        dev.defer(each);
      } else if (!each.try_again()) {
        ++unsent;
      }
    }
    if (unsent == 0 || base::clock::now() >= until) return unsent;
  }
}

}  // namespace

// The rings of a peer that does not read them may stay full, so this tries for a second at most.
unsigned end_backlog(device_state& dev) noexcept {
  constexpr std::chrono::seconds patience{1};
  operation_state* answers = nullptr;
  for (operation_state* operation = dev.backlog().take_all(); operation != nullptr;) {
    operation_state* const behind = operation->behind;
    if (is_answer(operation->next.load(std::memory_order_relaxed))) {  // [own] out of the backlog
      operation->behind = answers;
      answers = operation;
    }
    operation = behind;
  }
  [[maybe_unused]] const bool is_inside = dev.gate().try_enter();
  WEFT_ASSERT(is_inside);
  const base::clock::time_point until = base::clock::now() + patience;
  for (base::backoff waiting; answers != nullptr && base::clock::now() < until; waiting.pause()) {
    operation_state* unsent = nullptr;
    while (answers != nullptr) {
      operation_state* const operation = std::exchange(answers, answers->behind);
      if (advance(dev, *operation)) continue;
      operation->behind = unsent;
      unsent = operation;
    }
    answers = unsent;
  }
  unsigned count = send_last_entries(dev, until);
  dev.gate().leave();
  for (; answers != nullptr; answers = answers->behind) ++count;
  return count;
}

}  // namespace weft::core

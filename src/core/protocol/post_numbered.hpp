// SPDX-License-Identifier: BSD-3-Clause
// Numbered posts: sends to an ordered engine, and receives in a receiver-first one (core/matching/ordered_numbers.hpp).
#pragma once

#include <cstdint>

#include "base/backoff.hpp"
#include "core/matching/ordered_numbers.hpp"
#include "core/protocol/numbered_credits.hpp"
#include "net/message.hpp"

namespace weft::core {

/// The outcome of a numbered post.
enum class numbered : std::uint8_t {
  sent,        // the message is out, with its number
  owed,        // it has a number, and an operation has to send it later
  refused,     // there was no room; nothing has happened
  closed,      // another thread had closed the numbers; nothing has happened
  uncredited,  // there was no credit; nothing has happened
};

/// Calls `send(number)`, which gives back a `net::post_result`, with the next number to the rank of `to`. The caller
/// has an operation in hand, which carries the message if the answer is `owed`: with the number of the last call of
/// `send`, or, after no call, with the number in `operation`, for which it `lacks_credit`. `may_refuse`: whether the
/// post may answer retry. If not, the answer is never `refused` or `uncredited`; `closed` only if a thread without an
/// operation, as the operations are at their bound, has kept the numbers closed for some seconds.
template <class Send>
[[nodiscard]] numbered post_numbered(device_state& dev, ordered_numbers& numbers, detail::message_target to,
                                     operation_state& operation, bool may_refuse, const Send& send) noexcept {
  const std::uint32_t target = to.peer();
  constexpr unsigned tries_max = 10'000;
  std::uint32_t number = 0;
  base::backoff waiting;
  for (unsigned tries = 0; !numbers.try_take(target, number); ++tries) {
    if (numbers.is_closed_to(target)) {
      if (may_refuse || tries >= tries_max) return numbered::closed;
      waiting.pause();
    } else if (numbered_credits::refill(dev, numbers, to) && tries < tries_max) {
      continue;
    } else if (may_refuse) {
      return numbered::uncredited;
    } else if (numbers.try_take_owed(target, number)) {
      operation.sending.sequence = number;
      operation.sending.lacks_credit = !numbers.has_credit_for(target, number);
      if (operation.sending.lacks_credit) return numbered::owed;
      break;
    }
  }
  if (send(number) == net::post_result::ok) return numbered::sent;
  if (!may_refuse || !numbers.give_back(target, number)) return numbered::owed;
  numbered_credits::release_unused(dev, numbers, target);
  return numbered::refused;
}

/// Posts without an operation: the message is sent now or not at all.
template <class Send>
[[nodiscard]] numbered post_numbered_now(device_state& dev, ordered_numbers& numbers, detail::message_target to,
                                         const Send& send) noexcept {
  const std::uint32_t target = to.peer();
  std::uint32_t number = 0;
  if (!numbers.is_closed_to(target) && !numbered_credits::refill(dev, numbers, to)) return numbered::uncredited;
  if (!numbers.try_close(target, number)) return numbered::closed;
  const bool is_sent = send(number) == net::post_result::ok;
  numbers.open(target, is_sent);
  if (is_sent) return numbered::sent;
  numbered_credits::release_unused(dev, numbers, target);
  return numbered::refused;
}

}  // namespace weft::core

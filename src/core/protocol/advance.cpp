// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/advance.hpp"

#include "base/assertion.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/cooperative_copy.hpp"
#include "core/protocol/lost_message.hpp"
#include "core/protocol/one_sided_origin.hpp"
#include "core/protocol/one_sided_target.hpp"
#include "core/protocol/post_message.hpp"
#include "core/protocol/receive.hpp"
#include "core/protocol/receiver_first.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/protocol/withdraw_rts.hpp"

namespace weft::core {
namespace {

// Whether a step only sends: such a step can't be done for a peer that is cut off.
constexpr bool sends_next(step next) noexcept {
  return next == step::post_again || next == step::ask || next == step::notify || next == step::stream ||
         next == step::send_rtr || next == step::answer_atomic || next == step::send_ready || next == step::write ||
         next == step::send_written || next == step::answer_withdraw;
}

}  // namespace

bool advance(device_state& dev, operation_state& operation) noexcept {
  shortage reason = shortage::none;  // not used here
  // [operation.resume] relaxed: the backlog has carried the operation here.
  const step next = operation.next.load(std::memory_order_relaxed);
  if (sends_next(next) && end_if_cut_off(dev, operation)) [[unlikely]]
    return complete::try_signal(dev, operation);
  // The memory of a rank that has ended may still be mapped here.
  if (next == step::transfer && end_if_ended(dev, operation)) [[unlikely]]
    return complete::try_signal(dev, operation);
  switch (next) {
    case step::post_again: return post_message::post_again(dev, operation);
    case step::stream: return rendezvous::stream(dev, operation);
    case step::try_match: return receive::try_match(dev, operation);
    case step::transfer:
      return one_sided_origin::go_on(dev, operation, one_sided_origin::transfer(dev, operation, reason));
    case step::ask: return one_sided_origin::go_on(dev, operation, one_sided_origin::ask(dev, operation, reason));
    case step::notify: return one_sided_origin::go_on(dev, operation, one_sided_origin::notify(dev, operation));
    case step::answer_atomic: return one_sided_target::answer_atomic(dev, operation);
    case step::answer_withdraw: return withdraw_rts::answer_withdraw(dev, operation);
    case step::send_rtr: return rendezvous::send_rtr(dev, operation);
    case step::fetch: return rendezvous::fetch(dev, operation);
    case step::write_pieces: return cooperative_copy::write_pieces(dev, operation);
    case step::send_fin: return rendezvous::send_fin(dev, operation);
    case step::send_ready: return receiver_first::send_ready(dev, operation);
    case step::write: return receiver_first::write(dev, operation);
    case step::send_written: return receiver_first::send_written(dev, operation);
    case step::try_signal: return complete::try_signal(dev, operation);
    case step::try_entries: return dev.backlog().try_entries();
    case step::free:
    case step::wait_for_answer:
    case step::wait_for_chunks:
    case step::wait_for_match:
    case step::wait_for_sender: break;
  }
  WEFT_ASSERT_CHECKED(next >= step::post_again);  // only operations at these steps are in a backlog
  return true;
}

}  // namespace weft::core

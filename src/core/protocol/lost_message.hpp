// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are cut off: nothing more can be sent to them. Ranks that have ended: nothing more comes from them.
#pragma once

#include "core/device/device_state.hpp"
#include "core/operation/operation_state.hpp"
#include "core/runtime/matching_store.hpp"

namespace weft::core {

[[nodiscard]] bool is_cut_off(device_state& dev, std::uint32_t peer) noexcept;
/// A copy from or to a peer has failed: looks for ranks that have ended are not put off.
void look_for_ends_soon(device_state& dev) noexcept;

/// **Errors**: peer_failed or transport_failed if `peer` is cut off, in the words of a post of kind `opcode`.
void refuse_if_cut_off(device_state& dev, operation opcode, std::uint32_t peer);
/// Returns `answer`, a post's. **Errors**: peer_failed or transport_failed if it is retry and `peer` is cut off.
[[nodiscard]] status unless_cut_off(device_state& dev, operation opcode, std::uint32_t peer, status answer);
/// Whether an operation in the backlog can't send any more, as its peer is cut off; then sets its error and next step.
[[nodiscard]] bool end_if_cut_off(device_state& dev, operation_state& operation) noexcept;
/// Whether the peer of an operation in the backlog is known to have ended; then sets its error and next step.
[[nodiscard]] bool end_if_ended(device_state& dev, operation_state& operation) noexcept;

/// Sends, by `send`, the message after which `operation` waits at step `waits`: from then on another thread may
/// continue it. If the answer is not ok, the operation is at step `back` again. `full` if the peer is cut off.
template <class Send>
[[nodiscard]] net::post_result send_and_wait(device_state& dev, operation_state& operation, step waits, step back,
                                             const Send& send) noexcept {
  // Called as a brief reader: the thread that ends all operations with a rank that has ended waits until this one knows
  // that the rank is cut off, or has sent.
  return dev.matching().engines().readers().read([&] {
    net::post_result result = net::post_result::full;
    if (!is_cut_off(dev, operation.peer)) [[likely]] {
      operation.reach(waits);
      result = send();
    }
    // [operation.back] relaxed: the message that would have named the operation was not sent.
    if (result != net::post_result::ok) operation.next.store(back, std::memory_order_relaxed);
    return result;
  });
}

/// Ends operations with ranks that have ended and are settled, by the error peer_failed: of the next `most` of `walk`.
/// Called inside the gate of `dev`, by one thread at a time. **Returns** how many.
unsigned end_operations_with_ended(device_state& dev, operation_walk& walk, std::uint64_t most) noexcept;

}  // namespace weft::core

// SPDX-License-Identifier: BSD-3-Clause
// Unexpected messages, for which no receive is posted yet: a set of descriptions, which grows unless its count is set.
// The payload stays in its packet, or, of a long message, at its sender; up to 40 bytes are copied, and more where
// enough packets of the sender wait (send_budget.hpp, copied_payloads.hpp).
//
// A numbered message that comes early waits for messages that may lie behind it in its ring, so it must not stay there:
// early messages have a reserve of descriptions, one for each credit of each sender (order_credits.hpp). Once an early
// message is put in order and waits for its receive, a common description takes its place. If none is free, the message
// keeps the reserved one, and so does a message that arrives in its order. The reserve has room for as many such
// messages as for common ones, and while there are more, no credits are returned. So it suffices for all credits that
// are out, whatever waits for receives.
//
// Cost: a pop and a push on a lock-free stack. Where there is no description to be had, the transport keeps further
// messages, and their senders get *retry*.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/assertion.hpp"
#include "core/matching/copied_payloads.hpp"
#include "core/matching/engine_state.hpp"
#include "core/matching/order_credits.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/matching/send_budget.hpp"
#include "core/memory/slab_pool.hpp"
#include "core/message/wire.hpp"
#include "net/transport.hpp"

namespace weft::core {

struct unexpected_message : ordered_message {
  net::arrival arrival;  // its payload points into `inlined` if there is no owner
  engine_state* engine = nullptr;
  std::uint64_t bytes = 0;  // size of the whole message, also if it is long
  errc why = errc::none;    // the error of an announced receive that is given up
  bool is_beyond = false;   // a message in order, with a description of the reserve
  core::pooled pooled;
  alignas(8) std::byte inlined[detail::inline_bytes_max];
};

class unexpected_sends;

/// A description of the reserve.
struct reserved_message : unexpected_message {
  unexpected_sends* store = nullptr;
};

class unexpected_sends {
 public:
  unexpected_sends(const pool_bounds& bounds, state_budget& state, const send_bounds& of_senders, std::uint32_t ranks)
      : descriptions_{bounds, state},
        state_{&state},
        budget_{of_senders, ranks},
        copies_{state},
        credits_{ranks, order_credits_of(ranks)},
        beyond_max_{std::min(bounds.most, 4096U)},
        reserve_state_{slab_pool<reserved_message>::bytes_of(reserve_bounds(ranks).most)},
        reserve_{reserve_bounds(ranks), reserve_state_},
        reserved_{std::make_unique<std::atomic<std::uint32_t>[]>(ranks)} {}

  /// A description of `message`, which takes over the payload, or a copy of it; null if there is none to be had.
  [[nodiscard]] unexpected_message* try_keep(const net::arrival& message, engine_state& engine) noexcept {
    pool_end why = pool_end::none;
    unexpected_message* const out = descriptions_.try_take(why);
    if (out == nullptr) [[unlikely]] {
      state_->log_full("messages that wait for their receives", why);
      return nullptr;
    }
    describe(*out, message, engine);
    return out;
  }

  /// Keeps a numbered message with a credit. `is_early`: it waits for the messages before it. Null: its source
  /// has no credit for it, or the system has no memory.
  [[nodiscard]] unexpected_message* try_keep_numbered(const net::arrival& message, engine_state& engine,
                                                      bool is_early) noexcept;

  /// The common description that takes the place of a reserved one, whose message has been put in order and waits for
  /// its receive; the reserved one, if no other is free.
  [[nodiscard]] unexpected_message& settle(reserved_message& early) noexcept;

  /// Credits for the numbered messages that this rank sends and receives.
  [[nodiscard]] order_credits& credits() noexcept { return credits_; }
  /// Whether so many messages wait for receives that no credits are returned.
  [[nodiscard]] bool holds_credits() const noexcept {
    return beyond_.load(std::memory_order_relaxed) > beyond_max_;  // [hint] the thread that holds notices looks again
  }

  /// Whether its payload is a copy: then the message that it describes keeps its own.
  [[nodiscard]] bool is_copied(const unexpected_message& kept) const noexcept { return kept.arrival.owner == &copies_; }

  /// Takes a description back. The message that it described is not touched.
  void put(unexpected_message& done) noexcept {
    if (is_copied(done)) {
      budget_.take_copy(done.arrival.source, bytes_of_copy(done));
    } else if (done.arrival.owner != nullptr) {
      budget_.take(done.arrival.source);
    }
    if (done.is_reserved) [[unlikely]]
      return put_reserved(static_cast<reserved_message&>(done));
    WEFT_ASSERT_CHECKED(descriptions_.find(done.pooled.index) == &done);
    descriptions_.put(done);
  }
  /// Returns one of `try_keep` that was not used, with the copy.
  void put_unused(unexpected_message& unused) noexcept {
    release_copy(unused);
    put(unused);
  }
  void release_copy(const unexpected_message& message) noexcept {
    if (is_copied(message)) copies_.release(const_cast<std::byte*>(message.arrival.payload), message.arrival.bytes);
  }

  [[nodiscard]] send_budget& budget() noexcept { return budget_; }

 private:
  [[nodiscard]] pool_bounds reserve_bounds(std::uint32_t ranks) const noexcept {
    const std::uint64_t most = std::uint64_t{credits_.each()} * ranks + beyond_max_;
    return {0, static_cast<std::uint32_t>(std::min<std::uint64_t>(most, pool_elements_most))};
  }

  void describe(unexpected_message& out, const net::arrival& message, engine_state& engine) noexcept {
    out.arrival = message;
    out.engine = &engine;
    out.side = match_side::send;
    out.bytes = message.bytes;
    if (message.owner == nullptr) {
      detail::copy_inline(out.inlined, message.payload, message.bytes);
      out.arrival.payload = out.inlined;
    } else if (!budget_.wants_copy(message.source, bytes_of_copy(out)) || !copy_payload(out)) {
      budget_.add(message.source);
    }
    if (kind_of(message.header.kind) == wire::send_rts) {
      rts_body body;
      std::memcpy(&body, message.payload, sizeof body);
      out.bytes = body.bytes;
    }
  }
  [[nodiscard]] reserved_message* try_take_reserved(std::uint32_t source) noexcept;
  void put_reserved(reserved_message& done) noexcept;
  void set_beyond(unexpected_message& waiting) noexcept {
    if (waiting.is_beyond) return;
    waiting.is_beyond = true;
    reserved_[waiting.arrival.source].fetch_sub(1, std::memory_order_relaxed);  // [hint] see `try_take_reserved`
    beyond_.fetch_add(1, std::memory_order_relaxed);                            // [hint] see `holds_credits`
  }

  [[nodiscard]] static std::size_t bytes_of_copy(const unexpected_message& message) noexcept {
    return copied_payloads::bytes_of_copy(message.arrival.bytes);
  }
  [[nodiscard]] bool copy_payload(unexpected_message& message) noexcept {
    const std::byte* const copy = copies_.try_copy(message.arrival.payload, message.arrival.bytes);
    if (copy == nullptr) return false;
    message.arrival.payload = copy;
    message.arrival.owner = &copies_;
    budget_.add_copy(message.arrival.source, bytes_of_copy(message));
    return true;
  }

  slab_pool<unexpected_message> descriptions_;
  state_budget* state_;
  send_budget budget_;
  copied_payloads copies_;
  order_credits credits_;
  std::uint32_t beyond_max_;
  state_budget reserve_state_;
  slab_pool<reserved_message> reserve_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> reserved_;  // index: source; in use for messages that are not in order
  std::atomic<std::uint32_t> beyond_{0};                    // descriptions in use for messages in order
};

}  // namespace weft::core

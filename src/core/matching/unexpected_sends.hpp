// Unexpected messages, for which no receive is posted yet: a set of descriptions, which grows unless its count is set.
// The payload stays in its packet, or, of a long message, at its sender; up to 40 bytes are copied, and more where
// enough packets of the sender wait (send_budget.hpp, copied_payloads.hpp).
//
// Cost: a pop and a push on a lock-free stack. Where there is no description to be had, the transport keeps further
// messages, and their senders get *retry*.
#pragma once

#include <cstdint>
#include <cstring>

#include "base/assertion.hpp"
#include "core/matching/copied_payloads.hpp"
#include "core/matching/engine_state.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/matching/send_budget.hpp"
#include "core/memory/slab_pool.hpp"
#include "core/message/wire.hpp"
#include "net/transport.hpp"

namespace weft::core {

struct unexpected_message : ordered_message {
  net::arrival arrival;  // its payload points into `inlined` if there is no owner
  engine_state* engine = nullptr;
  std::uint64_t bytes = 0;  // of the whole message, also if it is long
  errc why = errc::none;    // the error of an announced receive that is given up
  core::pooled pooled;
  alignas(8) std::byte inlined[detail::inline_bytes_max];
};

class unexpected_sends {
 public:
  unexpected_sends(const pool_bounds& bounds, state_budget& state, const send_bounds& of_senders, std::uint32_t ranks)
      : descriptions_{bounds, state}, state_{&state}, budget_{of_senders, ranks}, copies_{state} {}

  /// A description of `message`, which takes over the payload, or a copy of it; null if there is none to be had.
  [[nodiscard]] unexpected_message* try_keep(const net::arrival& message, engine_state& engine) noexcept {
    pool_end why = pool_end::none;
    unexpected_message* const out = descriptions_.try_take(why);
    if (out == nullptr) [[unlikely]] {
      state_->log_full("messages that wait for their receives", why);
      return nullptr;
    }
    out->arrival = message;
    out->engine = &engine;
    out->side = match_side::send;
    out->bytes = message.bytes;
    if (message.owner == nullptr) {
      detail::copy_inline(out->inlined, message.payload, message.bytes);
      out->arrival.payload = out->inlined;
    } else if (!budget_.wants_copy(message.source, bytes_of_copy(*out)) || !copy_payload(*out)) {
      budget_.add(message.source);
    }
    if (kind_of(message.header.kind) == wire::send_rts) {
      rts_body body;
      std::memcpy(&body, message.payload, sizeof body);
      out->bytes = body.bytes;
    }
    return out;
  }

  /// Whether its payload is a copy: then the message that it describes keeps its own.
  [[nodiscard]] bool is_copied(const unexpected_message& kept) const noexcept { return kept.arrival.owner == &copies_; }

  /// Takes a description back. The message that it described is not touched.
  void put(unexpected_message& done) noexcept {
    WEFT_ASSERT_CHECKED(descriptions_.find(done.pooled.index) == &done);
    if (is_copied(done)) {
      budget_.take_copy(done.arrival.source, bytes_of_copy(done));
    } else if (done.arrival.owner != nullptr) {
      budget_.take(done.arrival.source);
    }
    descriptions_.put(done);
  }
  /// The same for one of `try_keep` that was not used, with the copy.
  void put_unused(unexpected_message& unused) noexcept {
    release_copy(unused);
    put(unused);
  }
  void release_copy(const unexpected_message& of) noexcept {
    if (is_copied(of)) copies_.release(const_cast<std::byte*>(of.arrival.payload), of.arrival.bytes);
  }

  [[nodiscard]] send_budget& budget() noexcept { return budget_; }

 private:
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
};

}  // namespace weft::core

// Unexpected messages, for which no receive is posted yet: a fixed set of descriptions. The payload stays in its
// packet, or, of a long message, at its sender; up to 40 bytes are copied.
//
// Cost: a pop and a push on a lock-free stack. If all descriptions are in use, the transport keeps further messages,
// and their senders get *retry*.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/assertion.hpp"
#include "core/matching/engine_state.hpp"
#include "core/matching/send_budget.hpp"
#include "core/memory/index_stack.hpp"
#include "core/message/wire.hpp"
#include "net/transport.hpp"

namespace weft::core {

struct unexpected_message : ordered_message {
  net::arrival arrival;  // its payload points into `inlined` if there is no owner
  engine_state* engine = nullptr;
  std::uint64_t bytes = 0;  // of the whole message, also if it is long
  errc why = errc::none;    // the error of an announced receive that is given up
  alignas(8) std::byte inlined[detail::inline_bytes_max];
};

class unexpected_sends {
 public:
  unexpected_sends(std::uint32_t count, std::uint32_t packets_max, std::uint32_t ranks)
      : nodes_{static_cast<unexpected_message*>(
                   std::aligned_alloc(alignof(unexpected_message), sizeof(unexpected_message) * count)),
               &std::free},
        count_{count},
        free_{count},
        budget_{packets_max, ranks} {
    if (!nodes_) throw std::bad_alloc();
  }

  /// A description of `message`, which takes over the payload; null if all descriptions are in use.
  [[nodiscard]] unexpected_message* try_keep(const net::arrival& message, engine_state& engine) noexcept {
    unexpected_message* out = try_get();
    if (out == nullptr) return nullptr;
    out->arrival = message;
    out->engine = &engine;
    out->side = match_side::send;
    out->bytes = message.bytes;
    if (message.owner == nullptr) {
      detail::copy_inline(out->inlined, message.payload, message.bytes);
      out->arrival.payload = out->inlined;
    } else {
      budget_.add(message.source);
    }
    if (kind_of(message.header.kind) == wire::send_rts) {
      rts_body body;
      std::memcpy(&body, message.payload, sizeof body);
      out->bytes = body.bytes;
    }
    return out;
  }

  /// Takes a description back. The message that it described is not touched.
  void put(unexpected_message& done) noexcept {
    WEFT_ASSERT_CHECKED(&done >= nodes_.get() && &done < nodes_.get() + count_);
    if (done.arrival.owner != nullptr) budget_.take(done.arrival.source);
    free_.push(static_cast<std::uint32_t>(&done - nodes_.get()));
  }

  [[nodiscard]] send_budget& budget() noexcept { return budget_; }

 private:
  [[nodiscard]] unexpected_message* try_get() noexcept {
    const std::uint32_t used = free_.pop();
    if (used != index_stack::none) return &nodes_.get()[used];
    // [kept.fresh] relaxed: hands out numbers; pages that were never used take no memory.
    std::uint32_t next = fresh_.load(std::memory_order_relaxed);
    while (next < count_) {
      if (!fresh_.compare_exchange_weak(next, next + 1, std::memory_order_relaxed)) continue;
      return new (&nodes_.get()[next]) unexpected_message;
    }
    return nullptr;
  }

  std::unique_ptr<unexpected_message, void (*)(void*)> nodes_;
  std::uint32_t count_;
  index_stack free_;
  send_budget budget_;
  std::atomic<std::uint32_t> fresh_{0};
};

}  // namespace weft::core

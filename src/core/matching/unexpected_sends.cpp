// SPDX-License-Identifier: BSD-3-Clause
// The reserve of descriptions for numbered messages.
#include "core/matching/unexpected_sends.hpp"

namespace weft::core {

// One for each credit: a source that has more under way has sent messages without a credit.
reserved_message* unexpected_sends::try_take_reserved(std::uint32_t source) noexcept {
  std::atomic<std::uint32_t>& used = reserved_[source];
  if (used.fetch_add(1, std::memory_order_relaxed) < credits_.each()) {  // [hint] a bound for faulty peers
    pool_end why = pool_end::none;
    if (reserved_message* const out = reserve_.try_take(why); out != nullptr) {
      out->is_reserved = true;
      out->store = this;
      return out;
    }
  }
  used.fetch_sub(1, std::memory_order_relaxed);  // [hint] see above
  return nullptr;
}

void unexpected_sends::put_reserved(reserved_message& done) noexcept {
  WEFT_ASSERT_CHECKED(reserve_.find(done.pooled.index) == &done);
  if (done.is_beyond) {
    done.is_beyond = false;
    beyond_.fetch_sub(1, std::memory_order_relaxed);  // [hint] see `holds_credits`
  } else {
    reserved_[done.arrival.source].fetch_sub(1, std::memory_order_relaxed);  // [hint] see `try_take_reserved`
  }
  reserve_.put(done);
}

unexpected_message* unexpected_sends::try_keep_numbered(const net::arrival& message, engine_state& engine,
                                                        bool is_early) noexcept {
  unexpected_message* out = is_early ? nullptr : try_keep(message, engine);
  if (out != nullptr) return out;
  out = try_take_reserved(message.source);
  if (out == nullptr) return nullptr;
  describe(*out, message, engine);
  if (!is_early) set_beyond(*out);
  return out;
}

unexpected_message& unexpected_sends::settle(reserved_message& early) noexcept {
  pool_end why = pool_end::none;
  unexpected_message* const out = descriptions_.try_take(why);
  if (out == nullptr) {
    state_->log_full("messages that wait for their receives", why);
    set_beyond(early);
    return early;
  }
  out->key = early.key;
  out->side = early.side;
  out->sequence = early.sequence;
  out->takes_back = early.takes_back;
  out->name = early.name;
  out->receive = nullptr;
  out->arrival = early.arrival;
  out->engine = early.engine;
  out->bytes = early.bytes;
  out->why = early.why;
  std::memcpy(out->inlined, early.inlined, sizeof out->inlined);
  if (early.arrival.payload == early.inlined) out->arrival.payload = out->inlined;
  early.takes_back = false;  // so it is in all that are free
  put_reserved(early);
  return *out;
}

ordered_message& settle(ordered_message& early) noexcept {
  auto& reserved = static_cast<reserved_message&>(static_cast<unexpected_message&>(early));
  return reserved.store->settle(reserved);
}

}  // namespace weft::core

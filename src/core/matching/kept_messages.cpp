// SPDX-License-Identifier: BSD-3-Clause
#include "core/matching/kept_messages.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "base/assertion.hpp"
#include "core/message/wire.hpp"

namespace weft::core {
namespace {

struct heap_owner final : detail::payload_owner {
  void release(void* data, std::size_t /*bytes*/) noexcept override { delete[] static_cast<std::byte*>(data); }
};

heap_owner& heap() noexcept {
  static heap_owner instance;
  return instance;
}

}  // namespace

bool kept_messages::is_consistent() noexcept {
  const std::scoped_lock lock{mutex_};
  std::size_t bytes = 0;
  for (const messages* each : {&waiting_, &ready_}) {
    for (const kept_message& message : *each) bytes += sizeof message + message.arrival.bytes;
  }
  return bytes == bytes_;
}

bool kept_messages::copy(const net::arrival& message, messages& to) noexcept {
  const std::size_t cost = sizeof(kept_message) + message.bytes;
  if (bytes_ + cost > bytes_max_) {
    say_full(message);
    return false;
  }
  // Whole words, as `net::arrival` requires; at least one, so that an empty message also has an address.
  std::unique_ptr<std::byte[]> payload{new (std::nothrow) std::byte[(std::size_t{message.bytes} / 8 + 1) * 8]};
  if (!payload) return false;
  if (message.bytes != 0) std::memcpy(payload.get(), message.payload, message.bytes);
  try {
    to.push_back({message, std::move(payload), message.owner != nullptr});
  } catch (const std::bad_alloc&) {
    return false;
  }
  bytes_ += cost;
  return true;
}

// Tells a user whose program waits because an id is never registered.
void kept_messages::say_full(const net::arrival& message) noexcept {
  base::log_once(
      said_full_, base::log_level::warn,
      "messages that can't be delivered yet fill the {} bytes of WEFT_UNEXPECTED_BYTES_MAX: one of {} bytes from rank "
      "{} "
      "for id {} waits outside, and so does all that comes behind it, until ids are registered that messages have "
      "come for; of others nothing is said",
      bytes_max_, message.bytes, message.source, message.header.id);
}

kept_messages::answer kept_messages::keep(const net::arrival& message, const base::id_table<>& known) noexcept {
  const std::scoped_lock lock{mutex_};
  if (known.state(message.header.id) != base::presence::unknown) return answer::registered_now;
  if (!copy(message, waiting_)) return answer::no_room;
  kept_.fetch_add(1, std::memory_order_relaxed);  // [stat]
  return answer::kept;
}

bool kept_messages::put_aside(const net::arrival& message) noexcept {
  const std::scoped_lock lock{mutex_};
  if (!copy(message, ready_)) return false;
  count_ready();
  return true;
}

void kept_messages::put_aside(ordered_message& unwanted) noexcept {
  const std::scoped_lock lock{mutex_};
  unwanted_.add(unwanted);
  unwanted_count_.store(unwanted_count() + 1, std::memory_order_relaxed);  // [locked]
  count_ready();
}

ordered_message* kept_messages::take_unwanted() noexcept {
  const std::scoped_lock lock{mutex_};
  ordered_message* const out = unwanted_.first;
  WEFT_ASSERT_CHECKED((out != nullptr) == (unwanted_count() != 0));
  if (out == nullptr) return nullptr;
  unwanted_.first = out->next;
  if (unwanted_.first == nullptr) unwanted_.last = nullptr;
  unwanted_count_.store(unwanted_count() - 1, std::memory_order_relaxed);  // [locked]
  count_ready();
  return out;
}

bool kept_messages::drop_rts(std::uint32_t source, wire kind, std::uint64_t ticket) noexcept {
  const auto is_meant = [&](const kept_message& each) {
    rts_body body;
    if (each.arrival.source != source || kind_of(each.arrival.header.kind) != kind ||
        each.arrival.bytes != sizeof body || each.has_owner) {
      return false;
    }
    std::memcpy(&body, each.payload.get(), sizeof body);
    return body.ticket == ticket;
  };
  const std::scoped_lock lock{mutex_};
  for (messages* const list : {&waiting_, &ready_}) {
    const auto found = std::ranges::find_if(*list, is_meant);
    if (found == list->end()) continue;
    WEFT_ASSERT_CHECKED(bytes_ >= sizeof(kept_message) + found->arrival.bytes);
    bytes_ -= sizeof(kept_message) + found->arrival.bytes;
    list->erase(found);
    count_ready();
    return true;
  }
  return false;
}

void kept_messages::registered(std::uint32_t id, bool is_engine) {
  const std::scoped_lock lock{mutex_};
  for (auto each = waiting_.begin(); each != waiting_.end();) {
    const auto next = std::next(each);
    if (each->arrival.header.id == id && is_for_engine(each->arrival.header.kind) == is_engine) {
      ready_.splice(ready_.end(), waiting_, each);
    }
    each = next;
  }
  count_ready();
}

unsigned kept_messages::deliver(device_state& to) noexcept {
  for (unsigned moved = 0;; ++moved) {
    messages taken;
    {
      const std::scoped_lock lock{mutex_};
      if (ready_.empty()) return moved;
      taken.splice(taken.begin(), ready_, ready_.begin());
    }
    kept_message& next = taken.front();
    net::arrival out = next.arrival;
    out.payload = next.payload.get();
    out.owner = next.has_owner ? &heap() : nullptr;
    const bool consumed = hand_over(to, out);
    const std::scoped_lock lock{mutex_};
    if (consumed) {
      if (next.has_owner) static_cast<void>(next.payload.release());
      WEFT_ASSERT_CHECKED(bytes_ >= sizeof(kept_message) + out.bytes);
      bytes_ -= sizeof(kept_message) + out.bytes;
    } else {
      // Put at the end: there may be room for other messages.
      ready_.splice(ready_.end(), taken);
    }
    count_ready();  // needed in both cases: while this message was in no list, another thread may have counted none
    if (!consumed) return moved;
  }
}

}  // namespace weft::core

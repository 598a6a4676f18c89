// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/reply.hpp"
#include "core/message/choose_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/backoff.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/post_message.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

// Room for a packet's bytes that the thread's last callback has reserved and not used. Of the thread.
class spare_room {
 public:
  constexpr spare_room() noexcept = default;
  ~spare_room() { put(nullptr); }
  spare_room(const spare_room&) = delete;
  spare_room& operator=(const spare_room&) = delete;

  [[nodiscard]] kept_reply* take() noexcept { return std::exchange(spare_, nullptr); }
  void put(kept_reply* spare) noexcept {
    if (spare_ != nullptr) kept_reply::destroy(spare_);
    spare_ = spare;
  }

 private:
  kept_reply* spare_ = nullptr;
};

spare_room& spare_of_this_thread() noexcept {
  static thread_local spare_room spare;  // variable of the thread
  return spare;
}

completion_record record_of(const reply_request& message, errc error) noexcept {
  completion_record out =
      complete::record_of(operation::active_message, message.peer, message.tag, {nullptr, 0, nullptr, message.context});
  out.raw().error = error;
  return out;
}

bool try_send(device_state& dev, const reply_request& message) noexcept {
  shortage reason = shortage::none;  // not used here
  return post_message::post_eager(dev, message.peer, message.device, active_message_to(message.id, message.tag),
                                  message.bytes, reason) == net::post_result::ok;
}

// Signals `ends` once the bytes of a long reply have been fetched.
message_request rts_of(const reply_request& message, replies& ends, kept_reply* context) noexcept {
  return {.eager = wire::active_message,
          .rts = wire::rts,
          .opcode = operation::active_message,
          .peer = message.peer,
          .id = message.id,
          .tag = message.tag,
          .bytes = message.bytes,
          .local = &ends,
          .context = context,
          .device = message.device,
          .policy = 0,
          .delivered = false,
          .allow_done = true,
          .allow_retry = true};
}

// The room that the running callback has reserved at `dev`, if it is enough.
kept_reply* reserved_at(const device_state& dev, std::size_t bytes) noexcept {
  running_callback* const inside = running_callback::innermost();
  kept_reply* const found = inside == nullptr ? nullptr : inside->reserved();
  return found != nullptr && found->reserved_for() == &dev && found->room() >= bytes ? found : nullptr;
}

// Memory of the reply's own size; else, as there is none, the reserved room. The reservation ends in either case.
kept_reply* take_room(kept_reply* reserved, std::size_t bytes) noexcept {
  kept_reply* const made = kept_reply::make(bytes);
  if (reserved == nullptr) return made;
  running_callback::innermost()->reserved() = nullptr;
  if (made == nullptr) return reserved;
  spare_of_this_thread().put(reserved);
  return made;
}

[[noreturn]] void refuse_for_memory(const reply_request& message) {
  throw error{errc::out_of_memory,
              fmt::format("reply: there is no memory to keep {} bytes for rank {} until they can be sent: ask "
                          "can_reply() at the beginning of the handler, and answer full if it is false",
                          message.bytes.bytes(), message.peer)};
}

[[noreturn]] void refuse_beyond(const reply_request& message, std::uint32_t kept_max) {
  throw error{
      errc::backlog_full,
      fmt::format(
          "reply: a message to rank {} can't be sent at once, and {} replies wait already: ask can_reply() at the "
          "beginning of the handler, and answer full if it is false; or call progress() before",
          message.peer, kept_max)};
}

[[gnu::noinline]] void keep(device_state& dev, const reply_request& message) {
  dev.runtime().refuse_copies();
  dev.runtime().peer_ends().look_after_retry();
  replies& all = dev.runtime().own().replies();
  const auto bytes = static_cast<std::size_t>(message.bytes.bytes());
  kept_reply* const reserved = reserved_at(dev, bytes);
  if (reserved == nullptr && !all.has_room()) refuse_beyond(message, all.kept_max());
  kept_reply* const room = take_room(reserved, bytes);
  if (room == nullptr) refuse_for_memory(message);
  if (!room->copy(message.bytes)) {
    spare_of_this_thread().put(room);
    throw error{errc::memory_failed,
                fmt::format("reply to rank {}: the kind of memory of the bytes has failed to copy them", message.peer)};
  }
  room->keep(dev, message);
}

// Serves callers that want a signal: it is kept if the object is full.
[[gnu::noinline]] void signal_sent(device_state& dev, const reply_request& message) {
  promise::make(*message.local);
  completion_record record = record_of(message, errc::none);
  if (promise::keep(dev, *message.local, record)) {
    dev.runtime().signalled(message.local);
    return;
  }
  promise::cancel(*message.local);  // `keep` promises it
  reply_request signal_alone = message;
  signal_alone.bytes = {};
  kept_reply* const room = take_room(reserved_at(dev, 0), 0);
  if (room == nullptr) refuse_for_memory(message);
  room->keep_signal(dev, signal_alone);
}

}  // namespace

void running_callback::release() noexcept { spare_of_this_thread().put(reserved_); }

kept_reply* kept_reply::make(std::size_t room) noexcept {
  void* const memory = ::operator new(sizeof(kept_reply) + room, std::nothrow);
  return memory == nullptr ? nullptr : new (memory) kept_reply{room};
}

void kept_reply::destroy(kept_reply* gone) noexcept {
  gone->~kept_reply();
  ::operator delete(gone);
}

void kept_reply::keep(device_state& dev, const reply_request& message) noexcept {
  runtime_state& runtime = dev.runtime();
  device_ = &dev;
  message_ = message;
  message_.bytes = const_buffer_ref{memory(), static_cast<std::size_t>(message.bytes.bytes())};
  is_long_ = !is_eager(message.bytes.bytes(), runtime.memory().packets().packet_bytes());
  if (message.local != nullptr) promise::make(*message.local);
  awaited_in_ = runtime.peers().flushes().begin(message.peer, false, 0).bits();
  runtime.own().replies().keep(is_long_);
  dev.routes().hold_posts_back(message.peer);
  if (is_long_) {
    static_cast<void>(try_again());
  } else {
    dev.defer(*this);
  }
}

void kept_reply::keep_signal(device_state& dev, const reply_request& message) noexcept {
  device_ = &dev;
  message_ = message;
  is_over_ = true;
  promise::make(*message.local);
  dev.runtime().own().replies().keep(false);
  dev.defer(*this);
}

bool kept_reply::try_again() noexcept {
  if (is_over_) return give_signal();
  device_state& dev = *device_;
  runtime_state& runtime = dev.runtime();
  const std::uint32_t peer = message_.peer;
  if (runtime.peers().is_cut_off(peer)) {
    dev.routes().let_posts_go(peer);
    return end(dev, runtime.peers().error_with(peer));
  }
  if (is_long_) {
    if (post_message::try_post_rts(dev, rts_of(message_, runtime.own().replies(), this))) {
      dev.routes().let_posts_go(peer);  // `this` may have gone
      return true;
    }
  } else if (try_send(dev, message_)) {
    dev.routes().let_posts_go(peer);
    return end(dev, errc::none);
  }
  dev.defer(*this);
  return false;
}

void kept_reply::adopted_by(device_state& other) noexcept {
  device_ = &other;
  if (!is_over_) other.routes().hold_posts_back(message_.peer);
}

bool kept_reply::end(device_state& dev, errc error) noexcept {
  runtime_state& runtime = dev.runtime();
  if (runtime.peers().flushes().end(message_.peer, flush_count::from(awaited_in_), 0)) runtime.own().wake_flushes();
  is_over_ = true;
  error_ = error;
  device_ = &dev;
  return give_signal();
}

bool kept_reply::give_signal() noexcept {
  device_state& dev = *device_;
  if (completion* const local = message_.local; local != nullptr) {
    completion_record record = record_of(message_, error_);
    if (!promise::keep(dev, *local, record)) {
      dev.defer(*this);
      return false;
    }
    dev.runtime().signalled(local);
  }
  dev.runtime().own().replies().release(is_long_);
  destroy(this);
  return true;
}

void reply::reply(device_state& dev, const reply_request& message) {
  if (is_eager(message.bytes.bytes(), dev.memory().packets().packet_bytes()) && try_send(dev, message)) [[likely]] {
    if (message.local != nullptr) signal_sent(dev, message);
  } else {
    keep(dev, message);
  }
  dev.counts().posted(operation::active_message, message.bytes.bytes());
}

bool reply::can_reply(device_state& dev, std::size_t bytes) noexcept {
  replies& all = dev.runtime().own().replies();
  running_callback* const inside = running_callback::innermost();
  if (inside == nullptr) return all.has_room();
  const std::size_t least = dev.memory().packets().packet_bytes();
  const std::size_t room = std::max(bytes, least);
  kept_reply*& reserved = inside->reserved();
  if (reserved_at(dev, room) != nullptr) return true;
  if (!all.has_room()) return false;
  if (reserved == nullptr) reserved = spare_of_this_thread().take();
  if (reserved != nullptr && reserved->room() < room) kept_reply::destroy(std::exchange(reserved, nullptr));
  if (reserved == nullptr) reserved = kept_reply::make(room);
  if (reserved == nullptr) return false;
  reserved->reserve(dev);
  return true;
}

}  // namespace weft::core

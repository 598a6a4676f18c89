#include "core/unexpected.hpp"

#include <cstring>
#include <new>

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

unexpected_messages::answer unexpected_messages::keep(const net::arrival& message,
                                                      const detail::id_table<>& known) noexcept {
  const std::scoped_lock lock{mutex_};
  if (known.state(message.header.id) != detail::presence::unknown) return answer::no_longer_unexpected;
  const std::size_t cost = sizeof(kept_message) + message.bytes;
  if (bytes_ + cost > bytes_max_) return answer::no_room;
  std::unique_ptr<std::byte[]> copy{new (std::nothrow) std::byte[message.bytes + 1]};
  if (!copy) return answer::no_room;
  std::memcpy(copy.get(), message.payload, message.bytes);
  try {
    waiting_.push_back({message, std::move(copy), message.owner != nullptr});
  } catch (const std::bad_alloc&) {
    return answer::no_room;
  }
  bytes_ += cost;
  kept_.fetch_add(1, std::memory_order_relaxed);  // [stat]
  return answer::kept;
}

void unexpected_messages::registered(std::uint32_t id) {
  const std::scoped_lock lock{mutex_};
  std::deque<kept_message> others;
  for (kept_message& each : waiting_) (each.what.header.id == id ? ready_ : others).push_back(std::move(each));
  waiting_ = std::move(others);
  // [unexpected.ready] relaxed: the lock carries the messages.
  ready_count_.store(ready_.size(), std::memory_order_relaxed);
}

unsigned unexpected_messages::deliver(device_state& to) noexcept {
  for (unsigned moved = 0;; ++moved) {
    kept_message next{};
    {
      const std::scoped_lock lock{mutex_};
      if (ready_.empty()) return moved;
      next = std::move(ready_.front());
      ready_.pop_front();
    }
    net::arrival out = next.what;
    out.payload = next.payload.get();
    out.owner = next.has_owner ? &heap() : nullptr;
    const bool consumed = hand_over(to, out);
    const std::scoped_lock lock{mutex_};
    if (!consumed) {
      ready_.push_front(std::move(next));  // room was just made by the pop
      return moved;
    }
    if (next.has_owner) static_cast<void>(next.payload.release());
    bytes_ -= sizeof(kept_message) + out.bytes;
    // [unexpected.fewer] relaxed: the lock carries the messages.
    ready_count_.store(ready_.size(), std::memory_order_relaxed);
  }
}

}  // namespace weft::core

// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/peer_ends.hpp"

#include <algorithm>

#include "base/assertion.hpp"
#include "base/backoff.hpp"
#include "core/protocol/lost_message.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

// One of so many posts that are answered retry looks.
constexpr unsigned retries_per_look = 256;
thread_local constinit unsigned retries = 0;  // variable of the thread

}  // namespace

void peer_ends::expect(std::uint32_t ranks) {
  found_.resize(ranks);
  open_.reserve(ranks);
  closed_.reserve(ranks);
}

unsigned peer_ends::look(device_state& dev) noexcept {
  WEFT_ASSERT_CHECKED(dev.gate().is_inside());
  if (has_unsettled()) note_received(dev);
  if (!begin_look()) return 0;
  const bool found = find();
  if (unfinished_.load(std::memory_order_relaxed) != 0) {  // [hint] as in `awaits_devices`
    // Devices that are gone, or that their own threads poll, need no other thread any more.
    const std::uint64_t finished = dev.backlog().is_empty() ? shared_devices::bit_of(dev.index()) : 0;
    unfinished_.fetch_and(runtime_->devices().shared().all() & ~finished,
                          std::memory_order_relaxed);  // [hint] the same
  }
  bool has_just_settled = false;
  if (has_unsettled()) {
    note_received(dev);
    has_just_settled = settle(dev);
    close_some();
  }
  // [peer_ends.some] relaxed: only a thread with the lock stores it.
  const unsigned ended = has_settled_.load(std::memory_order_relaxed) ? end_operations(dev, has_just_settled) : 0;
  looking_.leave();
  if (found) runtime_->parking().wake_everybody();
  return ended;
}

// All operations that wait when a rank is settled end then. Operations that are posted later are found by the looks
// that follow, each of which looks at a part of all: a million receives that wait for other ranks must not be looked at
// twenty times in a second.
unsigned peer_ends::end_operations(device_state& dev, bool has_just_settled) noexcept {
  const std::uint64_t count = dev.operations().count();
  const std::uint64_t most = has_just_settled ? count : budget_for(count);
  looked_at_.store(std::min(most, count), std::memory_order_relaxed);  // [stat]
  return end_operations_with_ended(dev, walk_, most);
}

void peer_ends::look_after_retry() noexcept {
  if (++retries % retries_per_look != 0 || !begin_look()) return;
  const bool found = find();
  looking_.leave();
  if (found) runtime_->parking().wake_everybody();
}

bool peer_ends::is_settling() const noexcept {
  if (unfinished_.load(std::memory_order_relaxed) != 0) return true;  // [hint] as in `has_unsettled`
  // [hint] as in `has_unsettled`.
  return has_unsettled() &&
         base::clock::now().time_since_epoch().count() < hurry_until_.load(std::memory_order_relaxed);
}

bool peer_ends::awaits_device(std::uint32_t index) const noexcept {
  // [hint] a device that is polled once more, or a call later.
  return received_[index].load(std::memory_order_relaxed) != number_.load(std::memory_order_relaxed) ||
         (unfinished_.load(std::memory_order_relaxed) >> index & 1) != 0;  // [hint] likewise
}

void peer_ends::note_polled(device_state& dev, bool has_steps) noexcept {
  WEFT_ASSERT_CHECKED(dev.gate().is_inside());
  look_for_other(dev);
  const std::uint64_t bit = shared_devices::bit_of(dev.index());
  if (has_steps) {
    unfinished_.fetch_or(bit, std::memory_order_relaxed);  // [hint] as in `awaits_devices`
  } else {
    unfinished_.fetch_and(~bit, std::memory_order_relaxed);  // [hint] as in `awaits_devices`
  }
}

// Enters the lock if a look is due.
bool peer_ends::begin_look() noexcept {
  const base::clock::time_point now = base::clock::now();
  if (now.time_since_epoch().count() < next_.load(std::memory_order_relaxed)) return false;  // [hint]
  if (!looking_.try_enter()) return false;
  const base::clock::duration pause = is_settling() ? base::clock::duration{interval_of_settling} : interval;
  next_.store((now + pause).time_since_epoch().count(), std::memory_order_relaxed);  // [hint]
  return true;
}

bool peer_ends::find() noexcept {
  bool has_found = false;
  for (const auto& transport : runtime_->transports()) {
    const std::size_t count = transport->find_ended(found_);
    for (const net::ended_peer& each : std::span{found_}.first(count)) add(each);
    has_found = has_found || count != 0;
  }
  return has_found;
}

void peer_ends::note(const net::ended_peer& end) noexcept {
  for (base::backoff waiting; !looking_.try_enter();) waiting.pause();
  add(end);
  looking_.leave();
}

void peer_ends::add(const net::ended_peer& end) noexcept {
  const base::clock::time_point now = base::clock::now();
  runtime_->peers().note_end(end.rank, end.in_order);
  runtime_->memory().regions().forget(end.rank);
  // [peer_ends.number] release -> [peer_ends.number_of]: the rank has ended.
  const std::uint32_t number = number_.fetch_add(1, std::memory_order_release) + 1;
  open_.push_back({end.rank, number, now});
  // [hint] as in `is_settling`.
  hurry_until_.store((now + patience).time_since_epoch().count(), std::memory_order_relaxed);
  unsettled_.fetch_add(1, std::memory_order_relaxed);  // [hint] as in `has_unsettled`
  look_soon();
}

// Called inside the gate of `dev`.
void peer_ends::note_received(device_state& dev) noexcept {
  std::atomic<std::uint32_t>& received = received_[dev.index()];
  // [peer_ends.number_of] acquire <- [peer_ends.number]: the ranks that have ended.
  const std::uint32_t number = number_.load(std::memory_order_acquire);
  if (received.load(std::memory_order_relaxed) == number) return;  // [own] inside the gate
  const peers& all = runtime_->peers();
  for (std::uint32_t rank = 0; rank < runtime_->size(); ++rank) {
    if (all.has_ended(rank) && !all.is_closed(rank) && dev.routes().endpoint_to(rank).has_arrivals_from(rank)) return;
  }
  // [peer_ends.received] release -> [peer_ends.received_all]: the effects of the messages.
  received.store(number, std::memory_order_release);
}

bool peer_ends::all_have_received(const ended_rank& from) noexcept {
  bool out = true;
  runtime_->devices().visit([&](std::uint32_t index, device_state* device) {
    // [peer_ends.received_all] acquire <- [peer_ends.received]: the effects of the messages.
    if (device != nullptr && received_[index].load(std::memory_order_acquire) < from.number) out = false;
  });
  return out;
}

bool peer_ends::is_patience_over(ended_rank& awaited) noexcept {
  const base::clock::time_point now = base::clock::now();
  awaited.waited += std::min<base::clock::duration>(now - awaited.seen, counted_max);
  awaited.seen = now;
  return awaited.waited >= patience;
}

// Closes the ranks from which nothing more can come, and notes which threads may be handling their messages.
void peer_ends::close_some() noexcept {
  if (!closed_.empty()) return;  // closed ranks come first
  std::erase_if(open_, [&](ended_rank& each) {
    const bool may_close = all_have_received(each) || (runtime_->peers().has_died(each.rank) && is_patience_over(each));
    if (may_close) closed_.push_back(each);
    return may_close;
  });
  if (closed_.empty()) return;
  for (const ended_rank& each : closed_) runtime_->peers().close(each.rank);
  fence_all_threads();
  before_ = {};
  runtime_->devices().visit([&](std::uint32_t index, device_state* device) {
    if (device == nullptr) return;
    before_.passes[index] = device->gate().passes();
    before_.inside |= std::uint64_t{1} << index;
  });
}

// Whether all threads that were inside a gate then have left it. The calling thread is inside the gate of `own`, but in
// no handler of it; inside another gate it would be in a handler there.
bool peer_ends::have_left(const device_state& own) noexcept {
  runtime_->devices().visit([&](std::uint32_t index, device_state* device) {
    const bool has_left = device == nullptr || device == &own || device->gate().is_free() ||
                          device->gate().passes() != before_.passes[index];
    if (has_left) before_.inside &= ~(std::uint64_t{1} << index);
  });
  return before_.inside == 0;
}

// **Returns** whether ranks are settled that were not.
bool peer_ends::settle(const device_state& own) noexcept {
  if (closed_.empty() || !have_left(own)) return false;
  runtime_->matching().engines().readers().wait();
  for (const ended_rank& each : closed_) runtime_->peers().settle(each.rank);
  unsettled_.fetch_sub(static_cast<std::uint32_t>(closed_.size()), std::memory_order_relaxed);  // [hint]
  closed_.clear();
  // [peer_ends.some] relaxed: under the lock.
  has_settled_.store(true, std::memory_order_relaxed);
  runtime_->own().wake_flushes();
  return true;
}

}  // namespace weft::core

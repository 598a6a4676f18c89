// SPDX-License-Identifier: BSD-3-Clause
// How a thread waits: it polls some times, then yields or sleeps.
#include "core/wait/parking.hpp"

#include <sched.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assertion.hpp"
#include "base/futex.hpp"
#include "base/this_suspender.hpp"
#include "base/waiter.hpp"
#include "core/device/device_state.hpp"
#include "core/device/poll_gate.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

using base::clock;

// The clock is read once in so many checks of the condition.
constexpr std::uint32_t looks_per_clock = 32;

clock::time_point end_of(clock::time_point now, std::chrono::nanoseconds timeout) noexcept {
  // Far below zero, later differences would overflow.
  const auto left = std::max(timeout, std::chrono::nanoseconds::zero());
  return left >= clock::time_point::max() - now ? clock::time_point::max() : now + left;
}

}  // namespace

parking::limits parking::limits::within(std::chrono::nanoseconds timeout, std::stop_token stop) noexcept {
  const bool has_end = timeout != std::chrono::nanoseconds::max();
  return {has_end ? end_of(clock::now(), timeout) : time_point::max(), std::move(stop)};
}

bool parking::wait(const waited_devices& devices, const awaited& events, bool (*is_done)(void*), void* condition,
                   const wait_options& options, const base::wait_details& details, const char* function) {
  WEFT_ASSERT_CHECKED(words_ != nullptr && devices.standard().index() == 0);
  if (is_done(condition)) return true;
  // Comes before the clock is read: what the caller waits for has often come already.
  std::uint32_t looks = devices.progress() ? 0 : 1;  // looks in a row that found nothing
  if (is_done(condition)) return true;
  if (yield_policy::count_wait() && options.mode != wait_mode::spin && have_sleepers()) [[unlikely]]
    sched_yield();
  const time_point begin = clock::now();
  const limits until{end_of(begin, options.timeout), options.stop};
  base::long_wait listed{function};
  yield_policy::wait_state mine = yields_.begin();
  std::optional<seat> own_seat;  // once it has to sleep
  base::wait_note note{.call = function, .device = &devices.first().interface()};
  for (std::uint32_t iteration = 1;; ++iteration) {
    const bool moved = devices.progress();
    if (is_done(condition)) return true;
    looks = moved ? 0 : looks + 1;
    const bool is_patient = looks > options.spins && options.mode != wait_mode::spin;
    if (is_patient || iteration % looks_per_clock == 0) {
      const time_point now = clock::now();
      if (until.are_reached(now)) return false;
      listed.note(begin, now, details);
    }
    if (moved) {
      if (events.is_server) mine = yields_.begin();
      continue;
    }
    // A loop that has to repeat something waits by another mode.
    if (looks > 1 && options.mode == wait_mode::park && are_served(devices) && !events.objects.empty()) {
      const suspension outcome = suspend(note, events, is_done, condition, until);
      if (outcome == suspension::done) return true;
      if (outcome == suspension::over) {
        const time_point now = clock::now();
        if (until.are_reached(now)) return is_done(condition);
        listed.note(begin, now, details);
        continue;
      }
    }
    if (base::yield_to_fibers()) continue;
    if (!is_patient) {
      if (yields_.is_due(looks, mine, events.is_server) && options.mode == wait_mode::park) [[unlikely]]
        looks = yields_.yield_core(looks, mine);
      else
        detail::std_atomics::pause();
    } else if (options.mode == wait_mode::yield) {
      sched_yield();
    } else {
      if (!own_seat) own_seat.emplace(*this, devices, events);
      if (park(*own_seat, is_done, condition, until)) return true;
    }
  }
}

// A fiber may test once while it holds a lock of its thread, and other fibers that want the lock would block the
// thread: only a fiber that tests again and again lets others run.
void parking::rest_between_tests(detail::test_loop& tests) noexcept {
  if (!base::waiter{}.is_fiber()) return yields_.rest_between_tests(tests);
  const bool is_first = tests.is_first();
  tests.left = (is_first ? yield_policy::first_look_count - 1 : yield_policy::next_look_count) - 1;
  if (!is_first) base::yield_to_fibers();  // it may continue in another thread, which has tests of its own
}

// A suspended fiber in the list of sleepers. The destructor leaves however the wait ends, after the thread that wakes
// the fiber.
class parking::fiber_scope {
 public:
  fiber_scope(parking& lot, const base::wait_note& note, const awaited& events, base::waiter& fiber) noexcept
      : lot_{lot}, note_{note} {
    me_.events = events;
    me_.fiber = &fiber;
    lot_.count_in(me_);
    lot_.enter(me_);
  }
  ~fiber_scope() {
    if (!withdraw()) me_.fiber->wait(note_);
    lot_.leave(me_);
    lot_.count_out(me_);
  }
  fiber_scope(const fiber_scope&) = delete;
  fiber_scope& operator=(const fiber_scope&) = delete;

  void wait(const base::limit_watch& until) noexcept { static_cast<void>(me_.fiber->wait(note_, until)); }

 private:
  [[nodiscard]] bool withdraw() noexcept {
    const std::scoped_lock lock{lot_.mutex_};
    return !std::exchange(me_.is_woken, true);
  }

  parking& lot_;
  base::wait_note note_;
  sleeper me_;
};

// Suspends the calling fiber until one of `events`, but not beyond `sleep_max` or `until`. `none`: the
// caller is a thread, or the fiber can't be resumed at a time.
parking::suspension parking::suspend(base::wait_note& note, const awaited& events, bool (*is_done)(void*),
                                     void* condition, const limits& until) {
  base::waiter me;
  if (!me.is_fiber()) return suspension::none;
  std::optional<base::limit_watch> limit;
  try {
    limit.emplace(me, wait_limits{.timeout = std::min<clock::duration>(until.until - clock::now(), sleep_max),
                                  .stop = until.stop});
  } catch (...) {  // no memory, or no thread
    return suspension::none;
  }
  fiber_scope mine{*this, note, events, me};
  const std::uint64_t ticket = fences_.announce();
  me.yield(note.call);  // the other ready fibers announce themselves as well: one fence serves all
  if (is_done(condition)) return suspension::done;
  // [parking.fence] seq_cst -> [parking.order], [sleep.order]: as in `prepare_sleep`.
  if (!fences_.has_passed(ticket) && !fences_.pass(&fence_all_processes)) return suspension::none;
  if (is_done(condition)) return suspension::done;
  mine.wait(*limit);
  note.is_poll = true;  // read by reports: a fiber that is suspended again in its wait has not moved
  return suspension::over;
}

// Ends the sleep however it ends, also by an exception of the condition.
class parking::sleep_scope {
 public:
  explicit sleep_scope(seat& mine) noexcept : seat_{mine} {}
  ~sleep_scope() { seat_.end_sleep(); }
  sleep_scope(const sleep_scope&) = delete;
  sleep_scope& operator=(const sleep_scope&) = delete;

 private:
  seat& seat_;
};

// What a request to stop does: it wakes the thread.
struct parking::wake_up {
  void operator()() const noexcept { target->wake(); }
  seat* target;
};

// Sleeps unless there is a reason not to. May return at any time; true if it is done.
bool parking::park(seat& mine, bool (*is_done)(void*), void* condition, const limits& until) {
  if (mine.look_first() == stillness::busy) {
    if (is_done(condition)) return true;
    sched_yield();  // another thread polls, or an operation waits for a peer
    return false;
  }
  const std::stop_callback at_stop{until.stop, wake_up{&mine}};
  const sleep_scope asleep{mine};
  const last_look last = mine.prepare_sleep();
  if (is_done(condition)) return true;
  // The thread that requests the stop wakes this one after it has said so, or is seen here: the doorbell orders them.
  if (until.stop.stop_requested()) return false;
  if (last.still == stillness::busy) {
    sched_yield();
    return false;
  }
  const bool is_over = base::sleep_while(last.first, last.second, std::min(until.until, last.longest));
  if (!is_over || !last.is_told || until.until < last.longest) return false;
  mine.devices_.progress();
  if (!is_done(condition)) return false;
  late_.fetch_add(1, std::memory_order_relaxed);  // [stat]
  return true;
}

stillness parking::look(device_state& dev, device_state& standard) noexcept {
  const stillness here = dev.look_before_sleep();
  return &dev == &standard ? here : std::min(here, standard.look_before_sleep());
}

// Whether each message for the devices wakes their looker.
bool parking::are_messages_told(device_state& dev, stillness still) const noexcept {
  return wakes_for_all_ && still == stillness::quiet && !dev.runtime().peer_ends().is_settling();
}

void parking::wake_device(std::uint32_t device) noexcept {
  WEFT_ASSERT_CHECKED(words_ != nullptr && device < net::slots_max);
  net::sleep_word& word = (*words_)[device];
  if (word.is_left_asleep() && !copy_.is_copy()) [[unlikely]]
    net::wake_sleepers(word);
}

void parking::count_in(const sleeper& me) noexcept {
  // [parking.count_in] relaxed: ordered before the last look by the fence that follows.
  asleep_.fetch_add(1, std::memory_order_relaxed);
  // [parking.count_in] relaxed: ordered by that fence.
  for (const completion* each : me.events.objects) awaited_[bucket_of(each)].fetch_add(1, std::memory_order_relaxed);
  if (me.on_all) {
    // [parking.count_in] relaxed: ordered by that fence.
    for (auto& sleepers : awaited_) sleepers.fetch_add(1, std::memory_order_relaxed);
  }
}

void parking::count_out(const sleeper& me) noexcept {
  if (copy_.is_copy()) return;
  for (const completion* each : me.events.objects) {
    awaited_[bucket_of(each)].fetch_sub(1, std::memory_order_relaxed);  // [hint] a wake-up too many does no harm
  }
  if (me.on_all) {
    for (auto& sleepers : awaited_) sleepers.fetch_sub(1, std::memory_order_relaxed);  // [hint]
  }
  asleep_.fetch_sub(1, std::memory_order_relaxed);  // [hint]
}

void parking::enter(sleeper& fiber) noexcept {
  const std::scoped_lock lock{mutex_};
  lookers_.enter(fiber);
}

void parking::leave(sleeper& fiber) noexcept {
  if (copy_.is_copy()) return;
  const std::scoped_lock lock{mutex_};
  [[maybe_unused]] const std::uint64_t handed = lookers_.leave(fiber);
  WEFT_ASSERT_CHECKED(handed == 0);
}

[[gnu::cold]] void parking::wake(const completion* object) noexcept {
  if (copy_.is_copy()) return;
  sleeper* woken = nullptr;
  {
    const std::scoped_lock lock{mutex_};
    for (lookers::seat* member = lookers_.first(); member != nullptr; member = member->next) {
      sleeper& each = static_cast<sleeper&>(*member);
      if (object != nullptr && !each.on_all && !each.events.is_woken_by(object)) continue;
      if (each.fiber != nullptr) {
        if (!std::exchange(each.is_woken, true)) each.woken_behind = std::exchange(woken, &each);
      } else if (lookers_.try_wake(each)) {
        net::wake_at(doorbell_of(each));
      }
    }
  }
  // Not under the lock: a worker that sleeps is woken by the signal of an object. A fiber leaves after its `come`.
  while (woken != nullptr) {
    sleeper& next = *woken;
    woken = next.woken_behind;
    next.fiber->come();
  }
}

}  // namespace weft::core

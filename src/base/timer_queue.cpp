// SPDX-License-Identifier: BSD-3-Clause
#include "base/timer_queue.hpp"

#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <thread>

#include "base/futex.hpp"
#include "base/not_inherited.hpp"
#include "weft/detail/copy_mark.hpp"

namespace weft::base {
namespace {

// Guards the queue of this process, and those of its parents. Never destroyed, as timers may be used until the process
// ends.
process_lock& timers_lock() {
  static process_lock& lock = *new process_lock;
  return lock;
}

// The thread must not run the program's handlers of signals.
class all_signals_blocked {
 public:
  all_signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~all_signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  all_signals_blocked(const all_signals_blocked&) = delete;
  all_signals_blocked& operator=(const all_signals_blocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

class timer_queue {
 public:
  /// The queue of this process: a child of fork() has none of its parent's timers, and a thread of its own. Under
  /// `timers_lock()`.
  static timer_queue& of_process() {
    static timer_queue* queue = nullptr;
    if (queue == nullptr || queue->copy_.is_copy()) queue = new timer_queue;
    if (!queue->is_started_) queue->start();
    return *queue;
  }

  // The following functions under `timers_lock()`.
  void add(timer& which, clock::time_point deadline) {
    which.position_ = timers_.emplace(deadline, &which);
    if (which.position_ != timers_.begin()) return;
    // [timer.changed] release -> [timer.before_sleep]: the wish alone; the lock orders the timers.
    changed_.fetch_add(1, std::memory_order_release);
    wake_all(changed_);
  }
  void remove(const timer& which) noexcept {
    if (which.is_pending_ && !copy_.is_copy()) timers_.erase(which.position_);
  }

 private:
  void start() {
    const all_signals_blocked for_the_thread;
    std::thread{[this] { run(); }}.detach();
    is_started_ = true;
  }

  [[noreturn]] void run() noexcept {
    while (true) {
      // [timer.before_sleep] acquire <- [timer.changed]: a thread that adds a timer after this changes the word.
      const std::uint32_t before = changed_.load(std::memory_order_acquire);
      sleep_while({&changed_, before}, {}, resume_due());
    }
  }

  // Resumes the fibers whose time has come. **Returns**: the time of the next look.
  clock::time_point resume_due() noexcept {
    const std::scoped_lock lock{timers_lock()};
    const clock::time_point now = clock::now();
    while (!timers_.empty() && timers_.begin()->first <= now) {
      timer& due = *timers_.begin()->second;
      timers_.erase(timers_.begin());
      due.is_pending_ = false;
      due.suspender_.resume(due.which_);
    }
    return timers_.empty() ? now + std::chrono::hours{1} : timers_.begin()->first;
  }

  std::multimap<clock::time_point, timer*> timers_;
  std::atomic<std::uint32_t> changed_{0};
  bool is_started_ = false;
  detail::copy_mark copy_;
};

timer::timer(suspender& suspender, void* which, clock::time_point deadline)
    : queue_{nullptr}, suspender_{suspender}, which_{which} {
  const std::scoped_lock lock{timers_lock()};
  queue_ = &timer_queue::of_process();
  queue_->add(*this, deadline);
}

timer::~timer() {
  const std::scoped_lock lock{timers_lock()};
  queue_->remove(*this);
}

}  // namespace weft::base

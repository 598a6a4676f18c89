// SPDX-License-Identifier: BSD-3-Clause
// A scheduler whose fibers move: each suspension of a fiber ends in the other one of its two threads. Each thread has a
// suspender of its own.
#pragma once

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "fiber/context.hpp"
#include "weft/suspender.hpp"

namespace weft::test {

class moving_scheduler {
 public:
  /// Runs one fiber for each of the functions, and returns when all have ended. **Returns**: how often one moved.
  static std::uint64_t run(std::vector<std::function<void()>> functions) {
    moving_scheduler all{std::move(functions)};
    std::thread other{[&] { all.serve(1); }};
    all.serve(0);
    other.join();
    return all.moves_;
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{256} << 10;

  struct fiber {
    moving_scheduler* of = nullptr;
    std::function<void()> function;
    std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(stack_bytes);
    fibers::context at;
    unsigned thread = 0;  // the members from here on are guarded by the scheduler's lock
    bool is_suspended = false;
    bool is_resumed = false;
  };

  class of_thread final : public suspender {
   public:
    explicit of_thread(moving_scheduler& of) : of_{of}, before_{use_suspender(this)} { here() = this; }
    ~of_thread() {
      here() = nullptr;
      use_suspender(before_);
    }

    [[gnu::noinline]] static of_thread*& here() noexcept {
      static thread_local of_thread* mine = nullptr;
      return mine;
    }

    void* current() noexcept override { return running_; }
    // After the switch, the caller is in another thread, and this is the suspender of the one before.
    void suspend() noexcept override { running_->at.switch_to(own_); }
    void resume(void* which) noexcept override { of_.make_ready(*static_cast<fiber*>(which)); }

    void run(fiber& next) {
      running_ = &next;
      own_.switch_to(next.at);
      running_ = nullptr;
    }
    [[noreturn]] void end(fiber& ended) {
      has_ended_ = true;
      ended.at.end_for(own_);
    }
    [[nodiscard]] bool has_ended() { return std::exchange(has_ended_, false); }

   private:
    moving_scheduler& of_;
    suspender* before_;
    fibers::context own_;
    fiber* running_ = nullptr;
    bool has_ended_ = false;
  };

  explicit moving_scheduler(std::vector<std::function<void()>> functions) : alive_{functions.size()} {
    for (auto& each : functions) {
      fiber& made = *all_.emplace_back(std::make_unique<fiber>());
      made.of = this;
      made.function = std::move(each);
      made.at.prepare(made.stack.get(), made.stack.get() + stack_bytes, &begin, &made);
      ready_[0].push_back(&made);
    }
  }

  static void begin(void* which) {
    fiber& me = *static_cast<fiber*>(which);
    me.at.arrived();
    me.function();
    of_thread::here()->end(me);
  }

  void serve(unsigned thread) {
    of_thread mine{*this};
    std::unique_lock lock{mutex_};
    while (true) {
      changed_.wait(lock, [&] { return alive_ == 0 || !ready_[thread].empty(); });
      if (ready_[thread].empty()) return;
      fiber& next = *ready_[thread].front();
      ready_[thread].pop_front();
      next.thread = thread;
      lock.unlock();
      mine.run(next);
      lock.lock();
      if (mine.has_ended()) {
        if (--alive_ == 0) changed_.notify_all();
      } else if (std::exchange(next.is_resumed, false)) {
        move(next);
      } else {
        next.is_suspended = true;
      }
    }
  }

  void make_ready(fiber& which) {
    const std::scoped_lock lock{mutex_};
    if (std::exchange(which.is_suspended, false)) {
      move(which);
    } else {
      which.is_resumed = true;
    }
  }

  // Under the lock.
  void move(fiber& which) {
    ++moves_;
    ready_[1 - which.thread].push_back(&which);
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<fiber>> all_;
  std::array<std::deque<fiber*>, 2> ready_;
  std::size_t alive_;
  std::uint64_t moves_ = 0;
};

}  // namespace weft::test

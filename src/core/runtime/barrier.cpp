// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/barrier.hpp"

#include <fmt/format.h>

#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "base/backoff.hpp"
#include "base/long_wait.hpp"
#include "base/this_suspender.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/post_inline.hpp"
#include "core/protocol/post_message.hpp"
#include "core/runtime/posted_wait.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft::core {

completion::answer barrier::signal(completion_record&& record) noexcept {
  const completion_record consumed{std::move(record)};
  const std::uint64_t parity = consumed.tag() / rounds_max % 2;
  // [barrier.arrive] release -> [barrier.wait]: the earlier writes of the other ranks.
  arrived_[parity][consumed.tag() % rounds_max].fetch_add(1, std::memory_order_release);
  return answer::taken;
}

namespace {

// The rank for which a thread in a barrier waits; another thread reads it for a report.
class missing_rank {
 public:
  void note(std::uint32_t rank, bool is_posted) noexcept {
    word_.store(std::uint64_t{is_posted} << 32 | rank, std::memory_order_relaxed);  // [hint] for people
  }
  static void describe(const void* subject, std::string& into) {
    const std::uint64_t word =
        static_cast<const missing_rank*>(subject)->word_.load(std::memory_order_relaxed);  // [hint]
    const char* const awaited = word >> 32 != 0 ? "the message of" : "room to send to";
    into += fmt::format(" for {} rank {}", awaited, static_cast<std::uint32_t>(word));
  }

 private:
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace

// The lock of a call.
class barrier::entered {
 public:
  explicit entered(barrier& barrier) noexcept : barrier_{barrier.in_use_.try_enter() ? &barrier : nullptr} {}
  entered(barrier& barrier, const char* call) : entered{barrier} {
    if (barrier_ != nullptr) return;
    throw error{errc::invalid_state,
                fmt::format("{}: another call of this rank is in the barrier, or a posted one is under way", call)};
  }
  ~entered() { leave(); }
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;
  explicit operator bool() const noexcept { return barrier_ != nullptr; }
  void leave() noexcept {
    if (barrier* const entered_barrier = std::exchange(barrier_, nullptr); entered_barrier != nullptr)
      entered_barrier->in_use_.leave();
  }
  void forget() noexcept { barrier_ = nullptr; }

 private:
  barrier* barrier_;
};

// Leaves the barrier before the signal: the completion object's function may post the next one.
class barrier::posted final : public posted_wait {
 public:
  explicit posted(barrier& barrier)
      : posted_wait{operation::barrier}, barrier_{barrier}, inside_{barrier, "post_barrier"} {}

 private:
  bool go_on(device_state& dev) override {
    rank_ = dev.runtime().rank();
    try {
      if (!barrier_.go_on(dev)) return false;
    } catch (...) {
      inside_.leave();
      throw;
    }
    inside_.leave();
    return true;
  }
  std::uint32_t peer() const noexcept override { return rank_; }
  void forget() noexcept override { inside_.forget(); }

  barrier& barrier_;
  entered inside_;
  std::uint32_t rank_ = 0;
};

// A rank that keeps the round from ending; `peers::no_peer` if there is none.
std::uint32_t barrier::find_missing(const peers& all, std::uint32_t rank, std::uint32_t size) noexcept {
  // A message that a rank has sent before it was cut off may not have been polled yet: it has some looks more.
  constexpr unsigned looks_max = 64;
  if (const std::uint32_t dead = all.dead_peer(); dead != peers::no_peer) return dead;
  const std::uint32_t from = passage_.from(rank, size);
  if (all.is_settled(from)) return from;
  for (const std::uint32_t each : {passage_.to(rank, size), from}) {
    const bool is_lost = all.is_cut_off(each) && !all.has_ended(each);
    if (passage_.is_posted && is_lost && ++passage_.unanswered_looks > looks_max) return each;
  }
  return peers::no_peer;
}

bool barrier::go_on(device_state& dev) {
  const std::uint32_t size = dev.rank_count();
  if (size == 1) return true;
  const peers& all = dev.runtime().peers();
  // Comes before the look for messages: the last message may arrive now.
  const std::uint32_t missing = find_missing(all, dev.runtime().rank(), size);
  const std::uint32_t round = passage_.round;
  if (pass_rounds(dev)) return true;
  if (passage_.round != round) {
    passage_.unanswered_looks = 0;
  } else if (missing != peers::no_peer) {
    all.refuse_if_cut_off("barrier", missing);
  }
  return false;
}

bool barrier::pass_rounds(device_state& dev) {
  const std::uint32_t rank = dev.runtime().rank();
  const std::uint32_t size = dev.rank_count();
  const auto rounds = static_cast<std::uint32_t>(std::bit_width(size - 1));
  for (; passage_.round < rounds; ++passage_.round) {
    if (!passage_.is_posted) {
      const std::uint32_t to = passage_.to(rank, size);
      dev.runtime().peers().refuse_if_cut_off("barrier", to);
      const net::header header = active_message_to(id, parity_ * rounds_max + passage_.round);
      if (post_inline::post(dev, operation::active_message, {to, 0}, header, {}).is_retry()) return false;
      passage_.is_posted = true;
    }
    std::atomic<std::uint32_t>& mine = arrived_[parity_][passage_.round];
    // [barrier.wait] acquire <- [barrier.arrive]: the earlier writes of the other ranks.
    if (mine.load(std::memory_order_acquire) == 0) return false;
    // [barrier.next] relaxed: this round of the barrier after the next one counts from this value.
    mine.fetch_sub(1, std::memory_order_relaxed);
    passage_.is_posted = false;
  }
  passage_ = {};
  parity_ ^= 1;
  return true;
}

bool barrier::try_pass(device_state& dev) {
  const entered inside{*this};
  return inside && go_on(dev);
}

bool barrier::wait(device_state& dev, const parking::limits& limits) {
  const entered inside{*this, "barrier"};
  missing_rank missing;
  base::slow_wait listed{"runtime::barrier", {&missing_rank::describe, &missing}};
  base::wait_note note{.call = "runtime::barrier"};
  bool is_over = false;
  const auto try_pass = [&] { return is_over = is_over || go_on(dev); };
  // No signal says that there is room for a message, nor that a rank is lost.
  const auto has_to_look = [&] { return !passage_.is_posted || passage_.unanswered_looks != 0; };
  const auto is_ready = [&] { return try_pass() || has_to_look(); };
  parking& lot = dev.runtime().parking();
  for (yield_policy::rest_state waiting = lot.begin_rest(); !try_pass();) {
    const std::uint32_t rank = dev.runtime().rank();
    const std::uint32_t size = dev.rank_count();
    missing.note(passage_.is_posted ? passage_.from(rank, size) : passage_.to(rank, size), passage_.is_posted);
    const bool is_last = limits.are_reached();
    const bool has_moved = dev.progress();
    if (is_last) return try_pass();
    if (has_moved) {
      waiting = lot.begin_rest();
    } else if (has_to_look() || !lot.suspend_fiber(note, dev, *this, is_ready, limits)) {
      lot.rest(waiting);
      listed.note(waiting.waiting);
    }
  }
  return true;
}

status barrier::post(device_state& dev, completion& local, const post_barrier_options& options) {
  return posted_wait::post(dev, local, options.context, options.allow_done, std::make_unique<posted>(*this));
}

}  // namespace weft::core

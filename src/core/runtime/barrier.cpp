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
  static void describe(const void* of, std::string& into) {
    const std::uint64_t word = static_cast<const missing_rank*>(of)->word_.load(std::memory_order_relaxed);  // [hint]
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
  explicit entered(barrier& of) noexcept : of_{of.in_use_.try_enter() ? &of : nullptr} {}
  entered(barrier& of, const char* call) : entered{of} {
    if (of_ != nullptr) return;
    throw error{errc::invalid_state,
                fmt::format("{}: another call of this rank is in the barrier, or a posted one is under way", call)};
  }
  ~entered() { leave(); }
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;
  explicit operator bool() const noexcept { return of_ != nullptr; }
  void leave() noexcept {
    if (barrier* const of = std::exchange(of_, nullptr); of != nullptr) of->in_use_.leave();
  }
  void forget() noexcept { of_ = nullptr; }

 private:
  barrier* of_;
};

// Leaves the barrier before the signal: the completion object's function may post the next one.
class barrier::posted final : public posted_wait {
 public:
  explicit posted(barrier& of) : posted_wait{operation::barrier}, of_{of}, inside_{of, "post_barrier"} {}

 private:
  bool go_on(device_state& by) override {
    rank_ = by.runtime().rank();
    try {
      if (!of_.go_on(by)) return false;
    } catch (...) {
      inside_.leave();
      throw;
    }
    inside_.leave();
    return true;
  }
  std::uint32_t peer() const noexcept override { return rank_; }
  void forget() noexcept override { inside_.forget(); }

  barrier& of_;
  entered inside_;
  std::uint32_t rank_ = 0;
};

// A rank that keeps the round from ending; `peers::no_peer` if there is none.
std::uint32_t barrier::find_missing(const peers& all, std::uint32_t rank, std::uint32_t size) noexcept {
  // A message that a rank has sent before it was cut off may not have been polled yet: it has some looks more.
  constexpr unsigned looks_max = 64;
  if (const std::uint32_t dead = all.dead_peer(); dead != peers::no_peer) return dead;
  const std::uint32_t from = at_.from(rank, size);
  if (all.is_settled(from)) return from;
  for (const std::uint32_t each : {at_.to(rank, size), from}) {
    const bool is_lost = all.is_cut_off(each) && !all.has_ended(each);
    if (at_.is_posted && is_lost && ++at_.unanswered_looks > looks_max) return each;
  }
  return peers::no_peer;
}

bool barrier::go_on(device_state& through) {
  const std::uint32_t size = through.rank_count();
  if (size == 1) return true;
  const peers& all = through.runtime().peers();
  // Before the look for messages, the last of which may arrive now.
  const std::uint32_t missing = find_missing(all, through.runtime().rank(), size);
  const std::uint32_t round = at_.round;
  if (pass_rounds(through)) return true;
  if (at_.round != round) {
    at_.unanswered_looks = 0;
  } else if (missing != peers::no_peer) {
    all.refuse_if_cut_off("barrier", missing);
  }
  return false;
}

bool barrier::pass_rounds(device_state& through) {
  const std::uint32_t rank = through.runtime().rank();
  const std::uint32_t size = through.rank_count();
  const auto rounds = static_cast<std::uint32_t>(std::bit_width(size - 1));
  for (; at_.round < rounds; ++at_.round) {
    if (!at_.is_posted) {
      const std::uint32_t to = at_.to(rank, size);
      through.runtime().peers().refuse_if_cut_off("barrier", to);
      const net::header header = active_message_to(id, parity_ * rounds_max + at_.round);
      if (post_inline::post(through, operation::active_message, {to, 0}, header, {}).is_retry()) return false;
      at_.is_posted = true;
    }
    std::atomic<std::uint32_t>& mine = arrived_[parity_][at_.round];
    // [barrier.wait] acquire <- [barrier.arrive]: the earlier writes of the other ranks.
    if (mine.load(std::memory_order_acquire) == 0) return false;
    // [barrier.next] relaxed: this round of the barrier after the next one counts from this value.
    mine.fetch_sub(1, std::memory_order_relaxed);
    at_.is_posted = false;
  }
  at_ = {};
  parity_ ^= 1;
  return true;
}

bool barrier::try_pass(device_state& through) {
  const entered inside{*this};
  return inside && go_on(through);
}

bool barrier::wait(device_state& through, const parking::limits& limits) {
  const entered inside{*this, "barrier"};
  missing_rank missing;
  base::slow_wait listed{"runtime::barrier", {&missing_rank::describe, &missing}};
  base::wait_note note{.call = "runtime::barrier"};
  bool is_over = false;
  const auto try_pass = [&] { return is_over = is_over || go_on(through); };
  // No signal says that there is room for a message, nor that a rank is lost.
  const auto has_to_look = [&] { return !at_.is_posted || at_.unanswered_looks != 0; };
  const auto is_ready = [&] { return try_pass() || has_to_look(); };
  parking& lot = through.runtime().parking();
  for (yield_policy::rest_state waiting = lot.begin_rest(); !try_pass();) {
    const std::uint32_t rank = through.runtime().rank();
    const std::uint32_t size = through.rank_count();
    missing.note(at_.is_posted ? at_.from(rank, size) : at_.to(rank, size), at_.is_posted);
    const bool is_last = limits.are_reached();
    const bool has_moved = through.progress();
    if (is_last) return try_pass();
    if (has_moved) {
      waiting = lot.begin_rest();
    } else if (has_to_look() || !lot.suspend_fiber(note, through, *this, is_ready, limits)) {
      lot.rest(waiting);
      listed.note(waiting.waiting);
    }
  }
  return true;
}

status barrier::post(device_state& through, completion& local, const post_barrier_options& options) {
  return posted_wait::post(through, local, options.context, options.allow_done, std::make_unique<posted>(*this));
}

}  // namespace weft::core

#include "core/runtime/barrier.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "base/backoff.hpp"
#include "base/long_wait.hpp"
#include "base/this_suspender.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/post_inline.hpp"
#include "core/protocol/post_message.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {

completion::answer barrier::signal(completion_record&& record) noexcept {
  const completion_record consumed{std::move(record)};
  const std::uint64_t parity = consumed.tag() / rounds_max % 2;
  // [barrier.arrive] release -> [barrier.wait]: the earlier writes of the other ranks.
  arrived_[parity][consumed.tag() % rounds_max].fetch_add(1, std::memory_order_release);
  return answer::taken;
}

namespace {

// A rank that keeps the round from ending; `peers::no_peer` if there is none.
std::uint32_t find_missing(barrier::passage& at, const peers& all, std::uint32_t rank, std::uint32_t size) noexcept {
  // A message that a rank has sent before it was cut off may not have been polled yet: it has some looks more.
  constexpr unsigned looks_max = 64;
  if (const std::uint32_t dead = all.dead_peer(); dead != peers::no_peer) return dead;
  const std::uint32_t from = at.from(rank, size);
  if (all.is_settled(from)) return from;
  for (const std::uint32_t each : {at.to(rank, size), from}) {
    const bool is_lost = all.is_cut_off(each) && !all.has_ended(each);
    if (at.is_posted && is_lost && ++at.looks_in_vain > looks_max) return each;
  }
  return peers::no_peer;
}

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

bool barrier::go_on(passage& at, device_state& through, std::uint32_t rank, std::uint32_t size) {
  if (size == 1) return true;
  const peers& all = through.runtime().peers();
  // Before the look for messages, the last of which may arrive now.
  const std::uint32_t missing = find_missing(at, all, rank, size);
  const std::uint32_t round = at.round;
  if (pass_rounds(at, through, rank, size)) return true;
  if (at.round != round) {
    at.looks_in_vain = 0;
  } else if (missing != peers::no_peer) {
    all.refuse_if_cut_off("barrier", missing);
  }
  return false;
}

bool barrier::pass_rounds(passage& at, device_state& through, std::uint32_t rank, std::uint32_t size) {
  const auto rounds = static_cast<std::uint32_t>(std::bit_width(size - 1));
  for (; at.round < rounds; ++at.round) {
    if (!at.is_posted) {
      through.runtime().peers().refuse_if_cut_off("barrier", at.to(rank, size));
      const net::header header = active_message_to(id, parity_ * rounds_max + at.round);
      if (post_inline::post(through, operation::active_message, {at.to(rank, size), 0}, header, {}).is_retry())
        return false;
      at.is_posted = true;
    }
    std::atomic<std::uint32_t>& mine = arrived_[parity_][at.round];
    // [barrier.wait] acquire <- [barrier.arrive]: the earlier writes of the other ranks.
    if (mine.load(std::memory_order_acquire) == 0) return false;
    // [barrier.next] relaxed: this round of the barrier after the next one counts from this value.
    mine.fetch_sub(1, std::memory_order_relaxed);
    at.is_posted = false;
  }
  parity_ ^= 1;
  return true;
}

void barrier::wait(device_state& through, std::uint32_t rank, std::uint32_t size) {
  passage at;
  missing_rank missing;
  base::slow_wait listed{"runtime::barrier", {&missing_rank::describe, &missing}};
  base::wait_note note{.call = "runtime::barrier"};
  bool is_over = false;
  const auto try_pass = [&] { return is_over = is_over || go_on(at, through, rank, size); };
  // No signal says that there is room for a message, nor that a rank is lost.
  const auto has_to_look = [&] { return !at.is_posted || at.looks_in_vain != 0; };
  const auto is_ready = [&] { return try_pass() || has_to_look(); };
  for (base::backoff waiting; !try_pass();) {
    missing.note(at.is_posted ? at.from(rank, size) : at.to(rank, size), at.is_posted);
    if (through.progress()) {
      waiting.reset();
    } else if (has_to_look() || !through.runtime().parking().suspend_fiber(note, through, *this, is_ready)) {
      base::yield_or_pause(waiting);
      listed.note(waiting);
    }
  }
}

}  // namespace weft::core

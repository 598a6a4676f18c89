// SPDX-License-Identifier: BSD-3-Clause
#include "coll/group/epoch_barrier.hpp"

#include <exception>

#include "coll/group/deferred_start.hpp"
#include "coll/group/group_numbers.hpp"
#include "coll/group/group_state.hpp"
#include "coll/schedule/ranks.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft::coll {

epoch_barrier::epoch_barrier(group_state& group, group_numbers& numbers)
    : completion{group.runtime()}, group_{group}, numbers_{numbers}, graph_{device()} {
  build();
}

// The end of a graph that is under way, at the runtime's end, signals this object yet: the other members outlive it.
epoch_barrier::~epoch_barrier() { end_signals(); }

weft::device& epoch_barrier::device() const noexcept {
  weft::device& standard = group_.runtime().default_device();
  return standard.is_shared() ? standard : group_.device();
}

void epoch_barrier::build() {
  static std::byte none;
  const std::uint32_t size = group_.size();
  graph_node before{};
  for (std::uint32_t round = 0; round < doublings(size); ++round) {
    const std::uint32_t distance = 1U << round;
    const std::uint32_t target = group_.world_rank((group_.rank() + distance) % size);
    const std::uint32_t source = group_.world_rank((group_.rank() + size - distance) % size);
    const graph_node sent = graph_.add_post([this, target, round](completion& local) {
      return device().post_send(target, const_buffer_ref{&none, 0}, local,
                                {.tag = tag_ | round, .engine = group_.engine()});
    });
    const graph_node received = graph_.add_post([this, source, round](completion& local) {
      return device().post_recv(source, buffer_ref{&none, 0}, local, {.tag = tag_ | round, .engine = group_.engine()});
    });
    if (round != 0) {
      graph_.add_edge(before, sent);
      graph_.add_edge(before, received);
    }
    before = received;
  }
}

// Barriers follow each other: the window lets one thread enter, after the barrier before.
void epoch_barrier::enter() noexcept {
  tag_ = numbers_.tag(number_window::barrier_number(next_epoch_++));
  // [barrier.enter] relaxed: a thread that asks has seen the end of the collectives before.
  running_.fetch_add(1, std::memory_order_relaxed);
  try {
    graph_.start(*this);
  } catch (const std::exception&) {  // no memory for the first start
    // [barrier.end] release -> [barrier.idle]
    running_.fetch_sub(1, std::memory_order_release);
    numbers_.fail(errc::out_of_memory);
  }
}

completion::answer epoch_barrier::signal(completion_record&& record) noexcept {
  if (record.error() != errc::none) {
    numbers_.fail(record.error());
  } else {
    numbers_.pass_barrier();
    // [barrier.open] seq_cst <- [barrier.deferred]: a start that this thread doesn't see counted sees its number open.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (deferred_count_.load(std::memory_order_relaxed) != 0) {  // [hint] ordered by the fence
      while (deferred_start* const each = take_open()) each->release(errc::none);
    }
  }
  // [barrier.end] release -> [barrier.idle]: all that was done here. The last access.
  running_.fetch_sub(1, std::memory_order_release);
  return answer::taken;
}

void epoch_barrier::start_when_open(deferred_start& start) noexcept {
  {
    const std::lock_guard locked{deferred_mutex_};
    deferred_count_.fetch_add(1, std::memory_order_relaxed);  // [locked]
    // [barrier.deferred] seq_cst -> [barrier.open]: counted before the look at the numbers.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (numbers_.failure() == errc::none && !numbers_.is_open(start.numbers().last())) {
      start.next_ = nullptr;
      *last_deferred_ = &start;
      last_deferred_ = &start.next_;
      return;
    }
    deferred_count_.fetch_sub(1, std::memory_order_relaxed);  // [locked]
  }
  start.release(numbers_.failure());
}

deferred_start* epoch_barrier::take_open() noexcept {
  const std::lock_guard locked{deferred_mutex_};
  deferred_start* const first = first_deferred_;
  if (first == nullptr) return nullptr;
  if (numbers_.failure() == errc::none && !numbers_.is_open(first->numbers().last())) return nullptr;
  first_deferred_ = first->next_;
  if (first_deferred_ == nullptr) last_deferred_ = &first_deferred_;
  deferred_count_.fetch_sub(1, std::memory_order_relaxed);  // [locked]
  return first;
}

bool epoch_barrier::try_remove(deferred_start& start) noexcept {
  const std::lock_guard locked{deferred_mutex_};
  for (deferred_start** link = &first_deferred_; *link != nullptr; link = &(*link)->next_) {
    if (*link != &start) continue;
    *link = start.next_;
    if (*link == nullptr) last_deferred_ = link;
    deferred_count_.fetch_sub(1, std::memory_order_relaxed);  // [locked]
    return true;
  }
  return false;
}

void epoch_barrier::refuse_all() noexcept {
  while (deferred_start* const each = take_open()) each->release(numbers_.failure());
  signalled(runtime(), this);
}

}  // namespace weft::coll

// SPDX-License-Identifier: BSD-3-Clause
// A queue of completion records. Most programs receive their messages in one.
//
// Cost: a signal is one cache line, a pop one cache line and one atomic read-modify-write (detail/laned_queue.hpp).
#pragma once

#include <optional>

#include "weft/completion.hpp"
#include "weft/detail/laned_queue.hpp"
#include "weft/detail/unbounded_queue.hpp"

namespace weft {

/// How large a queue may grow.
struct completion_queue_options {
  /// Records that fit into a lane; a signal to a full lane answers *full*. 0 stands for `WEFT_QUEUE_CAPACITY`. Each of
  /// the first eight threads that signal has a lane of its own; all other threads use one more together.
  std::size_t capacity = 0;
  /// Grows instead of answering *full*: for programs that bound their operations and messages by other means.
  bool unbounded = false;
};

/// Holds records in roughly the order of their completion, for any number of producing and consuming threads.
///
/// **Order**: records that one thread signalled come out in the order of their signals, until the thread ends (signals
/// from destructors of its thread-locals may overtake). Nothing else is promised.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any, concurrently with each other and
/// with progress. **Errors**: none. A signal writes into the lane of its thread, and a pop looks into the lane of its
/// thread first: threads that make progress and pop the records that they found do not slow each other down.
/// **Source**: yan2025-lci, 5.1.4 and 6.2.3.
class completion_queue final : public completion {
 public:
  /// An empty queue. **Blocking**: briefly, for memory. **Errors**: `std::bad_alloc`.
  explicit completion_queue(weft::runtime& owner, const completion_queue_options& options = {});
  template <class WriteRuntimeAndMembersInOrderOf = completion_queue_options>
  explicit completion_queue(...) = delete;  // write a runtime, and members of completion_queue_options in their order
  ~completion_queue() override;

  /// Takes the next record; nothing if none is ready. It prefers records that the calling thread has signalled, and
  /// from time to time takes one of another thread.
  ///
  /// **Blocking**: never; makes no progress. **Buffer**: the record of an arrived message owns its packet, and gives it
  /// back when it is destroyed. A program that keeps many records leaves the sender short of packets; beyond
  /// `WEFT_FOREIGN_PACKETS_MAX` of them delivery copies.
  [[nodiscard]] std::optional<completion_record> pop() noexcept {
    // A thread that waits finds the queue empty most of the time; that has to cost as little as possible.
    if (!bounded_) [[unlikely]]
      return pop_unbounded();
    if (!bounded_->has_one_lane()) [[unlikely]]
      return pop_among();
    lane::ready_slot found;
    if (!bounded_->first_lane().find_first(found)) return std::nullopt;
    return pop_at(found);
  }

  /// Whether there is nothing to pop: a hint, as other threads may signal and pop meanwhile. True means: each lane had
  /// nothing ready at some moment during the call.
  ///
  /// **Blocking**: never; makes no progress, takes nothing and writes nothing. **Source**: zhou2024, 3.4.
  [[nodiscard]] bool is_empty() const noexcept { return bounded_ ? bounded_->is_empty() : unbounded_->is_empty(); }

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

  /// The capacity of a lane in records; 0 for an unbounded queue.
  [[nodiscard]] std::size_t capacity() const noexcept { return bounded_ ? bounded_->capacity() : 0; }
  /// Whether it grows instead of answering *full*.
  [[nodiscard]] bool is_unbounded() const noexcept { return !bounded_; }

 private:
  using lane = detail::record_lane<detail::raw_record>;

  friend class core::registrations;

  [[nodiscard]] [[gnu::always_inline]] std::optional<completion_record> pop_at(const lane::ready_slot& found) noexcept {
    std::optional<completion_record> out{std::in_place};  // lies in the caller's result: copied only once
    if (!bounded_->first_lane().take_first(found, out->raw())) empty(out);
    return out;
  }
  [[nodiscard]] std::optional<completion_record> pop_among() noexcept;
  [[nodiscard]] std::optional<completion_record> pop_unbounded() noexcept;
  // A failed pop leaves the bytes of a record that another thread owns. Not inlined, as destroying a record takes
  // registers.
  [[gnu::noinline]] static void empty(std::optional<completion_record>& failed) noexcept {
    failed->detach();
    failed.reset();
  }

  std::optional<detail::laned_queue<detail::raw_record>> bounded_;
  std::optional<detail::unbounded_queue<detail::raw_record>> unbounded_;
};

}  // namespace weft

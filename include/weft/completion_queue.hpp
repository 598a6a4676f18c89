// A queue of completion records: what most programs receive their messages in.
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
  /// Records that fit before the queue answers *full*; 0 stands for `WEFT_QUEUE_CAPACITY`. Each of the first eight
  /// threads that signal has that room for itself, in a lane of its own; the others share one more.
  std::size_t capacity = 0;
  /// Grows instead of answering *full*: for programs that bound what is under way by other means.
  bool unbounded = false;
};

/// Records in roughly the order of their completion, for any number of threads on both sides.
///
/// **Order**: records that one thread signalled come out in the order of their signals, up to its end (what it signals
/// from destructors of thread-locals may overtake); nothing else is promised.
/// **Threads**: those that signal write into lanes of their own, and a pop looks into its thread's lane first: threads
/// that make progress and pop what they found are not in each other's way. **Source**: yan2025-lci, 5.1.4 and 6.2.3.
class completion_queue final : public completion {
 public:
  /// **Blocking**: briefly, for memory. **Threads**: any. **Errors**: `std::bad_alloc`.
  explicit completion_queue(weft::runtime& owner, const completion_queue_options& options = {});
  ~completion_queue() override;

  /// The next record, or nothing where none is ready. Of several threads' records it takes its own first, and every
  /// so often another one's.
  ///
  /// **Blocking**: never. **Threads**: any number, concurrently with each other and with progress.
  /// **Buffer**: an arrived message owns its packet, given back when the record goes; records that are kept for long
  /// make the pool short (`WEFT_FOREIGN_PACKETS_MAX` bounds it, then delivery copies).
  [[nodiscard]] std::optional<completion_record> pop() noexcept {
    // Whoever waits looks more often in vain than not, and that is to take as little as possible.
    if (!bounded_) [[unlikely]]
      return pop_unbounded();
    if (!bounded_->has_one_lane()) [[unlikely]]
      return pop_among();
    lane::place found;
    if (!bounded_->first_lane().find_first(found)) return std::nullopt;
    return pop_at(found);
  }

  /// Whether there is nothing to pop: a hint, as others may signal and pop meanwhile. Where it is true, each lane had
  /// nothing ready at some moment during the call.
  ///
  /// **Blocking**: never; makes no progress, takes nothing and writes nothing. **Threads**: any. **Source**: zhou2024,
  /// 3.4.
  [[nodiscard]] bool is_empty() const noexcept { return bounded_ ? bounded_->is_empty() : unbounded_->is_empty(); }

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

  /// The capacity of a lane in records; 0 for an unbounded queue. For this and the next: **Threads**: any.
  [[nodiscard]] std::size_t capacity() const noexcept { return bounded_ ? bounded_->capacity() : 0; }
  /// Whether it grows instead of answering *full*.
  [[nodiscard]] bool is_unbounded() const noexcept { return !bounded_; }

 private:
  using lane = detail::record_lane<detail::raw_record>;

  friend class core::runtime_state;

  [[nodiscard]] [[gnu::always_inline]] std::optional<completion_record> pop_at(const lane::place& found) noexcept {
    std::optional<completion_record> out{std::in_place};  // where the caller wants it: nothing is copied twice
    if (!bounded_->first_lane().take_first(found, out->raw())) empty(out);
    return out;
  }
  [[nodiscard]] std::optional<completion_record> pop_among() noexcept;
  [[nodiscard]] std::optional<completion_record> pop_unbounded() noexcept;
  // A failed pop leaves the bytes of a record that is another thread's. Apart, as destroying a record takes registers.
  [[gnu::noinline]] static void empty(std::optional<completion_record>& failed) noexcept {
    failed->detach();
    failed.reset();
  }

  std::optional<detail::laned_queue<detail::raw_record>> bounded_;
  std::optional<detail::unbounded_queue<detail::raw_record>> unbounded_;
};

}  // namespace weft

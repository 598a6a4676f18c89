// A queue of completion records: what most programs receive their messages in.
//
// Cost: a signal and a pop are one atomic read-modify-write and one cache line each (detail/bounded_queue.hpp).
#pragma once

#include <optional>

#include "weft/completion.hpp"
#include "weft/detail/bounded_queue.hpp"
#include "weft/detail/unbounded_queue.hpp"

namespace weft {

struct completion_queue_options {
  /// Records that fit before the queue answers *full*; 0 stands for `WEFT_QUEUE_CAPACITY`.
  std::size_t capacity = 0;
  /// Grows instead of answering *full*: for programs that bound what is under way by other means.
  bool unbounded = false;
};

/// Records in roughly the order of their completion, for any number of threads on both sides.
///
/// **Order**: records that one thread signalled come out in the order of their signals; nothing else is promised.
/// **Source**: yan2025-lci, 5.1.4.
class completion_queue final : public completion {
 public:
  explicit completion_queue(weft::runtime& owner, const completion_queue_options& options = {});
  ~completion_queue() override;

  /// The next record, or nothing where none is ready.
  ///
  /// **Blocking**: never. **Threads**: any number, concurrently with each other and with progress.
  /// **Buffer**: an arrived message owns its packet, given back when the record goes; records that are kept for long
  /// make the pool short (`WEFT_FOREIGN_PACKETS_MAX` bounds it, then delivery copies).
  [[nodiscard]] std::optional<completion_record> pop() noexcept {
    // Whoever waits looks more often in vain than not, and that is to take as little as possible.
    if (!bounded_) [[unlikely]]
      return pop_unbounded();
    std::uint64_t position;
    if (!bounded_->find_first(position)) return std::nullopt;
    return pop_at(position);
  }

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

  /// The capacity in records; 0 for an unbounded queue.
  [[nodiscard]] std::size_t capacity() const noexcept { return bounded_ ? bounded_->capacity() : 0; }

 private:
  friend class core::runtime_state;

  [[nodiscard]] [[gnu::always_inline]] std::optional<completion_record> pop_at(std::uint64_t position) noexcept {
    std::optional<completion_record> out{std::in_place};  // where the caller wants it: nothing is copied twice
    if (!bounded_->take_first(position, out->raw())) empty(out);
    return out;
  }
  [[nodiscard]] std::optional<completion_record> pop_unbounded() noexcept;
  // A failed pop leaves the bytes of a record that is another thread's. Apart, as destroying a record takes registers.
  [[gnu::noinline]] static void empty(std::optional<completion_record>& failed) noexcept {
    failed->detach();
    failed.reset();
  }

  std::optional<detail::bounded_queue<detail::raw_record>> bounded_;
  std::optional<detail::unbounded_queue<detail::raw_record>> unbounded_;
};

}  // namespace weft

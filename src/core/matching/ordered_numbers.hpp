// A sender's side of an ordered engine: the next number for each target, used up only if the message is sent.
//
// Cost: one compare-and-exchange and one store on the target's word. While a thread posts, other threads that post to
// this target and engine get the answer busy: their numbers depend on whether its message is sent. Progress:
// wait-free; `try_begin` may fail. Callers: any thread; `end` by the thread that began. Linearization: the
// exchange, and the store. Numbers wrap around. Model test: tests/model/matching_table_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/atomics.hpp"

namespace weft::core {

template <class Atomics = detail::std_atomics>
class basic_ordered_numbers {
 public:
  /// Throws std::bad_alloc.
  explicit basic_ordered_numbers(std::uint32_t target_count, std::uint32_t first_sequence = 0)
      : words_{std::make_unique<word[]>(target_count)} {
    for (std::uint32_t rank = 0; rank < target_count; ++rank) {
      // [numbers.first] relaxed: no other thread knows it yet.
      words_[rank].store(std::uint64_t{first_sequence} << 1, std::memory_order_relaxed);
    }
  }

  /// The number for the next message to `target`; false: another thread is posting there. `end` must follow.
  [[nodiscard]] bool try_begin(std::uint32_t target, std::uint32_t& sequence) noexcept {
    // [numbers.look] relaxed: a wrong guess makes the exchange fail.
    std::uint64_t seen = words_[target].load(std::memory_order_relaxed);
    if ((seen & 1) != 0) return false;
    // [numbers.begin] acquire <- [numbers.end]: the writes of the last thread to post.
    if (!words_[target].compare_exchange_strong(seen, seen | 1, std::memory_order_acquire, std::memory_order_relaxed)) {
      return false;
    }
    sequence = static_cast<std::uint32_t>(seen >> 1);
    return true;
  }

  /// `is_used`: the message with number `sequence` is sent, or will be.
  void end(std::uint32_t target, std::uint32_t sequence, bool is_used) noexcept {
    const std::uint32_t next = is_used ? sequence + 1 : sequence;
    // [numbers.end] release -> [numbers.begin]: this thread's writes.
    words_[target].store(std::uint64_t{next} << 1, std::memory_order_release);
  }

 private:
  // Twice the next number; odd while a thread posts.
  using word = typename Atomics::template atomic<std::uint64_t>;

  std::unique_ptr<word[]> words_;
};

using ordered_numbers = basic_ordered_numbers<>;

}  // namespace weft::core

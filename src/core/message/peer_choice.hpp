// SPDX-License-Identifier: BSD-3-Clause
// The choices for long messages from one peer: one for each size class (copy_choice.hpp), under a lock that
// no thread waits for.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/try_lock.hpp"
#include "core/message/copy_choice.hpp"

namespace weft::core {

/// Which methods there are for messages of a size class, and where learning begins.
struct class_methods {
  copy_method_set allowed = 0;
  copy_method first = copy_method::one_side;
};

/// The choice for a message, and when it was made: the low half of the time; 0: the message is not measured.
struct timed_copy {
  chosen_copy chosen;
  std::uint32_t begun = 0;
};

class peer_choice {
 public:
  /// The first begins just above a packet, and each is twice as long as the one before; the last one has no end.
  static constexpr std::size_t classes = 10;
  /// The first packets of a sender are new: the system finds and clears a page for each of its pages, and that is no
  /// measure of the rest. A sender goes around so many bytes of them (packet_pool.hpp).
  static constexpr std::uint64_t new_packet_bytes = std::uint64_t{4} << 20;

  explicit peer_choice(const std::array<class_methods, classes>& methods) noexcept {
    for (std::size_t i = 0; i < classes; ++i) {
      const bool is_short = i < short_classes;
      of_class_[i].begin_with(methods[i].allowed, methods[i].first, is_short ? trial_messages : trial_messages / 2);
      // [hint] as in `begin`.
      settled_[i].store(methods[i].first, std::memory_order_relaxed);
    }
  }

  [[nodiscard]] static constexpr std::size_t class_of(std::uint64_t bytes, std::uint64_t packet_bytes) noexcept {
    const auto doublings = static_cast<std::size_t>(std::bit_width((bytes - 1) / packet_bytes));
    return std::min(doublings - (doublings != 0 ? 1 : 0), classes - 1);
  }

  /// A message of class `index` begins at `now`, by any clock. Other cores' clocks may be behind: a time before the
  /// last one's does not count. A message must not take 2^32 or more.
  [[nodiscard]] timed_copy begin(std::size_t index, std::uint64_t now) noexcept {
    if (!lock_.try_enter()) return {.chosen = {.method = settled_[index].load(std::memory_order_relaxed)}};  // [hint]
    const timed_copy out{of_class_[index].begin(), static_cast<std::uint32_t>(now | 1)};
    settled_[index].store(of_class_[index].settled(),
                          std::memory_order_relaxed);  // [hint] for threads without the lock
    lock_.leave();
    return out;
  }

  /// It has ended. True: from here on most messages of the class travel by another method, or learning is over.
  bool end(std::size_t index, const timed_copy& timed, std::uint64_t bytes, std::uint64_t now) noexcept {
    if (timed.begun == 0 || !lock_.try_enter()) return false;
    measured_copy shown{.ended = now | 1, .bytes = bytes};
    shown.begun = shown.ended - static_cast<std::uint32_t>(shown.ended - timed.begun);
    const std::uint64_t from = std::max(shown.begun, last_end_);
    shown.time = shown.ended - std::min(from, shown.ended);
    const bool is_new = timed.chosen.method == copy_method::packets && new_bytes_left_ != 0;
    if (is_new) new_bytes_left_ -= std::min(bytes, new_bytes_left_);
    shown.counts = !is_new && shown.ended >= from;
    const bool has_changed = of_class_[index].end(timed.chosen, shown);
    last_end_ = std::max(shown.ended, last_end_);
    settled_[index].store(of_class_[index].settled(), std::memory_order_relaxed);  // [hint]
    lock_.leave();
    return has_changed;
  }

  /// Copies the choice of a class, for people; false: another thread has the lock.
  [[nodiscard]] bool try_read(std::size_t index, class_choice& out) noexcept {
    if (!lock_.try_enter()) return false;
    out = of_class_[index];
    lock_.leave();
    return true;
  }

 private:
  static constexpr unsigned trial_messages = 4;
  static constexpr std::size_t short_classes = 7;  // up to 1 MiB in packets of 8 KiB

  base::try_lock lock_;
  std::array<std::atomic<copy_method>, classes> settled_{};
  std::uint64_t last_end_ = 0;
  std::uint64_t new_bytes_left_ = new_packet_bytes;
  std::array<class_choice, classes> of_class_{};
};

}  // namespace weft::core

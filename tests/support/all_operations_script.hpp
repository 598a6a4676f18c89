// SPDX-License-Identifier: BSD-3-Clause
// The operations of each thread of each rank in a run of all operations, and the bytes that they move: all of it
// follows from the seed, so that every rank can compute it for any other one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/all_operations.hpp"
#include "weft/post_options.hpp"

namespace weft::test::all_operations {

/// Random numbers (splitmix64), equal at all ranks.
class dice {
 public:
  explicit dice(std::uint64_t seed) noexcept : state_{seed} {}
  std::uint64_t next() noexcept;
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }
  bool one_in(std::uint64_t count) noexcept { return below(count) == 0; }

 private:
  std::uint64_t state_;
};

/// Writes bytes `from` and on of the content that `key` tells apart.
void fill(std::span<std::byte> out, std::uint64_t key, std::size_t from = 0) noexcept;
/// The first byte that is not as `fill` would have written it.
[[nodiscard]] std::optional<std::size_t> first_wrong(std::span<const std::byte> bytes, std::uint64_t key,
                                                     std::size_t from = 0) noexcept;

enum class action : std::uint8_t {
  am,
  send,
  ordered_send,
  put,
  put_signal,
  get,
  get_signal,
  own_atomic,     // on words that no other thread uses: each old value is known
  shared_atomic,  // sums of all threads of all ranks
  cancel,
  flush,
};

/// The way in which the receiver of a send receives it.
enum class receipt : std::uint8_t {
  first,   // posts the receive before anything else: the send may be complete only when it is delivered
  posted,  // posts it sometime
  probed,  // waits for it with a probe
  cut,     // posts one that is too short
};

/// One operation.
struct plan {
  action kind;
  std::uint32_t source, thread, number;  // whose it is
  std::uint32_t peer;
  std::size_t bytes;
  std::uint64_t key;  // of the content, and of all other choices
  match_policy policy;
  receipt receipt_kind;
  bool as_list, delivered, allow_done, allow_retry;
  std::uint32_t device;
  // Of puts, gets and atomics: where in the peer's memory.
  std::uint32_t region;  // 0: allocated by the library, 1: the user's own
  std::uint32_t slot;
  std::size_t offset;  // in the slot

  /// Of a send: whether its receive is announced to it.
  [[nodiscard]] bool is_receiver_first() const noexcept {
    return kind == action::send && policy == match_policy::rank_tag && receipt_kind != receipt::probed &&
           number % 3 == 0;
  }

  /// Says all of it: the source in 16 bits, the thread in 16, the number in 32.
  [[nodiscard]] std::uint64_t tag() const noexcept {
    return std::uint64_t{source} << 48 | std::uint64_t{thread} << 32 | number;
  }
};

/// An atomic on a word of a thread's own, of 8 or 4 bytes.
struct atomic_plan {
  atomic_op op;
  bool wide;
  std::uint64_t operand;
  std::uint64_t compare;
};

/// The next value of a word of a thread's own.
[[nodiscard]] std::uint64_t combine(const atomic_plan& change, std::uint64_t old) noexcept;

/// Everything that is going to be done, and where in the regions.
class script {
 public:
  static constexpr std::uint32_t small_slots = 4;  // and one large one
  static constexpr std::uint32_t slots = small_slots + 1;
  static constexpr std::uint32_t shared_words = 4;
  static constexpr std::uint32_t nobody = 0xffff;

  script(const all_operations_load& load, std::uint32_t ranks, const runtime_attributes& sizes);

  [[nodiscard]] const all_operations_load& workload() const noexcept { return load_; }
  [[nodiscard]] std::uint32_t ranks() const noexcept { return ranks_; }
  /// Longest but for the few largest.
  [[nodiscard]] std::size_t usual_bytes_max() const noexcept { return usual_bytes_max_; }

  /// Of one thread, in the order of their numbers.
  [[nodiscard]] std::span<const plan> planned(std::uint32_t source, std::uint32_t thread) const noexcept;
  [[nodiscard]] std::span<const plan> all() const noexcept { return plans_; }
  /// The operation that a tag is of; null where there is none.
  [[nodiscard]] const plan* find(std::uint64_t tag) const noexcept;
  [[nodiscard]] std::size_t index_of(const plan& planned) const noexcept {
    return static_cast<std::size_t>(&planned - plans_.data());
  }

  // A region: an area for each thread of each rank, then words.
  [[nodiscard]] std::size_t region_bytes() const noexcept;
  [[nodiscard]] std::size_t area_at(std::uint32_t source, std::uint32_t thread) const noexcept;
  [[nodiscard]] std::size_t area_bytes() const noexcept { return slot_at(slots); }
  [[nodiscard]] std::size_t slot_at(std::uint32_t slot) const noexcept;  // in the area
  [[nodiscard]] std::size_t offset_of(const plan& planned) const noexcept {
    return area_at(planned.source, planned.thread) + slot_at(planned.slot) + planned.offset;
  }
  [[nodiscard]] std::size_t own_word_at(std::uint32_t source, std::uint32_t thread, bool wide) const noexcept;
  [[nodiscard]] std::size_t shared_word_at(std::uint64_t index) const noexcept;

  /// `word` is the word's value by then.
  [[nodiscard]] static atomic_plan own_atomic(const plan& planned, std::uint64_t word) noexcept;
  [[nodiscard]] static bool is_wide(const plan& planned) noexcept { return (planned.key & 1) == 0; }
  /// Which of the shared words, and how much is added to it.
  [[nodiscard]] static std::uint64_t shared_word(const plan& planned) noexcept {
    return (planned.key >> 8) % shared_words;
  }
  [[nodiscard]] static std::uint64_t shared_operand(const plan& planned) noexcept { return planned.key >> 40; }

  /// The bytes of region `region` of rank `rank` in the end.
  [[nodiscard]] std::vector<std::byte> final_region(std::uint32_t rank, std::uint32_t region) const;

 private:
  [[nodiscard]] plan draw(std::uint32_t source, std::uint32_t thread, std::uint32_t number) const noexcept;
  [[nodiscard]] std::size_t draw_bytes(dice& from) const noexcept;

  all_operations_load load_;
  std::uint32_t ranks_;
  std::size_t packet_bytes_;
  std::size_t inject_bytes_;
  std::size_t usual_bytes_max_;
  std::size_t large_put_bytes_;
  std::vector<plan> plans_;
};

}  // namespace weft::test::all_operations

// SPDX-License-Identifier: BSD-3-Clause
// The answer of a posting function.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// The resource that was short when a post answered `retry`. Nothing happened then; the caller may post again.
enum class shortage : std::uint8_t {
  none = 0,
  ring,     ///< the ring to the peer is full, or too much of ordered engines is under way: both have to make progress
  lock,     ///< another thread held a lock at this moment: of the ring to this peer, or in matching
  packets,  ///< the packet pool is empty: packets are under way or held by received messages
  operations,  ///< no room for more long operations (`WEFT_STATE_BYTES_MAX`, `WEFT_OPERATIONS_MAX`)
  receives,    ///< no room for more receives (`WEFT_STATE_BYTES_MAX`, `WEFT_RECEIVES_MAX`)
};

/// The number of shortages, with `none`.
inline constexpr std::size_t shortages = 6;

/// The name of a shortage, as in `ring`. **Blocking**: never. **Threads**: any. **Errors**: none.
[[nodiscard]] constexpr const char* name_of(shortage reason) noexcept {
  switch (reason) {
    case shortage::none: return "none";
    case shortage::ring: return "ring";
    case shortage::lock: return "lock";
    case shortage::packets: return "packets";
    case shortage::operations: return "operations";
    case shortage::receives: return "receives";
  }
  return "unknown";
}

/// The answer of a posting function: *done*, *posted* or *retry* (yan2025-lci, 4.2.5). A wrong call throws instead.
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
class [[nodiscard]] status {
 public:
  /// Complete: the caller may use its buffer again, and the completion object is not signalled.
  [[nodiscard]] static constexpr status done() noexcept { return status{state::done, shortage::none, 0}; }
  /// Under way: the completion object will be signalled exactly once.
  [[nodiscard]] static constexpr status posted(std::uint64_t ticket) noexcept {
    return status{state::posted, shortage::none, ticket};
  }
  /// Nothing happened.
  [[nodiscard]] static constexpr status retry(shortage reason) noexcept { return status{state::retry, reason, 0}; }

  /// Whether it is complete.
  [[nodiscard]] constexpr bool is_done() const noexcept {
    return (code_ & 0xff) == static_cast<std::uint64_t>(state::done);
  }
  /// Whether it is under way.
  [[nodiscard]] constexpr bool is_posted() const noexcept {
    return (code_ & 0xff) == static_cast<std::uint64_t>(state::posted);
  }
  /// Whether nothing happened.
  [[nodiscard]] constexpr bool is_retry() const noexcept {
    return (code_ & 0xff) == static_cast<std::uint64_t>(state::retry);
  }

  /// Which resource was short; `none` unless the answer is *retry*.
  [[nodiscard]] constexpr shortage reason() const noexcept { return static_cast<shortage>(code_ >> 8); }

  /// The number of a posted operation, unique among those under way on this rank; 0 unless the answer is *posted*.
  [[nodiscard]] constexpr std::uint64_t ticket() const noexcept { return ticket_; }

 private:
  enum class state : std::uint8_t { done, posted, retry };

  constexpr status(state answer, shortage reason, std::uint64_t ticket) noexcept
      : ticket_{ticket}, code_{static_cast<std::uint64_t>(answer) | static_cast<std::uint64_t>(reason) << 8} {}

  std::uint64_t ticket_;
  std::uint64_t code_;  // state and shortage in one word, which is returned in a register
};

/// The answer of `device::until_accepted`: *done* or *posted*. It may be ignored, unlike a `status`. All functions:
/// **Blocking**: never. **Threads**: any. **Errors**: none.
class accepted_status : public status {
 public:
  /// The answer of the last call.
  constexpr explicit accepted_status(status answer) noexcept : status{answer} {}
};

}  // namespace weft

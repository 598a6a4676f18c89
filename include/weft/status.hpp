// What a posting function answers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft {

/// Which resource was short when a post answered `retry`. Nothing happened then; the same call may go through later.
enum class shortage : std::uint8_t {
  none = 0,
  ring,        ///< the way to the peer is full: its progress has to catch up
  lock,        ///< another thread was posting to the same peer on this device at this moment
  packets,     ///< the packet pool is empty: packets are under way or held by received messages
  operations,  ///< too many long operations are under way (`WEFT_OPERATIONS_MAX`)
  receives,    ///< too many receives are posted (`WEFT_RECEIVES_MAX`)
};

/// How many shortages there are, `none` included.
inline constexpr std::size_t shortages = 6;

/// The name of a shortage, as in `ring`.
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

/// The answer of a posting function (yan2025-lci, 4.2.5). The fourth outcome, a wrong call, is thrown.
class [[nodiscard]] status {
 public:
  /// Complete: the buffer is free and the completion object is not signalled.
  [[nodiscard]] static constexpr status done() noexcept { return status{state::done, shortage::none, 0}; }
  /// Under way: the completion object will be signalled, exactly once.
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

  /// Why it is `retry`.
  [[nodiscard]] constexpr shortage reason() const noexcept { return static_cast<shortage>(code_ >> 8); }

  /// The name of a posted operation, unique among those under way on this rank; 0 where nothing is under way.
  [[nodiscard]] constexpr std::uint64_t ticket() const noexcept { return ticket_; }

 private:
  enum class state : std::uint8_t { done, posted, retry };

  constexpr status(state what, shortage reason, std::uint64_t ticket) noexcept
      : ticket_{ticket}, code_{static_cast<std::uint64_t>(what) | static_cast<std::uint64_t>(reason) << 8} {}

  std::uint64_t ticket_;
  std::uint64_t code_;  // state and shortage in one word, which travels in a register
};

}  // namespace weft

// What can be said about a post beyond its arguments: one type for each posting function, filled by designated
// initializers, every default written here.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/detail/raw_record.hpp"
#include "weft/matching_engine.hpp"
#include "weft/region.hpp"

namespace weft {

/// Any remote device will do: the one with this device's index, modulo how many there are.
inline constexpr std::uint32_t any_device = ~std::uint32_t{0};

/// When a post is complete.
enum class completion_level : std::uint8_t {
  local,      ///< its buffer may be used again
  delivered,  ///< the data is at the target: written into its region, or with the receive or completion that it is for
};

/// Options of `device::post_am`.
struct post_am_options {
  /// Carried to the target as it is.
  std::uint64_t tag = 0;
  /// The target's device that is to receive the message; taken modulo their number.
  std::uint32_t device = any_device;
  /// When the post is complete.
  completion_level complete_at = completion_level::local;
  /// Found again in the completion record.
  void* context = nullptr;
  /// False: never `done`; the completion object is signalled even when the operation is complete at once.
  bool allow_done = true;
  /// False: never `retry`; what can't be posted now waits in a bounded backlog.
  bool allow_retry = true;
};

/// Options of `device::post_send`.
struct post_send_options {
  std::uint64_t tag = 0;  ///< by which it meets its receive
  /// The engine's id; both ranks have made it.
  std::uint32_t engine = default_matching_engine;
  match_policy policy = match_policy::rank_tag;            ///< what of rank and tag counts
  completion_level complete_at = completion_level::local;  ///< delivered: it has met its receive
  std::uint32_t device = any_device;                       ///< as in `post_am_options`
  void* context = nullptr;                                 ///< as in `post_am_options`
  bool allow_done = true;                                  ///< as in `post_am_options`
  bool allow_retry = true;                                 ///< as in `post_am_options`
};

/// Options of `device::post_recv`.
struct post_recv_options {
  std::uint64_t tag = 0;                           ///< by which it meets its message
  std::uint32_t engine = default_matching_engine;  ///< the engine's id
  match_policy policy = match_policy::rank_tag;    ///< what of rank and tag counts
  /// In an ordered engine: whatever the tag.
  bool any_tag = false;
  void* context = nullptr;  ///< found again in the completion record
  bool allow_retry = true;  ///< false: never `retry`
};

/// Options of `device::probe`: those of the receive that is asked about.
struct probe_options {
  std::uint64_t tag = 0;                           ///< as in `post_recv_options`
  std::uint32_t engine = default_matching_engine;  ///< as in `post_recv_options`
  match_policy policy = match_policy::rank_tag;    ///< as in `post_recv_options`
  bool any_tag = false;                            ///< as in `post_recv_options`
};

/// Options of `device::post_put`.
struct post_put_options {
  /// Whom to tell at the target, after the data is there, and with which tag.
  std::optional<remote_completion> signal = std::nullopt;
  std::uint64_t tag = 0;                                   ///< of the signal
  completion_level complete_at = completion_level::local;  ///< as in `post_am_options`
  std::uint32_t device = any_device;                       ///< as in `post_am_options`
  void* context = nullptr;                                 ///< as in `post_am_options`
  bool allow_done = true;                                  ///< as in `post_am_options`
  bool allow_retry = true;                                 ///< as in `post_am_options`
};

/// Options of `device::post_get`.
struct post_get_options {
  /// Whom to tell at the target, after the data has been read, and with which tag.
  std::optional<remote_completion> signal = std::nullopt;
  std::uint64_t tag = 0;              ///< of the signal
  std::uint32_t device = any_device;  ///< as in `post_am_options`
  void* context = nullptr;            ///< as in `post_am_options`
  bool allow_done = true;             ///< as in `post_am_options`
  bool allow_retry = true;            ///< as in `post_am_options`
};

/// What a remote atomic does to the word `old` at its target.
enum class atomic_op : std::uint8_t {
  fetch_add,         ///< old + operand
  fetch_and,         ///< old & operand
  fetch_or,          ///< old | operand
  fetch_xor,         ///< old ^ operand
  swap,              ///< operand
  compare_and_swap,  ///< operand if old equals `.compare`, else old
};

/// Options of `device::post_atomic`.
template <class Word>
struct post_atomic_options {
  /// Where to put the old word; null: it isn't wanted.
  Word* result = nullptr;
  Word compare = 0;                                        ///< of `compare_and_swap`
  completion_level complete_at = completion_level::local;  ///< as in `post_am_options`
  std::uint32_t device = any_device;                       ///< as in `post_am_options`
  void* context = nullptr;                                 ///< as in `post_am_options`
  bool allow_done = true;                                  ///< as in `post_am_options`
  bool allow_retry = true;                                 ///< as in `post_am_options`
};

/// Which way the data goes, for `post_comm`.
enum class direction : std::uint8_t {
  out,  ///< from here to the peer: a send, active message or put
  in,   ///< from the peer to here: a receive or get
};

/// Options of `device::post_comm`: those of the operation that it comes to.
struct post_comm_options {
  std::optional<remote_buffer> remote = std::nullopt;      ///< makes it a put or get
  std::optional<remote_completion> notify = std::nullopt;  ///< makes it an active message, or adds a signal
  std::uint64_t tag = 0;                                   ///< of a message, or of a put's or get's signal
  std::uint32_t engine = default_matching_engine;          ///< of a send or receive
  match_policy policy = match_policy::rank_tag;            ///< of a send or receive
  bool any_tag = false;                                    ///< of a receive
  completion_level complete_at = completion_level::local;  ///< as in `post_am_options`
  std::uint32_t device = any_device;                       ///< as in `post_am_options`
  void* context = nullptr;                                 ///< as in `post_am_options`
  bool allow_done = true;                                  ///< as in `post_am_options`
  bool allow_retry = true;                                 ///< as in `post_am_options`
};

/// What became of a receive that was to be cancelled.
enum class cancel_result : std::uint8_t {
  cancelled,  ///< its completion is signalled with the error `cancelled`
  too_late,   ///< it is complete, or has its message
  busy,       ///< make progress, and ask again
};

namespace detail {

/// Where a message goes, put together in one register.
class message_target {
 public:
  constexpr message_target(std::uint32_t peer, std::uint32_t device) noexcept
      : both_{peer | std::uint64_t{device} << 32} {}
  [[nodiscard]] constexpr std::uint32_t peer() const noexcept { return static_cast<std::uint32_t>(both_); }
  [[nodiscard]] constexpr std::uint32_t device() const noexcept { return static_cast<std::uint32_t>(both_ >> 32); }

 private:
  std::uint64_t both_;
};

/// Whose message a receive takes, in one register.
class message_source {
 public:
  constexpr message_source(std::uint32_t peer, match_policy policy) noexcept
      : both_{peer | static_cast<std::uint64_t>(policy) << 32} {}
  [[nodiscard]] constexpr std::uint32_t peer() const noexcept { return static_cast<std::uint32_t>(both_); }
  [[nodiscard]] constexpr match_policy policy() const noexcept { return static_cast<match_policy>(both_ >> 32); }

 private:
  std::uint64_t both_;
};

/// The same options, made anew: where a call that is inlined has two ways, only the one that needs them in memory
/// writes them there.
template <class Options>
[[nodiscard]] constexpr Options anew(const Options& in) noexcept {
  return in;
}

/// Whether a message with these options rides in its descriptor, and then is done or not posted at all.
template <class Options>
[[nodiscard]] constexpr bool is_plain(const_buffer_ref bytes, const Options& options) noexcept {
  return bytes.bytes() <= inline_bytes_max && options.allow_done && options.allow_retry &&
         options.complete_at == completion_level::local;
}

/// A remote atomic, whatever its type.
struct atomic_request {
  atomic_op op;
  std::uint32_t bytes;  // 4 or 8
  std::uint64_t operand;
  std::uint64_t compare;
  void* result;
};

struct post_atomic_word_options {
  completion_level complete_at;
  std::uint32_t device;
  void* context;
  bool allow_done;
  bool allow_retry;
};

}  // namespace detail
}  // namespace weft

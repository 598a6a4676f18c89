// SPDX-License-Identifier: BSD-3-Clause
// Options of the posting functions: one type for each function, filled by designated initializers; all defaults are
// here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <type_traits>

#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/detail/raw_record.hpp"
#include "weft/matching_engine.hpp"
#include "weft/region.hpp"

namespace weft {

/// The target's device with the index of the posting device, modulo the number of the target's devices.
inline constexpr std::uint32_t any_device = ~std::uint32_t{0};

/// When a post is complete.
enum class completion_level : std::uint8_t {
  local,      ///< the caller may use its buffer again
  delivered,  ///< the data is at the target: in the region, matched by a receive, or at the completion object's rank
};

/// The completion object that a put or get signals at its target, if any: `{.signal = {7}}` for id 7. All functions:
/// **Blocking**: never. **Threads**: any. **Errors**: none.
class signal_target : public std::optional<remote_completion> {
 public:
  /// None.
  constexpr signal_target() noexcept = default;
  /// None.
  constexpr signal_target(std::nullopt_t) noexcept {}
  /// The object with this id.
  constexpr signal_target(std::uint32_t id) noexcept : optional{remote_completion{id}} {}
  /// This one.
  constexpr signal_target(remote_completion to) noexcept : optional{to} {}
  /// This one, if any.
  constexpr signal_target(std::optional<remote_completion> to) noexcept : optional{to} {}
};

/// Options of `device::post_am`.
struct post_am_options {
  /// The tag of the message; the target finds it in the record.
  std::uint64_t tag = 0;
  /// The index of the target's device that receives the message, modulo the number of its devices.
  std::uint32_t device = any_device;
  /// When the post is complete.
  completion_level complete_at = completion_level::local;
  /// Copied into the completion record.
  void* context = nullptr;
  /// False: never `done`; the completion object is signalled even if the operation is complete at once.
  bool allow_done = true;
  /// False: never `retry`; an operation that cannot be posted now waits in a bounded backlog.
  bool allow_retry = true;
};

/// Options of `device::reply`.
struct reply_options {
  /// The tag of the reply; if not given, the tag of the message that it answers, or 0 where only a rank is named.
  std::optional<std::uint64_t> tag = std::nullopt;
  std::uint32_t device = any_device;  ///< see `post_am_options`
  /// Allows more bytes than a packet has (`WEFT_PACKET_BYTES`): the library copies them to the heap, and the target
  /// fetches them from there.
  bool copy_long = false;
  /// Signalled once, when the reply has been sent (a long one: fetched), or with an error. Null: none.
  completion* local = nullptr;
  void* context = nullptr;  ///< copied into the record for `.local`
};

/// Options of `device::post_send`.
struct post_send_options {
  /// Compared with the receive's. Messages of one tag have no order, unless the engine is `.ordered`: number them.
  std::uint64_t tag = 0;
  /// An engine that both ranks have made, named by its id or by the object.
  engine_ref engine{};
  match_policy policy = match_policy::rank_tag;            ///< which of rank and tag are compared
  completion_level complete_at = completion_level::local;  ///< delivered: a receive has matched it
  std::uint32_t device = any_device;                       ///< see `post_am_options`
  void* context = nullptr;                                 ///< see `post_am_options`
  bool allow_done = true;                                  ///< see `post_am_options`
  bool allow_retry = true;                                 ///< see `post_am_options`
};

/// Options of `device::post_recv`.
struct post_recv_options {
  /// Compared with the message's. Messages of one tag have no order, unless the engine is `.ordered`: number them.
  std::uint64_t tag = 0;
  engine_ref engine{};                           ///< see `post_send_options`
  match_policy policy = match_policy::rank_tag;  ///< which of rank and tag are compared
  /// Matches any tag in an ordered engine, as `MPI_ANY_TAG` does.
  bool any_tag = false;
  void* context = nullptr;  ///< copied into the completion record
  bool allow_retry = true;  ///< false: never `retry`
};

/// Options of `device::probe` and `device::peek`: those of a receive that would match the message.
struct probe_options {
  std::uint64_t tag = 0;                         ///< see `post_recv_options`
  engine_ref engine{};                           ///< see `post_send_options`
  match_policy policy = match_policy::rank_tag;  ///< see `post_recv_options`
  bool any_tag = false;                          ///< see `post_recv_options`
  /// If not null, the call says here whether it found nothing because another thread held the lock.
  bool* is_busy = nullptr;
};

/// Options of `device::post_put`.
struct post_put_options {
  /// The completion object that is signalled at the target, after the data has been written.
  signal_target signal = std::nullopt;
  std::uint64_t tag = 0;                                   ///< tag of the signal
  completion_level complete_at = completion_level::local;  ///< see `post_am_options`
  std::uint32_t device = any_device;                       ///< see `post_am_options`
  void* context = nullptr;                                 ///< see `post_am_options`
  bool allow_done = true;                                  ///< see `post_am_options`
  bool allow_retry = true;                                 ///< see `post_am_options`
};

/// Options of `device::post_get`.
struct post_get_options {
  /// The completion object that is signalled at the target, after the data has been read.
  signal_target signal = std::nullopt;
  std::uint64_t tag = 0;              ///< tag of the signal
  std::uint32_t device = any_device;  ///< see `post_am_options`
  void* context = nullptr;            ///< see `post_am_options`
  bool allow_done = true;             ///< see `post_am_options`
  bool allow_retry = true;            ///< see `post_am_options`
};

/// The operation of a remote atomic: the new value of the word `old` at the target.
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
  /// The library writes the old word here; null: the caller does not want it.
  Word* result = nullptr;
  Word compare = 0;                                        ///< operand of `compare_and_swap`
  completion_level complete_at = completion_level::local;  ///< see `post_am_options`
  std::uint32_t device = any_device;                       ///< see `post_am_options`
  void* context = nullptr;                                 ///< see `post_am_options`
  bool allow_done = true;                                  ///< see `post_am_options`
  bool allow_retry = true;                                 ///< see `post_am_options`
};

/// The direction of the data, for `post_comm`.
enum class direction : std::uint8_t {
  outgoing,                                       ///< moves from here to the peer: a send, active message or put
  incoming,                                       ///< moves from the peer to here: a receive or get
  out [[deprecated("use outgoing")]] = outgoing,  ///< the old name of `outgoing`
  in [[deprecated("use incoming")]] = incoming,   ///< the old name of `incoming`
};

/// Options of `device::post_comm`: those of the operation that it selects.
struct post_comm_options {
  std::optional<remote_buffer> remote = std::nullopt;      ///< makes it a put or get
  signal_target notify = std::nullopt;                     ///< makes it an active message, or adds a signal
  std::uint64_t tag = 0;                                   ///< tag of a message, or of a put's or get's signal
  engine_ref engine{};                                     ///< used by a send or receive
  match_policy policy = match_policy::rank_tag;            ///< used by a send or receive
  bool any_tag = false;                                    ///< used by a receive
  completion_level complete_at = completion_level::local;  ///< see `post_am_options`
  std::uint32_t device = any_device;                       ///< see `post_am_options`
  void* context = nullptr;                                 ///< see `post_am_options`
  bool allow_done = true;                                  ///< see `post_am_options`
  bool allow_retry = true;                                 ///< see `post_am_options`
};

/// Which operations a flush waits for.
enum class flush_scope : std::uint8_t {
  all,        ///< puts, atomics, replies, and messages with `.complete_at = delivered`
  one_sided,  ///< puts and atomics alone: a message that no receive has matched holds it up no longer
};

/// Options of `device::flush`.
struct flush_options {
  flush_scope scope = flush_scope::all;  ///< which operations it waits for
  /// Puts into this region alone, and atomics on it: of the rank that owns it. A few other regions may be counted with
  /// it.
  std::optional<remote_region> region = std::nullopt;
  /// The longest time to wait. Zero or less: the call does not wait.
  std::chrono::nanoseconds timeout = std::chrono::nanoseconds::max();
  /// A request to stop ends the wait, as the timeout does.
  std::stop_token stop = {};
};

/// Options of `device::post_flush`.
struct post_flush_options {
  flush_scope scope = flush_scope::all;                ///< see `flush_options`
  std::optional<remote_region> region = std::nullopt;  ///< see `flush_options`
  void* context = nullptr;                             ///< copied into the completion record
  bool allow_done = true;  ///< false: never `done`; `local` is signalled even if nothing is under way
};

/// The answer of `device::cancel`.
enum class cancel_result : std::uint8_t {
  cancelled,  ///< the completion is signalled with the error `cancelled`
  too_late,   ///< the operation is complete, or has matched; its completion says how it ended
  busy,       ///< not known yet: make progress, and cancel again
};

namespace detail {

/// Rank and device of a message's target, in one register.
class message_target {
 public:
  constexpr message_target(std::uint32_t peer, std::uint32_t device) noexcept
      : both_{peer | std::uint64_t{device} << 32} {}
  [[nodiscard]] constexpr std::uint32_t peer() const noexcept { return static_cast<std::uint32_t>(both_); }
  [[nodiscard]] constexpr std::uint32_t device() const noexcept { return static_cast<std::uint32_t>(both_ >> 32); }

 private:
  std::uint64_t both_;
};

/// Rank and policy of a receive, in one register.
class message_source {
 public:
  constexpr message_source(std::uint32_t peer, match_policy policy) noexcept
      : both_{peer | static_cast<std::uint64_t>(policy) << 32} {}
  [[nodiscard]] constexpr std::uint32_t peer() const noexcept { return static_cast<std::uint32_t>(both_); }
  [[nodiscard]] constexpr match_policy policy() const noexcept { return static_cast<match_policy>(both_ >> 32); }

 private:
  std::uint64_t both_;
};

/// The rest of a send's arguments, in memory, so that all others lie in registers.
struct rest_of_send {
  std::uint64_t tag;
  completion* local;
  void* context;
};

/// A copy of the options: if an inlined call has two branches, only the branch that needs the options in memory writes
/// them there.
template <class Options>
[[nodiscard]] constexpr Options copy_of(const Options& options) noexcept {
  return options;
}

/// Whether a message with these options is sent inline, in its cell; then the post answers *done* or *retry*.
template <class Options>
[[nodiscard]] constexpr bool goes_inline(const_buffer_ref bytes, const Options& options) noexcept {
  return bytes.bytes() <= inline_bytes_max && bytes.memory() == nullptr && options.allow_done && options.allow_retry &&
         options.complete_at == completion_level::local;
}

template <class Word>
concept atomic_word = std::is_integral_v<Word> &&(sizeof(Word) == 4 || sizeof(Word) == 8);

/// A remote atomic on a word of either size.
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

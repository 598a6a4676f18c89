// What can be said about a post beyond its arguments: one type for each posting function, filled by designated
// initializers, every default written here.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/completion.hpp"
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

struct post_am_options {
  /// Carried to the target as it is.
  std::uint64_t tag = 0;
  /// The target's device that is to receive the message; taken modulo their number.
  std::uint32_t device = any_device;
  completion_level complete_at = completion_level::local;
  /// Found again in the completion record.
  void* context = nullptr;
  /// False: never `done`; the completion object is signalled even when the operation is complete at once.
  bool allow_done = true;
  /// False: never `retry`; what can't be posted now waits in a bounded backlog.
  bool allow_retry = true;
};

struct post_send_options {
  std::uint64_t tag = 0;
  /// The engine's id; both ranks have made it.
  std::uint32_t engine = default_matching_engine;
  match_policy policy = match_policy::rank_tag;
  completion_level complete_at = completion_level::local;
  /// As for `post_am_options`, from here on.
  std::uint32_t device = any_device;
  void* context = nullptr;
  bool allow_done = true;
  bool allow_retry = true;
};

struct post_recv_options {
  std::uint64_t tag = 0;
  std::uint32_t engine = default_matching_engine;
  match_policy policy = match_policy::rank_tag;
  /// In an ordered engine: whatever the tag.
  bool any_tag = false;
  void* context = nullptr;
  bool allow_retry = true;
};

struct probe_options {
  std::uint64_t tag = 0;
  std::uint32_t engine = default_matching_engine;
  match_policy policy = match_policy::rank_tag;
  bool any_tag = false;
};

struct post_put_options {
  /// Whom to tell at the target, after the data is there, and with which tag.
  std::optional<remote_completion> signal = std::nullopt;
  std::uint64_t tag = 0;
  completion_level complete_at = completion_level::local;
  std::uint32_t device = any_device;
  void* context = nullptr;
  bool allow_done = true;
  bool allow_retry = true;
};

struct post_get_options {
  /// Whom to tell at the target, after the data has been read, and with which tag.
  std::optional<remote_completion> signal = std::nullopt;
  std::uint64_t tag = 0;
  std::uint32_t device = any_device;
  void* context = nullptr;
  bool allow_done = true;
  bool allow_retry = true;
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

template <class Word>
struct post_atomic_options {
  /// Where to put the old word; null: it isn't wanted.
  Word* result = nullptr;
  Word compare = 0;
  completion_level complete_at = completion_level::local;
  std::uint32_t device = any_device;
  void* context = nullptr;
  bool allow_done = true;
  bool allow_retry = true;
};

/// Which way the data goes, for `post_comm`.
enum class direction : std::uint8_t { out, in };

struct post_comm_options {
  std::optional<remote_buffer> remote = std::nullopt;      ///< makes it a put or get
  std::optional<remote_completion> notify = std::nullopt;  ///< makes it an active message, or adds a signal
  std::uint64_t tag = 0;
  std::uint32_t engine = default_matching_engine;
  match_policy policy = match_policy::rank_tag;
  bool any_tag = false;
  completion_level complete_at = completion_level::local;
  std::uint32_t device = any_device;
  void* context = nullptr;
  bool allow_done = true;
  bool allow_retry = true;
};

enum class cancel_result : std::uint8_t {
  cancelled,  ///< its completion is signalled with the error `cancelled`
  too_late,   ///< it is complete, or has its message
  busy,       ///< ask again
};

namespace detail {

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

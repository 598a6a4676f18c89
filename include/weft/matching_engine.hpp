// Matching engines: where sends meet receives (dang2016, 3.1; yan2025-lci, 4.2.8).
#pragma once

#include <cstdint>
#include <optional>

#include "weft/error.hpp"

namespace weft {

class runtime;
namespace core {
class runtime_state;
struct engine_state;
}  // namespace core

/// By what a send and a receive find each other; both say so, and one policy never meets another. Not for ordered
/// engines, where the receive alone leaves rank or tag open, by `any_rank` and `.any_tag`.
enum class match_policy : std::uint8_t {
  rank_tag,   ///< the same tag, and the receive names the sender's rank
  rank_only,  ///< the receive names the sender's rank; whatever the tag
  tag_only,   ///< the same tag; whoever sends it
  none,       ///< any send of this policy and any receive of this policy
};

/// What a message and a receive have in common, for an engine with a key of its own. Called for messages with their
/// source and tag, for receives with the rank and tag that they name, at the receiving rank.
///
/// **Blocking**: may not block. **Threads**: called by any thread. **Errors**: may not throw.
using match_key_function = std::uint64_t (*)(std::uint32_t rank, std::uint64_t tag) noexcept;

/// What kind of engine it is; all ranks say the same.
struct matching_engine_options {
  /// The name that all ranks give it, below `matching_engine_ids_max`, never used before in this runtime. Without one
  /// the engine gets the next number; then all ranks make their engines in the same order.
  std::optional<std::uint32_t> id = std::nullopt;
  /// Messages of one rank are matched in the order in which they were posted, whatever devices they took, and a
  /// receive may leave rank or tag open (`any_rank`, `.any_tag`). All ranks must say the same.
  bool ordered = false;
  /// Matches by this key instead of by policy. Not for ordered engines.
  match_key_function make_key = nullptr;
  /// Receives announce their buffers to the ranks that they name, and each send waits at its own rank for its receive,
  /// then writes into the buffer. For messages longer than a packet whose receives are posted before their sends: they
  /// wait for no answer, and where they go in packets there is one message less. What that is worth, and what it costs
  /// shorter ones: docs/decisions/receiver-first.md.
  ///
  /// Receives name rank and tag; those of one rank and tag meet the sends of one rank and tag in the order of the posts
  /// on both sides. Not for `.ordered` engines, nor with a key. All ranks must say the same.
  /// **Source**: dang2016, 2.3.2.
  bool receiver_first = false;
};

/// Ids from here on are the library's own.
inline constexpr std::uint32_t matching_engine_ids_max = 0x8000'0000;

/// The engine that every runtime has: unordered, by policy. **Source**: yan2025-lci, 4.3.2.
inline constexpr std::uint32_t default_matching_engine = 0xffff'ff00;

/// For receives of ordered engines: whoever sends it.
inline constexpr std::uint32_t any_rank = ~std::uint32_t{0};

/// A space of messages of its own. All ranks that send or receive in it make one with the same id and kind; a message
/// that comes before its engine is made waits for it.
class matching_engine {
 public:
  /// **Blocking**: briefly. **Threads**: any. **Errors**: `invalid_argument` for an id that is reserved or was used,
  /// for an ordered engine with a key, and for a receiver-first one that is ordered or has a key.
  explicit matching_engine(weft::runtime& owner, const matching_engine_options& options = {});

  /// Receives that are still posted in it end the process with a message: cancel them first; so do sends that wait in a
  /// receiver-first one. Messages that nobody has asked for are dropped and counted; receives that no send has met
  /// end with `unknown_completion`. **Blocking**: until calls of progress that other threads have begun are over;
  /// not inside a handler. **Threads**: none may be using it.
  ~matching_engine();

  matching_engine(const matching_engine&) = delete;
  matching_engine& operator=(const matching_engine&) = delete;

  /// The name that posts give it as `.engine`.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// Whether it was made with `.ordered = true`. For this and the next two: **Blocking**: never. **Threads**: any.
  [[nodiscard]] bool is_ordered() const noexcept;
  /// Whether it was made with `.receiver_first = true`.
  [[nodiscard]] bool is_receiver_first() const noexcept;
  /// The `.make_key` that it was made with; null where it matches by policy.
  [[nodiscard]] match_key_function make_key() const noexcept;

 private:
  weft::runtime* runtime_;
  core::engine_state* state_;
  std::uint32_t id_;
};

}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// Matching engines, in which sends match receives (dang2016, 3.1; yan2025-lci, 4.3.2).
#pragma once

#include <cstdint>
#include <optional>

#include "weft/error.hpp"

namespace weft {

class engine_ref;
class runtime;
namespace core {
class runtime_state;
struct engine_state;
}  // namespace core

/// Which of rank and tag a send and a receive compare. Both name a policy, and a send of one policy never matches a
/// receive of another. Ordered engines take `rank_tag` only: there the receive alone leaves rank or tag open, by
/// `any_rank` and `.any_tag`.
enum class match_policy : std::uint8_t {
  rank_tag,   ///< the receive names the sender's rank and the message's tag
  rank_only,  ///< the receive names the sender's rank; any tag matches
  tag_only,   ///< the receive names the message's tag; any rank matches
  none,       ///< any send of this policy matches any receive of this policy
};

/// Makes the key by which messages and receives match, for an engine with a key of its own. The receiving rank calls it
/// for messages with their source and tag, and for receives with the rank and tag that they name.
///
/// **Blocking**: may not block. **Threads**: called by any thread. **Errors**: may not throw.
using match_key_function = std::uint64_t (*)(std::uint32_t rank, std::uint64_t tag) noexcept;

/// The kind of an engine. All ranks must give one kind to an engine of one id.
struct matching_engine_options {
  /// Its id on all ranks: below `matching_engine_ids_max`, and never used before in this runtime. Without it the engine
  /// gets the next free number; then all ranks have to make their engines in one order.
  std::optional<std::uint32_t> id = std::nullopt;
  /// Messages of one rank are matched in the order in which they were posted, on any device, as in MPI. A receive may
  /// leave rank or tag open (`any_rank`, `.any_tag`).
  bool ordered = false;
  /// Matches by this key instead of by policy. Not for ordered engines.
  match_key_function make_key = nullptr;
  /// The receiver begins: each receive sends an RTR with its buffer's address to the rank that it names. Each send
  /// waits at its own rank for that RTR, then writes into the buffer and sends FIN. This saves an RTS for messages that
  /// are longer than a packet and whose receives are posted before their sends. Gains, and costs for shorter messages:
  /// docs/decisions/receiver-first.md.
  ///
  /// Receives name rank and tag. Receives and sends of one rank and tag match in the order of the posts on both sides.
  /// Not together with `.ordered` or `.make_key`.
  /// **Source**: dang2016, 2.3.2.
  bool receiver_first = false;
};

/// Ids from here on are the library's own.
inline constexpr std::uint32_t matching_engine_ids_max = 0x8000'0000;

/// The engine that every runtime has: unordered, matches by policy. **Source**: yan2025-lci, 4.3.2.
inline constexpr std::uint32_t default_matching_engine = 0xffff'ff00;

/// The engine of all groups (group.hpp), whose tags are the library's. In tables by ids, small ids of the program's own
/// never collide with the last one.
inline constexpr std::uint32_t group_matching_engine = 0xffff'ffff;

/// Lets receives of ordered engines match messages of every rank, as `MPI_ANY_SOURCE` does.
inline constexpr std::uint32_t any_rank = ~std::uint32_t{0};

/// A matching space of its own, as an MPI communicator's context is: sends of one engine never match receives of
/// another. All ranks that send or receive in it make one with one id and kind. A message that arrives before its
/// engine is made waits for it.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
class matching_engine {
 public:
  /// Makes an engine. **Blocking**: briefly, for memory and a lock. **Errors**: `invalid_argument` for an id that is
  /// reserved or was used, for an ordered engine with a key, and for a receiver-first engine that is ordered or has a
  /// key; `std::bad_alloc`.
  explicit matching_engine(weft::runtime& owner, const matching_engine_options& options = {});
  template <class WriteRuntimeAndMembersInOrderOf = matching_engine_options>
  explicit matching_engine(...) = delete;  // write a runtime, and members of matching_engine_options in their order

  /// Withdraws the engine. If receives are still posted in it, the process ends with a message: cancel them first. If
  /// an exception is leaving its scope, the destructor cancels them. This also holds for sends that wait in a
  /// receiver-first engine. Unexpected messages are dropped and counted. Receives of other ranks whose RTR has matched
  /// no send end with `unknown_completion`.
  ///
  /// **Blocking**: until calls of `progress()` return that other threads have begun; not inside a handler. **Threads**:
  /// none may be using it.
  ~matching_engine();

  matching_engine(const matching_engine&) = delete;
  matching_engine& operator=(const matching_engine&) = delete;

  /// Drops the messages that have arrived and that no receive has matched, and counts them, as the destructor does:
  /// their senders need not wait for a receive. In an engine without order this looks at the whole matching table, and
  /// leaves out what other threads have locked. Does nothing in a receiver-first engine. **Returns**: how many.
  /// **Threads**: as for posting on the default device.
  std::size_t drop_messages() noexcept;

  /// The id by which ranks name it. Posts name it as `.engine`, by this id or by the object.
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  /// Whether it was made with `.ordered = true`.
  [[nodiscard]] bool is_ordered() const noexcept;
  /// Whether it was made with `.receiver_first = true`.
  [[nodiscard]] bool is_receiver_first() const noexcept;
  /// The `.make_key` that it was made with; null if it matches by policy.
  [[nodiscard]] match_key_function make_key() const noexcept;

 private:
  friend class engine_ref;
  friend class run_loop;
  weft::runtime* runtime_;
  core::engine_state* state_;  // null once it has ended
  std::uint32_t id_;
};

/// The engine of a post: `{.engine = 4}` names the one of this rank with id 4, `{.engine = mine}` the object `mine`,
/// for which the post needs no look-up. All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
class engine_ref {
 public:
  /// The default engine.
  constexpr engine_ref() noexcept = default;
  /// The engine of the posting runtime with this id.
  constexpr engine_ref(std::uint32_t id) noexcept : id_{id} {}
  /// An engine by its state, which the library alone uses.
  engine_ref(std::uint32_t id, core::engine_state& object) noexcept : id_{id}, object_{&object} {}
  /// This engine, which must live as long as the post may use it.
  engine_ref(const matching_engine& engine) noexcept : id_{engine.id_}, object_{engine.state_} {}
  engine_ref(const matching_engine&& ended) = delete;

  /// The id that it names.
  [[nodiscard]] constexpr std::uint32_t id() const noexcept { return id_; }
  /// Whether it is the engine that every runtime has.
  [[nodiscard]] constexpr bool is_default() const noexcept { return id_ == default_matching_engine; }
  /// The engine's state; null where it is named by its id. Of use to the library only.
  [[nodiscard]] constexpr core::engine_state* object() const noexcept { return object_; }
  /// Whether both name one id.
  [[nodiscard]] friend constexpr bool operator==(const engine_ref& a, const engine_ref& b) noexcept {
    return a.id_ == b.id_;
  }

 private:
  std::uint32_t id_ = default_matching_engine;
  core::engine_state* object_ = nullptr;
};

}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// The checks of the user's arguments that several calls share, and the errors of wrong calls. Conditions are inlined;
// functions that throw are not, and a valid call never runs them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/api/refusals.hpp"
#include "core/message/payload.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/post_options.hpp"
#include "weft/region.hpp"

namespace weft::core {

/// That the buffer is one, or the list is one of buffers; and that their memory is of kinds of `state`.
template <class Buffer>
void check_buffer(const char* call, std::uint32_t peer, runtime_state& state, const payload<Buffer>& bytes) {
  if (bytes.is_bad()) [[unlikely]] {
    if (bytes.is_too_long()) refuse_long_list(call, peer);
    refuse_buffer(call, peer, bytes.bytes());
  }
  const memory_kinds& kinds = state.memory().kinds();
  if (!bytes.has_kinds() && !kinds.knows_addresses()) [[likely]]
    return;
  refused_memory found;
  const auto look = [&](const memory* memory, const void* address, std::uint64_t size) {
    found = kinds.check(memory, address, size);
    return found.why == memory_refusal::none;
  };
  if (!bytes.each_buffer(look)) refuse_memory(call, peer, found);
}
/// Checks also that rank `peer` exists.
template <class Buffer>
void check_buffer_and_rank(const char* call, std::uint32_t peer, runtime_state& state, const payload<Buffer>& bytes) {
  if (peer >= state.size()) [[unlikely]]
    refuse_rank(call, peer, state.size());
  check_buffer(call, peer, state, bytes);
}

/// The engine that a call names.
[[nodiscard]] inline engine_state& checked_engine(runtime_state& state, const char* call, engine_ref name) {
  if (engine_state* const object = name.object(); object != nullptr) {
    if (object->home != &state) [[unlikely]]
      refuse_foreign_engine(call, name.id());
    return *object;
  }
  const base::id_entry found = state.matching().engines().find_outside(name.id());
  // The engine of groups is named by its object, which the library alone has.
  if (found.state != base::presence::present || name.id() == group_matching_engine) [[unlikely]]
    refuse_engine(call, state.rank(), name.id());
  return *static_cast<engine_state*>(found.object);
}

inline void check_policy(const char* call, const engine_state& engine, match_policy policy) {
  if (policy > match_policy::none || (engine.is_ordered() && policy != match_policy::rank_tag)) [[unlikely]]
    refuse_policy(call, engine, policy);
}

/// That `bytes` bytes from `target` on are of a region of rank `peer`.
inline void check_region(const runtime_state& state, const char* call, std::uint32_t peer, const remote_buffer& target,
                         std::uint64_t bytes) {
  const remote_region& region = target.region;
  if (region.job != state.job().number() || region.rank != peer || region.name == 0 || target.offset > region.bytes ||
      bytes > region.bytes - target.offset) [[unlikely]] {
    refuse_region(state.job().number(), call, peer, target, bytes);
  }
}

/// The id of the completion object that a put or get signals at its target; `no_signal` where it signals none.
[[nodiscard]] std::uint32_t checked_signal(const char* call, std::uint32_t peer,
                                           const std::optional<remote_completion>& signal);

}  // namespace weft::core

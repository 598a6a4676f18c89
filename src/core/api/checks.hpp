// The checks of the user's arguments that several calls share, and the errors of wrong calls. Conditions are inlined;
// functions that throw are not, and a valid call never runs them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/runtime/runtime_state.hpp"
#include "weft/post_options.hpp"
#include "weft/region.hpp"

namespace weft::core {

/// **Errors**: invalid_argument, always: for a rank that the job does not have.
[[noreturn]] void refuse_rank(const char* call, std::uint32_t peer, std::uint32_t size);
/// **Errors**: invalid_argument, always: for a buffer that is null but has bytes, or has more than `buffer_bytes_max`.
[[noreturn]] void refuse_buffer(const char* call, std::uint32_t peer, std::uint64_t bytes);
/// **Errors**: invalid_argument, always: for a completion id that users may not name.
[[noreturn]] void refuse_completion_id(const char* call, std::uint32_t peer, std::uint32_t id);
/// **Errors**: invalid_argument, always: for a receive that leaves rank or tag open in a receiver-first engine.
[[noreturn]] void refuse_open(const char* call, std::uint32_t engine);
/// **Errors**: invalid_argument, always: for a policy that there is not, or that an ordered engine has not.
[[noreturn]] void refuse_policy(const char* call, const engine_state& engine, match_policy policy);
/// **Errors**: invalid_argument, always: for an engine that this rank has not made.
[[noreturn]] void refuse_engine(const char* call, std::uint32_t rank, std::uint32_t id);
/// **Errors**: region_refused, always: for bytes that are not of a region of rank `peer`.
[[noreturn]] void refuse_region(std::uint64_t job, const char* call, std::uint32_t peer, const remote_buffer& at,
                                std::uint64_t bytes);

/// That rank `peer` exists and the buffer is one.
template <class Payload>
void check_buffer(const char* call, std::uint32_t peer, std::uint32_t size, const Payload& bytes) {
  if (peer >= size) [[unlikely]]
    refuse_rank(call, peer, size);
  if (bytes.is_bad()) [[unlikely]]
    refuse_buffer(call, peer, bytes.bytes());
}

/// The engine that a call names.
[[nodiscard]] inline engine_state& checked_engine(runtime_state& state, const char* call, std::uint32_t id) {
  const base::id_entry found = state.engines().find_outside(id);
  if (found.state != base::presence::present) [[unlikely]]
    refuse_engine(call, state.rank(), id);
  return *static_cast<engine_state*>(found.object);
}

inline void check_policy(const char* call, const engine_state& engine, match_policy policy) {
  if (policy > match_policy::none || (engine.is_ordered() && policy != match_policy::rank_tag)) [[unlikely]]
    refuse_policy(call, engine, policy);
}

/// That `bytes` bytes from `at` on are of a region of rank `peer`.
inline void check_region(const runtime_state& state, const char* call, std::uint32_t peer, const remote_buffer& at,
                         std::uint64_t bytes) {
  const remote_region& region = at.region;
  if (region.job != state.job() || region.rank != peer || region.name == 0 || at.offset > region.bytes ||
      bytes > region.bytes - at.offset) [[unlikely]] {
    refuse_region(state.job(), call, peer, at, bytes);
  }
}

/// The id of the completion object that a put or get signals at its target; `no_signal` where it signals none.
[[nodiscard]] std::uint32_t checked_signal(const char* call, std::uint32_t peer,
                                           const std::optional<remote_completion>& signal);

}  // namespace weft::core

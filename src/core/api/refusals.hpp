// SPDX-License-Identifier: BSD-3-Clause
// The errors of wrong calls, which several calls share.
#pragma once

#include <cstdint>

#include "core/memory/memory_kinds.hpp"
#include "weft/post_options.hpp"
#include "weft/region.hpp"

namespace weft::core {

struct engine_state;

/// **Errors**: invalid_argument, always: for a rank that the job does not have.
[[noreturn]] void refuse_rank(const char* call, std::uint32_t peer, std::uint32_t size);
/// **Errors**: invalid_argument, always: for a buffer that is null but has bytes, or has more than `buffer_bytes_max`.
[[noreturn]] void refuse_buffer(const char* call, std::uint32_t peer, std::uint64_t bytes);
/// **Errors**: invalid_argument, always: for a list of more than `buffer_list_pieces_max` buffers.
[[noreturn]] void refuse_long_list(const char* call, std::uint32_t peer);
/// **Errors**: invalid_argument, always: for a buffer whose kind of memory can't be used.
[[noreturn]] void refuse_memory(const char* call, std::uint32_t peer, const refused_memory& why);
/// Why it can't be used.
[[nodiscard]] const char* reason_of(memory_refusal why) noexcept;
/// **Errors**: invalid_argument, always: for an allocator of such memory, given with the completion id `id`.
[[noreturn]] void refuse_memory_of_allocator(std::uint32_t id, const refused_memory& why);
/// **Errors**: invalid_argument, always: for a completion id that users may not name.
[[noreturn]] void refuse_completion_id(const char* call, std::uint32_t peer, std::uint32_t id);
/// **Errors**: invalid_argument, always: for a receive that leaves rank or tag open in a receiver-first engine.
[[noreturn]] void refuse_open(const char* call, std::uint32_t engine);
/// **Errors**: invalid_argument, always: for a policy that there is not, or that an ordered engine has not.
[[noreturn]] void refuse_policy(const char* call, const engine_state& engine, match_policy policy);
/// **Errors**: invalid_argument, always: for an engine that this rank has not made.
[[noreturn]] void refuse_engine(const char* call, std::uint32_t rank, std::uint32_t id);
/// **Errors**: invalid_argument, always: for the engine object with this id, which another runtime has made.
[[noreturn]] void refuse_foreign_engine(const char* call, std::uint32_t id);
/// **Errors**: region_refused, always: for bytes that are not of a region of rank `peer`.
[[noreturn]] void refuse_region(std::uint64_t job, const char* call, std::uint32_t peer, const remote_buffer& target,
                                std::uint64_t bytes);

/// **Errors**: region_refused, always: for a region that has ended.
[[noreturn]] void refuse_withdrawn(const char* call, std::uint32_t rank);

}  // namespace weft::core

// What wrong calls are told, whichever function they were meant for. Never on the way of a message that can be.
#pragma once

#include <cstdint>

namespace weft::core {

/// **Errors**: invalid_argument, always: for a rank that the job has not.
[[noreturn]] void refuse_rank(const char* call, std::uint32_t peer, std::uint32_t size);
/// **Errors**: invalid_argument, always: for a buffer that is null but has bytes, or more bytes than there can be.
[[noreturn]] void refuse_buffer(const char* call, std::uint32_t peer, std::uint64_t bytes);
/// **Errors**: invalid_argument, always: for a completion id that users may not name.
[[noreturn]] void refuse_completion_id(const char* call, std::uint32_t peer, std::uint32_t id);

}  // namespace weft::core

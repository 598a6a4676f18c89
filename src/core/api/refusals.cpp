#include "core/api/refusals.hpp"

#include <fmt/format.h>

#include "core/message/payload.hpp"
#include "weft/error.hpp"

namespace weft::core {

void refuse_rank(const char* call, std::uint32_t peer, std::uint32_t size) {
  throw error{errc::invalid_argument,
              fmt::format("{}: there is no rank {}; the job has ranks 0 to {}", call, peer, size - 1)};
}

void refuse_buffer(const char* call, std::uint32_t peer, std::uint64_t bytes) {
  if (bytes > buffer_bytes_max) {
    throw error{errc::invalid_argument,
                fmt::format("{} with rank {}: {} bytes can't be; was a negative size converted?", call, peer, bytes)};
  }
  throw error{errc::invalid_argument,
              fmt::format("{} with rank {}: a buffer is null but has bytes ({} in all)", call, peer, bytes)};
}

void refuse_completion_id(const char* call, std::uint32_t peer, std::uint32_t id) {
  throw error{errc::invalid_argument,
              fmt::format("{} to rank {}: completion id {} is reserved for the library", call, peer, id)};
}

}  // namespace weft::core

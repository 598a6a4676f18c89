// SPDX-License-Identifier: BSD-3-Clause
#include "coll/run/failed_message.hpp"

#include <cstring>

#include "weft/memory.hpp"

namespace weft::coll {

namespace {

struct zeros {
  static std::size_t pack(const void* /*address*/, std::uint64_t /*offset*/, std::byte* to,
                          std::size_t bytes) noexcept {
    std::memset(to, 0, bytes);
    return bytes;
  }
  static std::size_t unpack(void* /*address*/, std::uint64_t /*offset*/, const std::byte* /*from*/,
                            std::size_t /*bytes*/) noexcept {
    return 0;
  }
};

}  // namespace

const_buffer_ref failed_message(std::uint64_t bytes) {
  static const zeros shape;
  static const layout all{shape};
  return {nullptr, static_cast<std::size_t>(bytes + failed_message_excess), all};
}

}  // namespace weft::coll

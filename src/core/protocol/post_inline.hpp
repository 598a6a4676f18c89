// SPDX-License-Identifier: BSD-3-Clause
// Posting an inline message, which is done or not posted at all (detail::goes_inline).
#pragma once

#include <cstdint>

#include "base/assertion.hpp"
#include "core/device/device_state.hpp"

namespace weft::core::post_inline {

[[nodiscard]] [[gnu::cold, gnu::noinline]] status refused(device_state& dev, operation opcode, std::uint32_t peer,
                                                          net::post_result result);
/// Posts a message whose ring is not known yet, or that takes no ring. Takes the header's fields as arguments: in the
/// common case the header then need not lie in memory.
[[nodiscard]] status post_slow(device_state& dev, std::uint32_t peer, std::uint32_t device, std::uint32_t kind,
                               std::uint32_t id, std::uint64_t tag, detail::ordinary_bytes bytes);

/// Posts into the peer's ring if that is known, else by the endpoint.
[[nodiscard]] [[gnu::always_inline]] inline status post(device_state& dev, operation opcode, detail::message_target to,
                                                        const net::header& header, detail::ordinary_bytes bytes) {
  WEFT_ASSERT_CHECKED(bytes.bytes <= detail::inline_bytes_max);
  const auto count = static_cast<std::uint32_t>(bytes.bytes);
  if (net::outgoing* const ring = dev.routes().known_ring(to); ring != nullptr) [[likely]] {
    const net::post_result result = ring->push(dev.marks().is_shared(), header, bytes.address, count);
    if (result != net::post_result::ok) [[unlikely]]
      return refused(dev, opcode, to.peer(), result);
    dev.counts().posted(opcode, count);
    return status::done();
  }
  return post_slow(dev, to.peer(), to.device(), header.kind, header.id, header.tag, bytes);
}

/// The answer of a post of `bytes` bytes, which was sent if `result` is ok.
[[nodiscard]] [[gnu::always_inline]] inline status answer(device_state& dev, operation opcode, std::uint32_t bytes,
                                                          net::post_result result) noexcept {
  if (result != net::post_result::ok) [[unlikely]]
    return dev.counts().retried(status::retry(shortage_of(result)));
  dev.counts().posted(opcode, bytes);
  return status::done();
}

}  // namespace weft::core::post_inline

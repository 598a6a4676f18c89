// SPDX-License-Identifier: BSD-3-Clause
// Posting a message of more bytes than a cell holds, and no more than a packet holds, whose post may answer done.
//
// Cost: a packet of the thread's cache, the copy into it, and what an inline message costs. The general twin:
// `post_message::post_eager` (core/protocol/post_message.cpp).
#pragma once

#include <cstddef>
#include <cstring>

#include "base/fast_paths.hpp"
#include "core/device/device_state.hpp"
#include "core/message/payload.hpp"
#include "core/runtime/rank_memory.hpp"

namespace weft::core::fast {

/// Whether a message with these options may take this path, as far as its post can tell without its device.
template <class Options>
[[nodiscard]] bool may_go_in_packet(const source_payload& bytes, const Options& options) noexcept {
  return base::has_fast_paths && bytes.bytes() > detail::inline_bytes_max && bytes.is_ordinary() &&
         options.allow_done && options.complete_at == completion_level::local;
}

/// Whether the message was sent. False: nothing has happened. `begin(header)` completes the header once the ring has
/// room; false: don't send.
template <class Begin>
[[nodiscard]] [[gnu::always_inline]] inline bool post_in_packet(device_state& dev, operation opcode,
                                                                detail::message_target to, net::header header,
                                                                detail::ordinary_bytes bytes,
                                                                const Begin& begin) noexcept {
  packet_pool& packets = dev.memory().packets();
  if (bytes.bytes > packets.packet_bytes() || !dev.marks().is_unasked_rank(to.peer())) [[unlikely]]
    return false;
  net::outgoing* const ring = dev.routes().known_ring(to);
  if (ring == nullptr) [[unlikely]]
    return false;
  const std::uint32_t packet = packets.try_get_for(bytes.bytes);
  if (packet == packet_pool::none) [[unlikely]]
    return false;
  std::memcpy(packets.data(packet), bytes.address, bytes.bytes);
  const auto count = static_cast<std::uint32_t>(bytes.bytes);
  if (ring->push_packet(dev.marks().is_shared(), header, {packet, count}, [&] { return begin(header); }) !=
      net::post_result::ok) [[unlikely]] {
    packets.put(packet);
    return false;
  }
  dev.counts().went(path::one_packet, operation::message, count);
  dev.counts().posted(opcode, count);
  return true;
}

}  // namespace weft::core::fast

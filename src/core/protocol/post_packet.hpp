// SPDX-License-Identifier: BSD-3-Clause
// Sends and puts of packets that the user has filled. Active messages: `post_message::post_packet`.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/matching/engine_state.hpp"
#include "weft/packet.hpp"
#include "weft/region.hpp"

namespace weft::core::post_packet {

/// A packet, and how many of its bytes are sent.
struct filled_packet {
  std::uint32_t index;
  std::uint32_t bytes;
};

// Implement the functions of `device`; the arguments have been checked. If the answer is done, the packet is the
// library's.
[[nodiscard]] status send(device_state& dev, std::uint32_t peer, filled_packet packet, engine_state& engine,
                          const post_packet_send_options& options);
[[nodiscard]] status put(device_state& dev, std::uint32_t peer, filled_packet packet, const remote_buffer& to,
                         std::uint32_t signal, const post_packet_put_options& options);

}  // namespace weft::core::post_packet

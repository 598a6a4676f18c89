// SPDX-License-Identifier: BSD-3-Clause
// Sends and puts of packets that the user has filled.
//
// Cost of a send: one virtual call and what the transport does; no copy, but in a receiver-first engine. A put copies
// the bytes to where they are put, if this rank can write there; else they go by messages, from another packet.
#include "core/protocol/post_packet.hpp"

#include "core/message/choose_protocol.hpp"
#include "core/protocol/lost_message.hpp"
#include "core/protocol/one_sided_origin.hpp"
#include "core/protocol/post_inline.hpp"
#include "core/protocol/post_message.hpp"
#include "core/protocol/post_numbered.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::post_packet {

namespace {

const_buffer_ref bytes_of(device_state& dev, filled_packet packet) noexcept {
  return {dev.memory().packets().data(packet.index), packet.bytes};
}

// Tries once to send the packet as it is; its bytes inline if they are few.
net::post_result try_send(device_state& dev, std::uint32_t peer, std::uint32_t device, const net::header& header,
                          filled_packet packet) noexcept {
  packet_pool& packets = dev.memory().packets();
  device_state::endpoint& endpoint = dev.routes().endpoint_to(peer);
  net::post_result sent = net::post_result::full;
  if (choose_protocol(packet.bytes, packets.packet_bytes()) == message_protocol::inlined) {
    sent = endpoint.try_send_inline(peer, device, header, packets.data(packet.index), packet.bytes);
    if (sent == net::post_result::ok) packets.put(packet.index);
  } else {
    sent = endpoint.try_send(peer, device, header, packet.index, packet.bytes);
    if (sent == net::post_result::ok) dev.counts().went(path::one_packet, operation::message, packet.bytes);
  }
  return sent;
}

// The post signals `packet_returns`: the packet goes back now, or with the signal, or stays the caller's.
status packet_kept_by(device_state& dev, filled_packet packet, status answer) noexcept {
  if (answer.is_retry()) return answer;
  if (answer.is_done()) dev.memory().packets().put(packet.index);
  return status::done();
}

status send_to_ready_receive(device_state& dev, std::uint32_t peer, filled_packet packet, engine_state& engine,
                             const post_packet_send_options& options) {
  const status answer = post_message::post_send(dev,
                                                {.eager = wire::send,
                                                 .rts = wire::send_rts,
                                                 .opcode = operation::send,
                                                 .peer = peer,
                                                 .id = engine.id,
                                                 .tag = options.tag,
                                                 .bytes = bytes_of(dev, packet),
                                                 .local = &dev.runtime().own().packet_returns(),
                                                 .context = packet_returns::context_of(packet.index),
                                                 .device = options.device,
                                                 .policy = static_cast<std::uint32_t>(options.policy),
                                                 .delivered = false,
                                                 .allow_done = true,
                                                 .allow_retry = true},
                                                engine);
  return packet_kept_by(dev, packet, answer);
}

}  // namespace

status send(device_state& dev, std::uint32_t peer, filled_packet packet, engine_state& engine,
            const post_packet_send_options& options) {
  if (engine.receiver_first) return send_to_ready_receive(dev, peer, packet, engine, options);
  net::header header{.kind = kind_word(wire::send, static_cast<std::uint32_t>(options.policy)),
                     .id = engine.id,
                     .sequence = 0,
                     .tag = options.tag};
  net::post_result result = net::post_result::full;
  if (dev.routes().holds_posts_back(peer)) [[unlikely]] {
    // Replies to that rank go first.
  } else if (engine.is_ordered()) {
    result = net::post_result::busy;
    const auto send_numbered = [&](std::uint32_t number) {
      header.sequence = number;
      return result = try_send(dev, peer, options.device, header, packet);
    };
    if (post_numbered_now(dev, engine.numbers, {peer, options.device}, send_numbered) == numbered::uncredited)
      result = net::post_result::full;
  } else {
    result = try_send(dev, peer, options.device, header, packet);
  }
  return unless_cut_off(dev, operation::send, peer, post_inline::answer(dev, operation::send, packet.bytes, result));
}

status put(device_state& dev, std::uint32_t peer, filled_packet packet, const remote_buffer& to, std::uint32_t signal,
           const post_packet_put_options& options) {
  const const_buffer_ref bytes = bytes_of(dev, packet);
  const status answer = one_sided_origin::post_transfer(dev, {.opcode = operation::put,
                                                              .peer = peer,
                                                              .remote = to,
                                                              .bytes = packet.bytes,
                                                              .local = &dev.runtime().own().packet_returns(),
                                                              .context = packet_returns::context_of(packet.index),
                                                              .device = options.device,
                                                              .signal = signal,
                                                              .tag = options.tag,
                                                              .delivered = false,
                                                              .allow_done = true,
                                                              .allow_retry = true,
                                                              .source = bytes});
  return packet_kept_by(dev, packet, answer);
}

}  // namespace weft::core::post_packet

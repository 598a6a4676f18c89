// SPDX-License-Identifier: BSD-3-Clause
// A device's side of a transport: it posts and polls.
//
// Cost: one virtual call for a post and one for a poll.
#pragma once

#include <cstdint>

#include "net/memory_piece.hpp"
#include "net/message.hpp"
#include "weft/post_options.hpp"

namespace weft::net {

/// The outcome of a direct copy from or to a peer's memory.
enum class copy_result : std::uint8_t {
  done,
  unavailable,  // not possible between these two: send the bytes as messages
  bad_address,  // the memory is not there
  peer_gone,
};

struct route;  // net/ring/route.hpp

// The peer's device with the index of the sending device, modulo the number of the peer's devices.
using weft::any_device;

/// One device's part of a transport. Several threads may post if the endpoint is shared; the device serializes polling,
/// adopting and releasing.
template <class Sink>
class endpoint {
 public:
  virtual ~endpoint() = default;

  /// Sends at most `detail::inline_bytes_max` bytes, which may be overwritten on return.
  [[nodiscard]] virtual post_result try_send_inline(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                                    const void* payload, std::uint32_t bytes) noexcept = 0;

  /// Sends the first `bytes` bytes of packet `packet`, which belongs to the transport if the answer is ok.
  [[nodiscard]] virtual post_result try_send(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                             std::uint32_t packet, std::uint32_t bytes) noexcept = 0;

  /// Gives arrivals to `sink`, at most about `budget` from each peer; returns how many were consumed.
  virtual unsigned poll(Sink& sink, unsigned budget) noexcept = 0;

  /// Whether messages of `peer`, which has ended, may still wait for a poll. Serialized like `poll`.
  [[nodiscard]] virtual bool has_arrivals_from(std::uint32_t peer) const noexcept = 0;

  /// Whether a message that has arrived waits for a poll, where another thread can see it; else false. For the report
  /// on stuck jobs. **Threads**: any, while the endpoint lives.
  [[nodiscard]] virtual bool holds_unread() const noexcept = 0;

  /// Copies from the pieces `there` of the memory of `peer` into the pieces `here`. Both have as many bytes, and at
  /// most `copy_pieces_max` pieces.
  [[nodiscard]] virtual copy_result read_remote(std::uint32_t peer, memory_pieces here,
                                                memory_pieces there) noexcept = 0;

  /// Copies from the pieces `here` to the pieces `there` of the memory of `peer`; the copy is complete when this
  /// returns.
  [[nodiscard]] virtual copy_result write_remote(std::uint32_t peer, memory_pieces here,
                                                 memory_pieces there) noexcept = 0;

  /// The route of small messages to `peer` that name no device, if it is a ring that the posting thread may push into
  /// without a virtual call; else null. If the route has no ring yet, `try_send_inline` finds it.
  [[nodiscard]] virtual const route* route_to(std::uint32_t peer) const noexcept = 0;

  /// Polls also the arrivals of slot `slot`, whose device was destroyed, from now until `release`.
  virtual void adopt(std::uint32_t slot) noexcept = 0;
  virtual void release(std::uint32_t slot) noexcept = 0;

  /// Whether several threads may post from now on, as `open` says first. No thread uses the endpoint.
  virtual void set_shared(bool /*shared*/) noexcept {}
};

}  // namespace weft::net

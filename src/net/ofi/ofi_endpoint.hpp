// SPDX-License-Identifier: BSD-3-Clause
// A device's endpoint of the contract over a fabric: posts through its fabric endpoint, and delivers the messages that
// have arrived for it.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "net/ofi/ofi_transport.hpp"

namespace weft::net::ofi {

template <class Sink>
class ofi_endpoint final : public endpoint<Sink> {
 public:
  ofi_endpoint(ofi_transport& owner, std::uint32_t slot) : owner_{&owner}, slot_{slot}, served_{slot} {
    served_.reserve(slots_max);
  }

  [[nodiscard]] post_result try_send_inline(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                            const void* payload, std::uint32_t bytes) noexcept override {
    return owner_->post(slot_, peer, device, header, payload, bytes, false);
  }

  [[nodiscard]] post_result try_send(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                     std::uint32_t packet, std::uint32_t bytes) noexcept override {
    packet_store& packets = owner_->packets();
    const auto answer = owner_->post(slot_, peer, device, header, packets.data(packet), bytes, true);
    if (answer == post_result::ok) packets.put(packet);
    return answer;
  }

  unsigned poll(Sink& sink, unsigned budget) noexcept override {
    unsigned moved = 0;
    for (const std::uint32_t slot : served_) {
      owner_->progress(slot);
      inbound& mine = owner_->inbound_of(slot);
      if (!mine.lost.empty()) [[unlikely]]
        tell_losses(mine, sink);
      if (!mine.held.empty()) moved += deliver(mine, sink, budget);
      if (!mine.consumed.empty()) owner_->give_back(mine);
    }
    return moved;
  }

  // The fabric does not say that a peer has ended.
  [[nodiscard]] bool has_arrivals_from(std::uint32_t /*peer*/) const noexcept override { return false; }
  // The provider alone knows.
  [[nodiscard]] bool holds_unread() const noexcept override { return false; }

  [[nodiscard]] copy_result read_remote(std::uint32_t, memory_pieces, memory_pieces) noexcept override {
    return copy_result::unavailable;
  }
  [[nodiscard]] copy_result write_remote(std::uint32_t, memory_pieces, memory_pieces) noexcept override {
    return copy_result::unavailable;
  }

  [[nodiscard]] const route* route_to(std::uint32_t /*peer*/) const noexcept override { return nullptr; }

  void adopt(std::uint32_t slot) noexcept override { served_.push_back(slot); }
  void release(std::uint32_t slot) noexcept override { std::erase(served_, slot); }

 private:
  enum class outcome : std::uint8_t { refused, consumed, lent };

  // Cuts the peer off: messages sent before may be lost as well, of which the fabric says nothing, and the peer must
  // not take a later message for the next one.
  [[gnu::cold, gnu::noinline]] void tell_losses(inbound& mine, Sink& sink) noexcept {
    for (const fabric_channel::loss& each : mine.lost) {
      if constexpr (hears_of_losses<Sink>) sink.on_lost(each.peer, each.header, each.cause);
      owner_->cut_off(each.peer);
    }
    mine.lost.clear();
  }

  // Gives held messages to the sink, oldest first. A refused message stays; later ones of other ranks may overtake it.
  unsigned deliver(inbound& mine, Sink& sink, unsigned budget) noexcept {
    ++mine.polls;
    unsigned moved = 0;
    std::size_t kept = 0;
    for (const std::uint32_t buffer : mine.held) {
      const outcome answer = moved < budget ? try_deliver(mine, buffer, sink) : outcome::refused;
      if (answer == outcome::refused) {
        mine.held[kept++] = buffer;
        continue;
      }
      ++moved;
      if (answer == outcome::consumed) mine.consumed.push_back(buffer);
    }
    mine.held.resize(kept);
    return moved;
  }

  outcome try_deliver(inbound& mine, std::uint32_t buffer, Sink& sink) noexcept {
    fabric_channel& common = owner_->receiver();
    const std::byte* const from = common.received_at(buffer);
    wire_header header;
    std::memcpy(&header, from, sizeof header);  // checked on arrival, and not changed since
    if (mine.refused_in[header.source] == mine.polls) return outcome::refused;
    arrival message{header.source,
                    {header.kind, header.id, header.sequence, 0, header.tag},
                    from + sizeof header,
                    header.bytes,
                    nullptr};
    packet_store& packets = owner_->packets();
    std::uint32_t packet = packet_store::none;
    if (header.is_packet != 0) {
      packet = packets.try_get();
      if (packet != packet_store::none) {
        std::memcpy(packets.data(packet), message.payload, header.bytes);
        message.payload = packets.data(packet);
        message.owner = &packets.owner();
        packets.count_lent(1);
      } else {
        // Without a packet the receive buffer itself is lent: on both sides all packets may wait to be sent.
        message.owner = &common.buffer_owner();
        common.count_lent(1);
      }
    }
    if (sink.on_message(message)) {
      return header.is_packet != 0 && packet == packet_store::none ? outcome::lent : outcome::consumed;
    }
    if (packet != packet_store::none) {
      packets.count_lent(-1);
      packets.put(packet);
    } else if (header.is_packet != 0) {
      common.count_lent(-1);
    }
    mine.refused_in[header.source] = mine.polls;
    if constexpr (hears_of_full_targets<Sink>) sink.on_target_full();
    return outcome::refused;
  }

  ofi_transport* owner_;
  std::uint32_t slot_;
  std::vector<std::uint32_t> served_;
};

template <class Sink>
std::unique_ptr<endpoint<Sink>> ofi_transport::open(std::uint32_t slot, bool /*shared*/, std::uint32_t /*cells*/) {
  begin(slot);
  return std::make_unique<ofi_endpoint<Sink>>(*this, slot);
}

}  // namespace weft::net::ofi

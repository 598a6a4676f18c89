// SPDX-License-Identifier: BSD-3-Clause
// A device's endpoint for messages that a rank sends to itself.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "net/self/self_transport.hpp"

namespace weft::net {

template <class Sink>
class self_endpoint final : public endpoint<Sink> {
 public:
  self_endpoint(self_transport& owner, std::uint32_t slot)
      : owner_{&owner}, slot_{slot}, served_{&owner.loop_at(slot)} {
    served_.reserve(slots_max);
  }

  post_result try_send_inline(std::uint32_t, std::uint32_t device, const net::header& header, const void* payload,
                              std::uint32_t bytes) noexcept override {
    return push(device, header, payload, bytes, false);
  }

  post_result try_send(std::uint32_t, std::uint32_t device, const net::header& header, std::uint32_t packet,
                       std::uint32_t bytes) noexcept override {
    const packet_reference reference{packet, bytes};
    return push(device, header, &reference, sizeof reference, true);
  }

  unsigned poll(Sink& sink, unsigned budget) noexcept override {
    for (self_transport::loop* const ring : served_) {
      if (ring->receiver.has_cell()) return drain_all(sink, budget);
    }
    return 0;
  }

  [[nodiscard]] bool has_arrivals_from(std::uint32_t /*peer*/) const noexcept override { return false; }
  [[nodiscard]] bool holds_unread() const noexcept override { return owner_->loop_at(slot_).receiver.holds_unread(); }

  copy_result read_remote(std::uint32_t, memory_pieces here, memory_pieces there) noexcept override {
    copy_here(here, there);
    return copy_result::done;
  }

  copy_result write_remote(std::uint32_t, memory_pieces here, memory_pieces there) noexcept override {
    copy_here(there, here);
    return copy_result::done;
  }

  [[nodiscard]] const route* route_to(std::uint32_t /*peer*/) const noexcept override { return nullptr; }

  void adopt(std::uint32_t slot) noexcept override { served_.push_back(&owner_->loop_at(slot)); }
  void release(std::uint32_t slot) noexcept override { std::erase(served_, &owner_->loop_at(slot)); }

 private:
  post_result push(std::uint32_t device, const net::header& header, const void* payload, std::uint32_t bytes,
                   bool carries_packet) noexcept {
    self_transport::loop& ring = owner_->ring_to(device, slot_);
    // Any device of the rank may send into any ring, so what counts is whether the runtime is of one thread.
    const bool locks = !owner_->is_of_one_thread();
    if (locks && !ring.sending.try_enter()) return post_result::busy;
    const bool pushed = ring.sender.try_push(header, payload, bytes, carries_packet);
    if (locks) ring.sending.leave();
    sleep_word& receiver = owner_->sleep_word_of(ring);
    if (receiver.is_left_asleep()) [[unlikely]]
      wake_sleepers(receiver);
    return pushed ? post_result::ok : post_result::full;
  }

  // A separate function, so that a poll that finds nothing saves no registers.
  [[gnu::noinline]] unsigned drain_all(Sink& sink, unsigned budget) noexcept {
    unsigned moved = 0;
    for (self_transport::loop* const ring : served_) moved += drain(*ring, sink, budget);
    return moved;
  }

  unsigned drain(self_transport::loop& ring, Sink& sink, unsigned budget) noexcept {
    unsigned moved = 0;
    cell_info info;
    arrival message;
    message.source = owner_->rank();
    for (; moved < budget && ring.receiver.has_cell(info); ++moved) {
      message.payload = ring.receiver.read(info, message.header);
      message.bytes = info.bytes();
      message.owner = nullptr;
      if (info.carries_packet()) {
        packet_reference reference;
        std::memcpy(&reference, message.payload, sizeof reference);
        message.payload = owner_->packets().data(reference.index);
        message.bytes = reference.bytes;
        message.owner = &owner_->packets().owner();
        owner_->packets().count_lent(1);
      }
      if (!sink.on_message(message)) {
        if (message.owner != nullptr) owner_->packets().count_lent(-1);
        if constexpr (hears_of_full_targets<Sink>) sink.on_target_full();
        break;
      }
      ring.receiver.advance();
    }
    return moved;
  }

  self_transport* owner_;
  std::uint32_t slot_;
  std::vector<self_transport::loop*> served_;
};

template <class Sink>
std::unique_ptr<endpoint<Sink>> self_transport::open(std::uint32_t slot, bool shared, std::uint32_t cells) {
  if (slot == 0) is_of_one_thread_ = !shared;
  begin(slot, cells);
  return std::make_unique<self_endpoint<Sink>>(*this, slot);
}

}  // namespace weft::net

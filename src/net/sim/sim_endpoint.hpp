// SPDX-License-Identifier: BSD-3-Clause
// A device's side of a simulated network: an endpoint of the wrapped transport, with faults added.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "net/sim/sim_transport.hpp"

namespace weft::net::sim {

template <class Sink>
class sim_endpoint final : public endpoint<Sink> {
 public:
  sim_endpoint(sim_transport& owner, std::uint32_t index, std::unique_ptr<endpoint<inbox>> wrapped)
      : owner_{&owner}, own_{&owner.slot_at(index)}, wrapped_{std::move(wrapped)}, served_{own_} {
    served_.reserve(slots_max);
  }

  [[nodiscard]] post_result try_send_inline(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                            const void* payload, std::uint32_t bytes) noexcept override {
    const post_result answer = owner_->next_post(*own_);
    return answer != post_result::ok ? answer : wrapped_->try_send_inline(peer, device, header, payload, bytes);
  }

  [[nodiscard]] post_result try_send(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                     std::uint32_t packet, std::uint32_t bytes) noexcept override {
    const post_result answer = owner_->next_post(*own_);
    return answer != post_result::ok ? answer : wrapped_->try_send(peer, device, header, packet, bytes);
  }

  unsigned poll(Sink& sink, unsigned budget) noexcept override {
    wrapped_->poll(own_->arrivals, budget);
    unsigned moved = 0;
    for (slot* each : served_) moved += each->arrivals.deliver(sink, budget);
    return moved;
  }

  [[nodiscard]] bool has_arrivals_from(std::uint32_t peer) const noexcept override {
    return wrapped_->has_arrivals_from(peer) ||
           std::ranges::any_of(served_, [&](const slot* each) { return each->arrivals.holds_from(peer); });
  }

  // Messages that are held back are in no ring, but a device that is not polled holds none back.
  [[nodiscard]] bool holds_unread() const noexcept override { return wrapped_->holds_unread(); }

  [[nodiscard]] copy_result read_remote(std::uint32_t peer, memory_pieces here, memory_pieces there) noexcept override {
    const copy_result answer = owner_->next_copy(*own_, false);
    return answer != copy_result::done ? answer : wrapped_->read_remote(peer, here, there);
  }

  [[nodiscard]] copy_result write_remote(std::uint32_t peer, memory_pieces here,
                                         memory_pieces there) noexcept override {
    const copy_result answer = owner_->next_copy(*own_, true);
    return answer != copy_result::done ? answer : wrapped_->write_remote(peer, here, there);
  }

  [[nodiscard]] const route* route_to(std::uint32_t /*peer*/) const noexcept override { return nullptr; }

  void set_shared(bool shared) noexcept override { wrapped_->set_shared(shared); }
  void adopt(std::uint32_t index) noexcept override {
    served_.push_back(&owner_->slot_at(index));
    wrapped_->adopt(index);
  }
  void release(std::uint32_t index) noexcept override {
    std::erase(served_, &owner_->slot_at(index));
    wrapped_->release(index);
  }

 private:
  sim_transport* owner_;
  slot* own_;
  std::unique_ptr<endpoint<inbox>> wrapped_;
  std::vector<slot*> served_;
};

}  // namespace weft::net::sim

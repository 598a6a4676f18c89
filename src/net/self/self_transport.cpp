#include "net/self/self_transport.hpp"

#include <algorithm>

#include "base/config.hpp"

namespace weft::net {

self_transport::loop::loop(std::uint32_t cell_count)
    : cells(cell_count), sender{control, cells.data(), cell_count}, receiver{control, cells.data(), cell_count} {}

class self_transport::self_endpoint final : public endpoint {
 public:
  self_endpoint(self_transport& owner, std::uint32_t slot) : owner_{&owner}, slot_{slot}, served_{slot} {}

  post_result try_inject(std::uint32_t, std::uint32_t device, const header& what, const void* payload,
                         std::uint32_t bytes) noexcept override {
    return push(device, what, payload, bytes, false);
  }

  post_result try_send(std::uint32_t, std::uint32_t device, const header& what, std::uint32_t packet,
                       std::uint32_t bytes) noexcept override {
    const packet_reference reference{packet, bytes};
    return push(device, what, &reference, sizeof reference, true);
  }

  unsigned poll(arrival_sink& sink, unsigned budget) noexcept override {
    unsigned moved = 0;
    for (const std::uint32_t slot : served_) moved += drain(*owner_->slots_[slot].ring, sink, budget);
    return moved;
  }

  copy_result read_remote(std::uint32_t, void* target, std::uint64_t remote, std::size_t bytes) noexcept override {
    std::memcpy(target, reinterpret_cast<const void*>(remote), bytes);
    return copy_result::done;
  }

  void adopt(std::uint32_t slot) override { served_.push_back(slot); }
  void release(std::uint32_t slot) noexcept override { std::erase(served_, slot); }

 private:
  post_result push(std::uint32_t device, const header& what, const void* payload, std::uint32_t bytes,
                   bool carries_packet) noexcept {
    loop& ring = owner_->way(device, slot_);
    if (!ring.sending.try_enter()) return post_result::busy;
    const bool pushed = ring.sender.try_push(what, payload, bytes, carries_packet);
    ring.sending.leave();
    return pushed ? post_result::ok : post_result::full;
  }

  unsigned drain(loop& ring, arrival_sink& sink, unsigned budget) noexcept {
    unsigned moved = 0;
    cell_info info;
    arrival message;
    message.source = owner_->rank_;
    for (; moved < budget && ring.receiver.has_cell(); ++moved) {
      message.payload = ring.receiver.read(info, message.header);
      message.bytes = info.bytes();
      message.owner = nullptr;
      if (info.carries_packet()) {
        packet_reference reference;
        std::memcpy(&reference, message.payload, sizeof reference);
        message.payload = owner_->packets_->data(reference.index);
        message.bytes = reference.bytes;
        message.owner = &owner_->packets_->owner();
      }
      if (!sink.on_message(message)) break;
      ring.receiver.advance();
    }
    return moved;
  }

  self_transport* owner_;
  std::uint32_t slot_;
  std::vector<std::uint32_t> served_;
};

self_transport::self_transport(const transport_context& context)
    : rank_{context.boot.rank()}, ring_cells_{context.settings.ring_cells}, slots_(context.settings.devices_max) {}

self_transport::~self_transport() = default;

self_transport::loop& self_transport::way(std::uint32_t device, std::uint32_t own) noexcept {
  if (device == any_device || device == own) return *slots_[own].ring;
  const std::uint32_t named = device % static_cast<std::uint32_t>(slots_.size());
  // [self.way] acquire <- [self.open]: the ring of a live slot is there. Device 0's always is.
  return *slots_[slots_[named].live.load(std::memory_order_acquire) ? named : 0].ring;
}

std::unique_ptr<endpoint> self_transport::open(std::uint32_t slot, bool /*shared*/) {
  auto made = std::make_unique<self_endpoint>(*this, slot);
  if (!slots_[slot].ring) slots_[slot].ring = std::make_unique<loop>(ring_cells_);
  // [self.open] release -> [self.way]: the ring is made.
  slots_[slot].live.store(true, std::memory_order_release);
  return made;
}

void self_transport::close(std::uint32_t slot) noexcept {
  // [self.close] relaxed: who still finds it live uses its ring, which device 0 serves from now on.
  slots_[slot].live.store(false, std::memory_order_relaxed);
}

}  // namespace weft::net

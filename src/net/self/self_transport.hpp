// A rank's messages to itself: through a ring, so that no handler ever runs inside a post.
//
// Cost of a post: one exchange for the sending side's lock and one cache line.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/try_lock.hpp"
#include "net/cell_ring.hpp"
#include "net/transport.hpp"

namespace weft::net {

class self_transport final : public transport {
 public:
  explicit self_transport(const transport_context& context);
  ~self_transport() override;

  [[nodiscard]] const char* name() const noexcept override { return "self"; }
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override { return peer == rank_; }
  void use_packets(packet_store& packets) noexcept override { packets_ = &packets; }
  [[nodiscard]] std::unique_ptr<endpoint> open(std::uint32_t slot, bool shared) override;
  void close(std::uint32_t slot) noexcept override;

 private:
  class self_endpoint;

  // The ring of a device slot. It outlives its device, so that nothing under way is lost.
  struct loop {
    explicit loop(std::uint32_t cell_count);
    ring_control control;
    std::vector<cell> cells;
    base::try_lock sending;
    ring_sender sender;
    ring_receiver receiver;
  };
  struct device_ring {
    std::unique_ptr<loop> ring;
    std::atomic<bool> live{false};
  };

  // The ring for a message that names `device`, sent from the device in `own`.
  [[nodiscard]] loop& way(std::uint32_t device, std::uint32_t own) noexcept;

  std::uint32_t rank_;
  std::uint32_t ring_cells_;
  packet_store* packets_ = nullptr;
  std::vector<device_ring> slots_;
};

}  // namespace weft::net

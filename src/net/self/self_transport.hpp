// SPDX-License-Identifier: BSD-3-Clause
// A rank's messages to itself. They go through a ring, so that no handler ever runs inside a post.
//
// Cost of a post: one exchange for the sending side's lock, unless the runtime is of one thread, and one cache line.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <vector>

#include "base/try_lock.hpp"
#include "net/ring/cell_ring.hpp"
#include "net/transport.hpp"

namespace weft::net {

class self_transport final : public transport {
 public:
  static constexpr std::string_view listed_name = "self";
  static constexpr std::uint32_t ranks_min = 1;

  explicit self_transport(const transport_context& context);
  ~self_transport() override;

  [[nodiscard]] const char* name() const noexcept override { return "self"; }
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override { return peer == rank_; }
  [[nodiscard]] bool reaches_all() const noexcept override { return is_alone_; }
  [[nodiscard]] direct_copies copies(std::uint32_t /*peer*/) const noexcept override {
    return {true, "it is the rank's own memory"};
  }
  [[nodiscard]] memory_sharing* sharing() noexcept override { return nullptr; }
  void use_packets(packet_store& packets) noexcept override { packets_ = &packets; }
  void use_sleep_words(sleep_words& words) noexcept override { sleepers_ = &words; }
  [[nodiscard]] bool wakes_sleepers() const noexcept override { return true; }
  [[nodiscard]] std::uint32_t devices_max() const noexcept override { return devices_unbounded; }
  [[nodiscard]] std::size_t find_ended(std::span<ended_peer> /*out*/) noexcept override { return 0; }
  [[nodiscard]] transport_counts counted() const noexcept override { return {}; }
  template <class Sink>
  [[nodiscard]] std::unique_ptr<endpoint<Sink>> open(std::uint32_t slot, bool shared, std::uint32_t cells = 0);
  void go_live(std::uint32_t slot, bool only_named) noexcept override;
  void close(std::uint32_t slot) noexcept override;

  // The ring of a device slot. It outlives its device, so that no message in it is lost.
  struct loop {
    loop(std::uint32_t index, std::uint32_t cell_count);
    std::uint32_t slot;
    ring_control control;
    std::vector<cell> cells;
    base::try_lock sending;
    ring_sender sender;
    ring_receiver receiver;
  };

  // Functions that endpoints use.
  /// Whether one thread at a time uses the runtime, as its default device is not shared.
  [[nodiscard]] bool is_of_one_thread() const noexcept { return is_of_one_thread_; }
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] packet_store& packets() noexcept { return *packets_; }
  [[nodiscard]] loop& loop_at(std::uint32_t slot) noexcept { return *slots_[slot].ring; }
  /// The ring for a message that names `device`, sent from the device in slot `own`.
  [[nodiscard]] loop& ring_to(std::uint32_t device, std::uint32_t own) noexcept;
  [[nodiscard]] sleep_word& sleep_word_of(const loop& ring) noexcept { return (*sleepers_)[ring.slot % slots_max]; }
  /// Makes the ring of a slot if it has none yet, with `cells` cells; 0: as many as the setting says.
  void begin(std::uint32_t slot, std::uint32_t cells);

 private:
  struct device_ring {
    std::unique_ptr<loop> ring;
    std::atomic<bool> live{false};
  };

  std::uint32_t rank_;
  bool is_alone_;
  bool is_of_one_thread_ = false;  // written before any other device is made
  std::uint32_t ring_cells_;
  packet_store* packets_ = nullptr;
  sleep_words own_sleepers_;
  sleep_words* sleepers_ = &own_sleepers_;
  std::vector<device_ring> slots_;
};

}  // namespace weft::net

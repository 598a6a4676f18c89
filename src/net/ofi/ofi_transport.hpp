// SPDX-License-Identifier: BSD-3-Clause
// A runtime's side of a fabric: each device sends from a fabric endpoint of its own. All messages arrive at the fabric
// endpoint of device 0, and are passed to the devices that they are for.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/this_machine.hpp"
#include "net/ofi/fabric_channel.hpp"
#include "net/ofi/wire.hpp"
#include "net/transport.hpp"

namespace weft::net::ofi {

/// What has arrived for one device slot. It outlives its device.
struct inbound {
  explicit inbound(std::uint32_t ranks, std::uint32_t receives, std::size_t losses) : refused_in(ranks) {
    sorted.reserve(receives);
    held.reserve(receives);
    consumed.reserve(receives);
    lost.reserve(losses);
  }
  std::vector<std::uint32_t> sorted;       // receive buffers; under the lock of fabric endpoint 0
  std::vector<std::uint32_t> held;         // receive buffers that the thread that serves the slot has taken
  std::vector<std::uint32_t> consumed;     // buffers to be given back to fabric endpoint 0
  std::vector<std::uint64_t> refused_in;   // index: rank; the last poll in which the sink had no room for its message
  std::vector<fabric_channel::loss> lost;  // messages that fabric endpoint 0 or this slot's could not deliver
  std::uint64_t polls = 0;
};

class ofi_transport final : public transport {
 public:
  static constexpr std::string_view listed_name = "ofi";
  static constexpr std::uint32_t ranks_min = 2;

  /// Collective: rank 0 chooses the provider. **Errors**: transport_failed, boot_failed, out_of_memory.
  explicit ofi_transport(const transport_context& context);
  ~ofi_transport() override;

  [[nodiscard]] static std::vector<std::string> found_here();

  [[nodiscard]] const char* name() const noexcept override { return name_.c_str(); }
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override { return peer != self_; }
  [[nodiscard]] bool reaches_all() const noexcept override { return true; }
  [[nodiscard]] memory_sharing* sharing() noexcept override { return nullptr; }
  [[nodiscard]] direct_copies copies(std::uint32_t /*peer*/) const noexcept override {
    return {false, "this transport copies nothing directly"};
  }
  void use_packets(packet_store& packets) noexcept override { packets_ = &packets; }
  void use_sleep_words(sleep_words& /*nobody is woken*/) noexcept override {}
  [[nodiscard]] bool wakes_sleepers() const noexcept override { return false; }
  [[nodiscard]] std::uint32_t devices_max() const noexcept override { return devices_max_; }
  // The fabric does not say that a peer has ended.
  [[nodiscard]] std::size_t find_ended(std::span<ended_peer> /*out*/) noexcept override { return 0; }
  [[nodiscard]] transport_counts counted() const noexcept override;
  template <class Sink>
  [[nodiscard]] std::unique_ptr<endpoint<Sink>> open(std::uint32_t slot, bool shared, std::uint32_t cells = 0);
  void go_live(std::uint32_t slot, bool only_named) noexcept override;
  void close(std::uint32_t slot) noexcept override;

  // Functions that endpoints use.
  [[nodiscard]] packet_store& packets() noexcept { return *packets_; }
  [[nodiscard]] fabric_channel& endpoint_of(std::uint32_t slot) noexcept { return *slots_[slot].sender; }
  [[nodiscard]] inbound& inbound_of(std::uint32_t slot) noexcept { return *slots_[slot].arrivals; }
  [[nodiscard]] fabric_channel& receiver() noexcept { return *slots_[0].sender; }
  [[nodiscard]] wire_bounds bounds() const noexcept { return {job_, ranks_, self_, packet_bytes_}; }
  /// Makes the fabric endpoint and the rest of a slot if there is none yet; messages may come for it from now on.
  void begin(std::uint32_t slot);
  [[nodiscard]] post_result post(std::uint32_t slot, std::uint32_t peer, std::uint32_t device,
                                 const net::header& header, const void* payload, std::uint32_t bytes,
                                 bool is_packet) noexcept;
  /// Lets the fabric endpoint of a slot make progress, and takes what has arrived for it. **Threads**: the one that
  /// serves the slot.
  void progress(std::uint32_t slot) noexcept;
  /// Nothing is sent to `peer` any more: no message may arrive after one that was lost.
  void cut_off(std::uint32_t peer) noexcept;
  /// Gives the receive buffers of consumed messages back, if no other thread has the lock of fabric endpoint 0.
  void give_back(inbound& from) noexcept;

 private:
  struct device_slot {
    std::unique_ptr<fabric_channel> sender;  // the one of slot 0 also receives
    std::unique_ptr<inbound> arrivals;
    std::atomic<bool> is_made{false};
    std::atomic<bool> is_live{false};
    std::atomic<bool> posts{false};
  };

  [[nodiscard]] owned_info agree_on_provider(const transport_context& context);
  void learn_addresses(const transport_context& context);
  [[noreturn]] void refuse_packets(std::uint32_t other, const std::string& their_bytes) const;
  [[noreturn]] void refuse_loopback(std::uint32_t local, std::uint32_t other, bool is_reachable) const;
  void note_poster(std::uint32_t index) noexcept;
  void sort() noexcept;
  [[nodiscard]] std::uint32_t slot_for(const wire_header& header) const noexcept;

  std::uint32_t self_;
  std::uint32_t ranks_;
  std::uint32_t devices_max_;
  std::uint32_t packet_bytes_;
  std::uint64_t job_ = 0;
  endpoint_buffers buffers_;
  base::machine_mark mark_;  // other ranks look for it before the runtime's last fence
  owned_info info_;
  std::string name_;
  owned<fid_fabric> fabric_;
  std::vector<std::atomic<bool>> cut_off_;  // index: rank
  std::vector<std::string> addresses_;      // index: rank; addresses of fabric endpoint 0
  packet_store* packets_ = nullptr;
  std::vector<device_slot> slots_;
  std::atomic<std::uint32_t> live_count_{0};
  std::atomic<std::uint32_t> posters_{0};  // live devices but device 0 that have posted
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace weft::net::ofi

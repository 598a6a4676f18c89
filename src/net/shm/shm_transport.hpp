// SPDX-License-Identifier: BSD-3-Clause
// A runtime's side of shared memory: its segment, its peers, its slots, and the packets that peers hold.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/try_lock.hpp"
#include "net/shm/layout.hpp"
#include "net/shm/peer.hpp"
#include "net/shm/segment.hpp"
#include "net/shm/slot.hpp"
#include "net/transport.hpp"

namespace weft::net::shm {

class shm_transport final : public transport, public memory_sharing {
 public:
  static constexpr std::string_view listed_name = "shm";
  static constexpr std::uint32_t ranks_min = 2;

  /// Makes the segment and meets the peers on this machine; collective. **Errors**: transport_failed, out_of_memory.
  explicit shm_transport(const transport_context& context);
  ~shm_transport() override;

  [[nodiscard]] const char* name() const noexcept override { return "shm"; }
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override {
    return peer != self_ && peers_[peer]->is_attached();
  }
  [[nodiscard]] bool reaches_all() const noexcept override { return reaches_all_; }
  [[nodiscard]] std::byte* packet_memory() noexcept override { return base() + layout_.packets; }
  [[nodiscard]] std::byte* shared_memory(std::uint32_t rank) noexcept override {
    if (rank == self_) return base() + layout_.shared;
    return peers_[rank]->is_attached() ? peers_[rank]->shared_memory() : nullptr;
  }
  [[nodiscard]] std::size_t shared_bytes() const noexcept override { return layout_.shape.shared_bytes; }
  [[nodiscard]] direct_copies copies(std::uint32_t peer) const noexcept override { return peers_[peer]->copies(); }
  void use_packets(packet_store& packets) noexcept override { packets_ = &packets; }
  unsigned reclaim_packets() noexcept override;
  [[nodiscard]] sleep_words& shared_sleep_words() noexcept override { return header().sleepers; }
  [[nodiscard]] memory_sharing* sharing() noexcept override { return this; }
  void use_sleep_words(sleep_words& /*its own*/) noexcept override {}
  [[nodiscard]] bool wakes_sleepers() const noexcept override { return true; }
  [[nodiscard]] const base::processor_set& processors_of(std::uint32_t rank) const noexcept override {
    return peers_[rank]->processors();
  }
  [[nodiscard]] std::uint32_t devices_max() const noexcept override { return layout_.shape.devices_max; }
  template <class Sink>
  [[nodiscard]] std::unique_ptr<endpoint<Sink>> open(std::uint32_t index, bool shared, std::uint32_t cells = 0);
  [[nodiscard]] std::size_t find_ended(std::span<ended_peer> out) noexcept override;
  [[nodiscard]] transport_counts counted() const noexcept override {
    transport_counts out{.refused = refused_.load(std::memory_order_relaxed)};  // [stat]
    for (const auto& each : peers_) out.payloads_out += each->owed();
    return out;
  }
  void go_live(std::uint32_t index, bool only_named) noexcept override;
  void close(std::uint32_t index) noexcept override;

  // Functions that endpoints use.
  /// Makes the slot if there is none yet, with rings of `cells` cells; messages may come for it from now on.
  [[nodiscard]] slot& begin(std::uint32_t index, std::uint32_t cells);
  [[nodiscard]] slot& slot_at(std::uint32_t index) noexcept { return *slots_[index]; }
  [[nodiscard]] peer& peer_at(std::uint32_t rank) noexcept { return *peers_[rank]; }
  /// How often peers have opened a ring to a device of this rank.
  [[nodiscard]] const std::atomic<std::uint64_t>& opened() const noexcept { return header().opened; }
  [[nodiscard]] const layout& where() const noexcept { return layout_; }
  [[nodiscard]] packet_store& packets() noexcept { return *packets_; }
  [[nodiscard]] std::uint32_t foreign_packets_max() const noexcept { return foreign_packets_max_; }
  void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }  // [stat]

 private:
  [[nodiscard]] std::byte* base() const noexcept { return segment_.memory(); }
  [[nodiscard]] segment_header& header() const noexcept { return *reinterpret_cast<segment_header*>(base()); }
  unsigned reclaim_from(std::uint32_t rank) noexcept;
  unsigned reclaim_from_ended(std::uint32_t rank) noexcept;
  void watch_peers();

  std::uint32_t self_;
  bool reaches_all_ = false;
  layout layout_;
  segment segment_;
  std::uint64_t probe_word_;  // peers read it to find out whether they can read this process
  std::vector<std::unique_ptr<peer>> peers_;
  std::array<std::unique_ptr<slot>, slots_max> slots_;
  packet_store* packets_ = nullptr;
  std::uint32_t foreign_packets_max_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> lent_to_;  // index: packet; the rank that has it, plus 1
  base::try_lock reclaiming_;
  std::vector<std::uint32_t> reclaimed_;  // index: rank; position of its next return
  // The connections of peers that have not ended, as far as is known, and their ranks.
  std::vector<pollfd> connections_;
  std::vector<std::uint32_t> connected_ranks_;
  std::atomic<std::uint64_t> refused_{0};
};

}  // namespace weft::net::shm

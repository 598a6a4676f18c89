// SPDX-License-Identifier: BSD-3-Clause
// A runtime's side of a simulated network: the transport that it wraps, and the messages held back for each device
// slot.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/sim/inbox.hpp"
#include "net/sim/plan.hpp"
#include "net/transport.hpp"

namespace weft::net::sim {

/// The dice of one device slot, and its arrivals.
struct slot {
  slot(const plan& plan, std::uint64_t seed, std::uint32_t ranks, tally& faults)
      : posts{seed}, arrivals{plan, ~seed, ranks, faults} {}

  dice posts;                        // dice of posts and direct copies
  std::atomic<bool> refused{false};  // whether the last post was refused
  inbox arrivals;
};

class sim_transport final : public transport, public memory_sharing {
 public:
  /// Collective: the ranks agree on a seed.
  sim_transport(const transport_context& context, std::unique_ptr<transport> wrapped);
  ~sim_transport() override;

  [[nodiscard]] const char* name() const noexcept override { return name_.c_str(); }
  [[nodiscard]] bool reaches(std::uint32_t peer) const noexcept override { return wrapped_->reaches(peer); }
  [[nodiscard]] bool reaches_all() const noexcept override { return wrapped_->reaches_all(); }
  [[nodiscard]] memory_sharing* sharing() noexcept override { return wrapped_->sharing() != nullptr ? this : nullptr; }
  [[nodiscard]] direct_copies copies(std::uint32_t peer) const noexcept override { return wrapped_->copies(peer); }
  void use_packets(packet_store& packets) noexcept override { wrapped_->use_packets(packets); }
  void use_sleep_words(sleep_words& words) noexcept override { wrapped_->use_sleep_words(words); }
  [[nodiscard]] bool wakes_sleepers() const noexcept override { return false; }
  [[nodiscard]] std::uint32_t devices_max() const noexcept override { return wrapped_->devices_max(); }
  [[nodiscard]] std::size_t find_ended(std::span<ended_peer> out) noexcept override {
    return wrapped_->find_ended(out);
  }
  [[nodiscard]] transport_counts counted() const noexcept override;
  void go_live(std::uint32_t index, bool only_named) noexcept override { wrapped_->go_live(index, only_named); }
  void close(std::uint32_t index) noexcept override { wrapped_->close(index); }

  // Forwarded to the wrapped transport, if it shares memory.
  [[nodiscard]] std::byte* packet_memory() noexcept override { return wrapped_->sharing()->packet_memory(); }
  unsigned reclaim_packets() noexcept override { return wrapped_->sharing()->reclaim_packets(); }
  [[nodiscard]] std::byte* shared_memory(std::uint32_t rank) noexcept override;
  [[nodiscard]] std::size_t shared_bytes() const noexcept override { return wrapped_->sharing()->shared_bytes(); }
  [[nodiscard]] sleep_words& shared_sleep_words() noexcept override {
    return wrapped_->sharing()->shared_sleep_words();
  }
  [[nodiscard]] const base::processor_set& processors_of(std::uint32_t rank) const noexcept override {
    return wrapped_->sharing()->processors_of(rank);
  }

  // Functions that endpoints use.
  [[nodiscard]] transport& wrapped() noexcept { return *wrapped_; }
  [[nodiscard]] const plan& fault_plan() const noexcept { return plan_; }
  [[nodiscard]] tally& counts() noexcept { return tally_; }
  /// Makes the slot for its first device; the slot outlives the device.
  [[nodiscard]] slot& slot_at(std::uint32_t index);
  /// The fault that the next direct copy answers; `done`: none, try the copy.
  [[nodiscard]] copy_result next_copy(slot& from, bool write) noexcept;
  /// The fault that the next post answers; `ok`: none, try the post.
  [[nodiscard]] post_result next_post(slot& from) noexcept;

 private:
  std::unique_ptr<transport> wrapped_;
  std::string name_;
  std::uint32_t rank_;
  std::uint32_t ranks_;
  plan plan_;
  std::uint64_t seed_;  // seed of this rank and transport
  tally tally_;
  std::atomic<std::uint64_t> reads_{0};
  std::atomic<std::uint64_t> writes_{0};
  std::mutex opening_;
  std::vector<std::unique_ptr<slot>> slots_;
};

}  // namespace weft::net::sim

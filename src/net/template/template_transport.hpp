// SPDX-License-Identifier: BSD-3-Clause
// A transport to copy: one runtime's part. It reaches no peer, as the contract allows.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "net/transport.hpp"

namespace weft::net {

class template_transport final : public transport {
 public:
  static constexpr std::string_view listed_name = "template";
  static constexpr std::uint32_t ranks_min = 2;

  /// Collective: exchange addresses by `context.boot`, within `settings.boot_timeout_s`.
  explicit template_transport(const transport_context& context) noexcept;

  [[nodiscard]] const char* name() const noexcept override { return "template"; }
  /// The ranks that have answered at set-up. The runtime uses the first transport of its list that reaches a peer.
  [[nodiscard]] bool reaches(std::uint32_t /*peer*/) const noexcept override { return false; }
  /// Answers alike at all ranks.
  [[nodiscard]] bool reaches_all() const noexcept override { return false; }
  [[nodiscard]] memory_sharing* sharing() noexcept override { return nullptr; }
  void use_packets(packet_store& packets) noexcept override { packets_ = &packets; }
  [[nodiscard]] direct_copies copies(std::uint32_t /*peer*/) const noexcept override {
    return {false, "the template copies nothing"};
  }
  /// A transport whose messages to its own rank take another route than a poll wakes the sleepers of these words.
  void use_sleep_words(sleep_words& /*words*/) noexcept override {}
  [[nodiscard]] bool wakes_sleepers() const noexcept override { return false; }
  [[nodiscard]] std::uint32_t devices_max() const noexcept override { return devices_unbounded; }
  /// Each rank once, when it is known to have ended; after that its posts are refused.
  [[nodiscard]] std::size_t find_ended(std::span<ended_peer> /*out*/) noexcept override { return 0; }
  /// Count impossible messages as `refused`, and payloads in memory of the transport's own that sinks hold.
  [[nodiscard]] transport_counts counted() const noexcept override { return {}; }

  /// Slot 0 is opened first and stays. What it throws leaves nothing that a message could be lost in.
  template <class Sink>
  [[nodiscard]] std::unique_ptr<endpoint<Sink>> open(std::uint32_t slot, bool shared, std::uint32_t cells = 0);
  void go_live(std::uint32_t /*slot*/, bool /*only_named*/) noexcept override {}
  void close(std::uint32_t /*slot*/) noexcept override {}

  // Functions that endpoints use.
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] packet_store& packets() noexcept { return *packets_; }

 private:
  std::uint32_t rank_;
  packet_store* packets_ = nullptr;
};

}  // namespace weft::net

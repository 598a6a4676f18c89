// SPDX-License-Identifier: BSD-3-Clause
// Two endpoints of a transport that reach each other, with pools that notice packets lost or given back twice.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/config.hpp"
#include "boot/bootstrap.hpp"
#include "contract/kinds.hpp"
#include "contract/sink.hpp"
#include "net/packet_stride.hpp"
#include "net/transports.hpp"

namespace weft::contract {

inline constexpr std::uint32_t packet_count = 16;
inline constexpr std::uint32_t packet_bytes = 512;
inline constexpr std::uint32_t ring_cells = 8;
inline constexpr std::uint32_t devices_max = 4;

[[nodiscard]] inline base::settings small_settings() {
  base::settings out;
  out.packet_count = packet_count;
  out.packet_bytes = packet_bytes;
  out.ring_cells = ring_cells;
  out.devices_max = devices_max;
  out.foreign_packets_max = packet_count;
  out.boot_timeout_s = 30;
  return out;
}

/// A pool in which each packet is in exactly one place.
class packet_pool final : public net::packet_store, private detail::payload_owner {
 public:
  explicit packet_pool(net::transport& lender) : lender_{lender.sharing()} {
    if (lender_ != nullptr) {
      memory_ = lender_->packet_memory();
    } else {
      own_.resize(net::packet_stride(packet_bytes) * packet_count);
      memory_ = own_.data();
    }
    free_.fill(true);
    lender.use_packets(*this);
  }

  [[nodiscard]] std::uint32_t try_get() noexcept override {
    if (lender_ != nullptr) lender_->reclaim_packets();
    const std::scoped_lock lock{mutex_};
    for (std::uint32_t index = 0; index < packet_count; ++index) {
      if (std::exchange(free_[index], false)) return index;
    }
    return none;
  }

  void put(std::uint32_t index) noexcept override {
    const std::scoped_lock lock{mutex_};
    EXPECT_FALSE(free_[index]) << "packet " << index << " came back twice";
    free_[index] = true;
  }

  [[nodiscard]] std::byte* data(std::uint32_t index) const noexcept override {
    return memory_ + index * net::packet_stride(packet_bytes);
  }
  [[nodiscard]] detail::payload_owner& owner() noexcept override { return *this; }
  void count_lent(std::int32_t change) noexcept override {
    const std::scoped_lock lock{mutex_};
    lent_ += change;
  }
  [[nodiscard]] std::int32_t lent() {
    const std::scoped_lock lock{mutex_};
    return lent_;
  }

  /// Packets that are here, packets that peers have returned included.
  [[nodiscard]] std::size_t free_count() {
    if (lender_ != nullptr) lender_->reclaim_packets();
    const std::scoped_lock lock{mutex_};
    return static_cast<std::size_t>(std::count(free_.begin(), free_.end(), true));
  }

 private:
  void release(void* payload, std::size_t /*bytes*/) noexcept override {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(payload) - memory_);
    count_lent(-1);
    put(static_cast<std::uint32_t>(offset / net::packet_stride(packet_bytes)));
  }

  net::memory_sharing* lender_;  // null: no rank keeps packets
  std::byte* memory_;
  std::vector<std::byte> own_;
  std::mutex mutex_;
  std::array<bool, packet_count> free_{};
  std::int32_t lent_ = 0;
};

/// Which functions the sink has that a transport sees.
enum class seen_sink : std::uint8_t { least, whole };

/// An endpoint that hands its arrivals to either kind of sink.
class endpoint {
 public:
  endpoint(net::transport& of, std::uint32_t slot, seen_sink seen);

  [[nodiscard]] net::post_result try_send_inline(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                                 const void* payload, std::uint32_t bytes) {
    return std::visit([&](auto& to) { return to->try_send_inline(peer, device, header, payload, bytes); }, inner_);
  }
  [[nodiscard]] net::post_result try_send(std::uint32_t peer, std::uint32_t device, const net::header& header,
                                          std::uint32_t packet, std::uint32_t bytes) {
    return std::visit([&](auto& to) { return to->try_send(peer, device, header, packet, bytes); }, inner_);
  }
  unsigned poll(sink& into, unsigned budget) {
    unsigned moved = 0;
    if (auto* const whole = std::get_if<std::unique_ptr<net::endpoint<sink>>>(&inner_)) {
      moved = (*whole)->poll(into, budget);
    } else {
      least_sink least{into};
      moved = std::get<std::unique_ptr<net::endpoint<least_sink>>>(inner_)->poll(least, budget);
    }
    into.expect_settled();
    return moved;
  }
  [[nodiscard]] net::copy_result read_remote(std::uint32_t peer, net::memory_pieces here, net::memory_pieces there) {
    return std::visit([&](auto& to) { return to->read_remote(peer, here, there); }, inner_);
  }
  [[nodiscard]] net::copy_result write_remote(std::uint32_t peer, net::memory_pieces here, net::memory_pieces there) {
    return std::visit([&](auto& to) { return to->write_remote(peer, here, there); }, inner_);
  }
  // The same for one piece at both sides.
  [[nodiscard]] net::copy_result read_remote(std::uint32_t peer, void* target, const void* remote, std::size_t bytes) {
    const net::memory_piece here = net::piece_of(target, bytes), there = net::piece_of(remote, bytes);
    return read_remote(peer, {&here, 1}, {&there, 1});
  }
  [[nodiscard]] net::copy_result write_remote(std::uint32_t peer, const void* source, void* remote, std::size_t bytes) {
    const net::memory_piece here = net::piece_of(source, bytes), there = net::piece_of(remote, bytes);
    return write_remote(peer, {&here, 1}, {&there, 1});
  }
  [[nodiscard]] const net::route* route_to(std::uint32_t peer) const {
    return std::visit([&](auto& to) { return to->route_to(peer); }, inner_);
  }
  void adopt(std::uint32_t slot) {
    std::visit([&](auto& to) { to->adopt(slot); }, inner_);
  }
  void release(std::uint32_t slot) {
    std::visit([&](auto& to) { to->release(slot); }, inner_);
  }

 private:
  std::variant<std::unique_ptr<net::endpoint<sink>>, std::unique_ptr<net::endpoint<least_sink>>> inner_;
};

/// A transport with its pool, and with sleep words that the test can see.
struct side {
  explicit side(std::unique_ptr<net::transport> made)
      : owned{std::move(made)},
        transport{*owned},
        packets{transport},
        sleepers{transport.sharing() != nullptr ? transport.sharing()->shared_sleep_words() : own_sleepers} {
    transport.use_sleep_words(sleepers);
  }

  [[nodiscard]] std::unique_ptr<endpoint> open(std::uint32_t slot, seen_sink seen = seen_sink::least) {
    return std::make_unique<endpoint>(transport, slot, seen);
  }

  /// Payloads that are neither in a message under way nor given back.
  [[nodiscard]] std::int64_t payloads_out() { return transport.counted().payloads_out + packets.lent(); }

  net::sleep_words own_sleepers;
  std::unique_ptr<net::transport> owned;
  net::transport& transport;
  packet_pool packets;
  net::sleep_words& sleepers;
};

/// Two ranks, threads of this process while they meet; shared memory is one mapping of each segment. One rank where a
/// transport reaches only itself.
class test_job {
 public:
  explicit test_job(const kind& tested, const base::settings& settings = small_settings())
      : kind_{tested}, settings_{settings}, boots_{boot::make_local_job(tested.promised.reaches_itself ? 1 : 2)} {
    if (!tested.provider.empty()) {
      remove_files_of_namesakes();
      settings_.ofi_provider = tested.provider;
    }
    // Both to their end, whatever one of them throws: the test then reports the exception.
    std::future<std::unique_ptr<side>> other;
    if (target() != sender()) other = std::async(std::launch::async, [&] { return make_side(target()); });
    sides_[sender()] = make_side(sender());
    if (other.valid()) sides_[target()] = other.get();
  }

  [[nodiscard]] std::uint32_t sender() const noexcept { return 0; }
  [[nodiscard]] std::uint32_t target() const noexcept { return static_cast<std::uint32_t>(boots_.size()) - 1; }
  [[nodiscard]] side& from() noexcept { return *sides_[sender()]; }
  [[nodiscard]] side& to() noexcept { return *sides_[target()]; }
  /// The target is gone, without a word.
  void end_target() noexcept { sides_[target()].reset(); }

 private:
  [[nodiscard]] std::unique_ptr<side> make_side(std::uint32_t rank) {
    return std::make_unique<side>(kind_.make({*boots_[rank], settings_, "contract"}));
  }

  kind kind_;
  base::settings settings_;
  std::vector<std::shared_ptr<boot::bootstrap>> boots_;
  std::array<std::unique_ptr<side>, 2> sides_;
};

/// The bytes of message `seed`.
[[nodiscard]] inline std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    out[i] = static_cast<std::byte>((seed * 0x9e37'79b9'7f4a'7c15 + i * 0x2545'f491'4f6c'dd1d) >> 56);
  }
  return out;
}

}  // namespace weft::contract

// SPDX-License-Identifier: BSD-3-Clause
// Another rank: its segment, its packets, its memory.
//
// Cost of giving a packet back: one fetch-and-add in this process and one store to a line of the peer's. Cost of a
// copy by the kernel: the copy, and a check that the peer lives (0.2 us, and 1.4 us for 8 KiB, measured; to read a
// random word of the peer's in that call, which would also show that it lives, costs 0.3 us).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/not_inherited.hpp"
#include "base/processors.hpp"
#include "net/memory_piece.hpp"
#include "net/packet_stride.hpp"
#include "net/shm/layout.hpp"
#include "net/shm/segment.hpp"

namespace weft::net::shm {

/// **Threads**: once `attach` has returned, any thread may call any member.
class peer final : public detail::payload_owner, private base::not_inherited {
 public:
  peer(std::uint32_t self, std::uint32_t rank, const layout& where) noexcept
      : layout_{&where}, self_{self}, rank_{rank} {}

  /// Gives access to the peer's segment at `base`. `mapped` is empty for a rank of this process, whose own mapping is
  /// used.
  /// **Errors**: transport_failed where the segment's header differs from the shape on which all ranks agreed.
  void attach(std::byte* base, segment mapped, base::descriptor connection, bool same_process,
              std::uint32_t process_id);

  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  /// The processors that the rank says it may run on, where it runs on this machine; known before it is attached.
  void run_on(base::processor_set&& processors) noexcept { processors_ = std::move(processors); }
  [[nodiscard]] const base::processor_set& processors() const noexcept { return processors_; }
  [[nodiscard]] bool is_attached() const noexcept { return base_ != nullptr; }
  [[nodiscard]] bool is_in_this_process() const noexcept { return same_process_; }

  /// The word in which the peer says which of its devices take messages.
  [[nodiscard]] const std::atomic<std::uint64_t>& live_word() const noexcept { return header().live; }
  friend std::uint64_t only_named_devices(const peer& owner) noexcept;
  /// The word in which the peer says that a thread of its sleeps until a message arrives for that device.
  [[nodiscard]] sleep_word& sleep_word_at(std::uint32_t device) const noexcept { return header().sleepers[device]; }
  [[nodiscard]] ring_control& ring_control_at(std::uint32_t device, std::uint32_t own_device) const noexcept {
    return *reinterpret_cast<ring_control*>(base_ + layout_->ring(device, self_, own_device));
  }
  /// Tells the peer's device that there is a ring from our device to it. The ring must be set up before.
  void connect(std::uint32_t device, std::uint32_t own_device) const noexcept {
    auto& word = *reinterpret_cast<std::atomic<std::uint64_t>*>(base_ + layout_->connect(device, self_));
    // [shm.connect] release -> [shm.look], [shm.glance]: the ring may be polled.
    word.fetch_or(std::uint64_t{1} << own_device, std::memory_order_release);
    // [shm.opened] release -> [shm.news], [shm.seen]: carries `word`.
    header().opened.fetch_add(1, std::memory_order_release);
  }

  /// The peer's packet `index`; the index must have been checked.
  [[nodiscard]] std::byte* packet(std::uint32_t index) const noexcept {
    return base_ + layout_->packets + index * packet_stride(layout_->shape.packet_bytes);
  }

  /// The peer's shared memory beyond rings and packets.
  [[nodiscard]] std::byte* shared_memory() const noexcept { return base_ + layout_->shared; }

  /// Packets of the peer's that are held here.
  [[nodiscard]] std::uint32_t held() const noexcept {
    // [hint] the quota is approximate: each thread may exceed it by one. A check that all are back runs in one thread.
    return taken_.load(std::memory_order_relaxed) - returned_.load(std::memory_order_relaxed);
  }
  /// How many packets this process has to give back.
  [[nodiscard]] std::uint32_t owed() const noexcept { return held(); }
  // [shm.take] relaxed: the packet itself arrives by the ring; `held` says which thread reads this.
  void count_taken() noexcept { taken_.fetch_add(1, std::memory_order_relaxed); }
  void uncount_taken() noexcept { taken_.fetch_sub(1, std::memory_order_relaxed); }

  /// The Unix socket that hangs up when the peer has ended; none for a rank of this process. The kernel closes the
  /// sockets of a killed process after its last thread has left its last system call, and a peer that ends in order
  /// closes this one after its devices: after the hang-up the peer accesses no memory of this process.
  [[nodiscard]] const base::descriptor& connection() const noexcept { return connection_; }
  /// Whether the peer has destroyed its runtime, or is about to.
  [[nodiscard]] bool ends_in_order() const noexcept {
    // [shm.ended] acquire <- [shm.ends]: carries nothing; the connection has hung up.
    return header().ends_in_order.load(std::memory_order_acquire) != 0;
  }
  /// The peer has ended: posts to it find no device.
  void note_end() noexcept {
    // [shm.no_device] relaxed: a message that is posted meanwhile is lost like those before it.
    header().live.store(0, std::memory_order_relaxed);
    has_ended_.store(true, std::memory_order_relaxed);  // [hint] its packets are taken back by a later call
  }
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(std::memory_order_relaxed); }  // [hint]

  /// Gives one of the peer's packets back.
  void release(void* data, std::size_t bytes) noexcept override;

  /// Copies from the peer's memory; `unavailable` if `probe` found that the kernel forbids it.
  [[nodiscard]] copy_result read(memory_pieces here, memory_pieces there) const noexcept;
  /// Copies to the peer's memory, which is allowed wherever reading is.
  [[nodiscard]] copy_result write(memory_pieces here, memory_pieces there) const noexcept;

  /// Finds out whether the peer's memory can be read. Called once, when all ranks are attached.
  void probe(bool wanted) noexcept;
  [[nodiscard]] bool can_read() const noexcept { return can_read_; }
  [[nodiscard]] direct_copies copies() const noexcept;

 private:
  [[nodiscard]] bool has_hung_up() const noexcept;
  void become_copy() noexcept override;
  [[nodiscard]] segment_header& header() const noexcept { return *reinterpret_cast<segment_header*>(base_); }

  const layout* layout_;
  std::byte* base_ = nullptr;
  std::uint32_t self_;
  std::uint32_t rank_;
  std::uint32_t process_id_ = 0;
  bool same_process_ = false;
  bool can_read_ = false;
  std::atomic<bool> has_ended_{false};
  bool is_copy_ = false;  // a child of fork(): the parent gives the packets back
  segment mapped_;
  base::descriptor connection_;  // its hang-up announces the peer's end
  base::processor_set processors_;
  alignas(detail::cache_line_bytes) std::atomic<std::uint32_t> taken_{0};
  std::atomic<std::uint32_t> returned_{0};  // packets returned: the position of the next return
  base::fork_entry at_forks_{*this};
};

/// The devices of `owner` that a message has to name; may be outdated unless its `live_word` was read.
[[nodiscard]] inline std::uint64_t only_named_devices(const peer& owner) noexcept {
  // [device.unnamed] relaxed <- [device.only_named]: the load of `live` before has acquired it.
  return owner.header().only_named.load(std::memory_order_relaxed);
}

}  // namespace weft::net::shm

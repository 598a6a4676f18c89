// SPDX-License-Identifier: BSD-3-Clause
// For each rank: the operations that flushes wait for, how many failed after they had answered done, why the rank is
// cut off, and whether it has ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/log.hpp"
#include "core/runtime/flush_counts.hpp"
#include "weft/error.hpp"

namespace weft::core {

class peers {
 public:
  explicit peers(std::uint32_t rank_count);

  /// The operations that flushes wait for.
  [[nodiscard]] flush_counts& flushes() noexcept { return flushes_; }
  /// Whether all operations are complete that had begun when this was first called with `since`, which is not set then.
  /// **Errors**: those of `device::flush`.
  [[nodiscard]] bool try_flush(const flush_request& request, detail::flush_mark& since);

  /// An operation failed after it had answered done: the next flush says so.
  void note_failure(std::uint32_t peer) noexcept {
    // [flush.failure] relaxed: before [flush.through], which a flush sees first.
    failed_[peer].fetch_add(1, std::memory_order_relaxed);
  }

  /// Cuts `peer` off: nothing more can be sent to it. The first cause is kept and logged.
  void cut_off(std::uint32_t peer, const char* cause, base::log_level level) noexcept;
  /// Cuts `peer` off, as it has ended: if `in_order`, it has destroyed its runtime. Called once.
  void note_end(std::uint32_t peer, bool in_order) noexcept;
  [[nodiscard]] bool is_cut_off(std::uint32_t peer) const noexcept {
    // [peer.is_cut_off] acquire <- [peer.cut_off]: the text of the cause.
    return cut_off_[peer].load(std::memory_order_acquire) != nullptr;
  }
  /// **Errors**: with rank and cause, if that rank is cut off: peer_failed if it has ended, else transport_failed.
  void refuse_if_cut_off(std::string_view call, std::uint32_t peer) const;
  /// The error of an operation with `peer`, which is cut off.
  [[nodiscard]] errc error_with(std::uint32_t peer) const noexcept {
    return has_ended(peer) ? errc::peer_failed : errc::transport_failed;
  }

  // Ranks that have ended (peer_ends.hpp).
  [[nodiscard]] bool has_ended(std::uint32_t peer) const noexcept { return end_of(peer) != end::none; }
  /// The end in the middle: the rank's process has ended, and its runtime was not destroyed.
  [[nodiscard]] bool has_died(std::uint32_t peer) const noexcept { return end_of(peer) == end::died; }
  /// Lets no message of `peer`, which has ended, continue an operation.
  void close(std::uint32_t peer) noexcept {
    // [peer.close] relaxed -> [peer.closed]: a poll that begins after the fence of `peer_ends` sees it.
    closed_[peer].store(true, std::memory_order_relaxed);
  }
  [[nodiscard]] bool is_closed(std::uint32_t peer) const noexcept {
    // [peer.closed] relaxed <- [peer.close]: carries nothing.
    return closed_[peer].load(std::memory_order_relaxed);
  }
  /// No message of `peer` will arrive, and no thread continues an operation with it: from here on they are ended.
  void settle(std::uint32_t peer) noexcept {
    // [peer.settle] release -> [peer.settled]: the effects of the peer's last messages.
    settled_[peer].store(true, std::memory_order_release);
    // [peer.settle] release -> [peer.dead]: the effects of the peer's last messages.
    if (has_died(peer)) dead_.store(peer, std::memory_order_release);
  }
  [[nodiscard]] bool is_settled(std::uint32_t peer) const noexcept {
    // [peer.settled] acquire <- [peer.settle]: the effects of the peer's last messages.
    return settled_[peer].load(std::memory_order_acquire);
  }
  static constexpr std::uint32_t no_peer = ~std::uint32_t{0};
  /// A rank that has died and is settled; `no_peer` if there is none.
  [[nodiscard]] std::uint32_t dead_peer() const noexcept {
    // [peer.dead] acquire <- [peer.settle]: the effects of the peer's last messages.
    return dead_.load(std::memory_order_acquire);
  }

 private:
  enum class end : std::uint8_t { none, in_order, died };

  [[nodiscard]] end end_of(std::uint32_t peer) const noexcept {
    // [peer.end_of] relaxed <- [peer.note_end]: carries nothing.
    return ends_[peer].load(std::memory_order_relaxed);
  }

  flush_counts flushes_;
  // Index: rank.
  std::unique_ptr<std::atomic<std::uint32_t>[]> failed_;
  std::unique_ptr<std::atomic<const char*>[]> cut_off_;  // the cause; null: not cut off
  std::unique_ptr<std::atomic<end>[]> ends_;
  std::unique_ptr<std::atomic<bool>[]> closed_;
  std::unique_ptr<std::atomic<bool>[]> settled_;
  std::atomic<std::uint32_t> dead_{no_peer};
};

}  // namespace weft::core

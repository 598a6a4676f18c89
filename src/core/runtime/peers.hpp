// For each rank: how many operations a flush waits for, how many failed after they had answered done, and why the rank
// is cut off.
//
// Cost to an operation that a flush waits for: one addition to a word of its rank's, and one subtraction.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/log.hpp"

namespace weft::core {

class peers {
 public:
  explicit peers(std::uint32_t rank_count);

  void await(std::uint32_t peer) noexcept {
    // [flush.await] relaxed: a flush comes after the post in the same thread, or in one that this thread synchronized
    // with.
    awaited_[peer].fetch_add(1, std::memory_order_relaxed);
  }
  /// An awaited operation is complete; whether it was the last.
  [[nodiscard]] bool forget(std::uint32_t peer) noexcept {
    // [flush.through] release -> [flush.wait]: what the answer to the operation carried.
    return awaited_[peer].fetch_sub(1, std::memory_order_release) == 1;
  }
  /// Whether all operations that a flush of `peer` waits for are complete. **Errors**: those of `device::flush`.
  [[nodiscard]] bool try_flush(std::uint32_t peer);

  /// An operation failed after it had answered done: the next flush says so.
  void note_failure(std::uint32_t peer) noexcept {
    // [flush.failure] relaxed: before [flush.through], which a flush sees first.
    failed_[peer].fetch_add(1, std::memory_order_relaxed);
  }

  /// Cuts `peer` off: nothing more can be sent to it. The first cause is kept and logged.
  void cut_off(std::uint32_t peer, const char* cause, base::log_level level) noexcept;
  [[nodiscard]] bool is_cut_off(std::uint32_t peer) const noexcept {
    // [peer.is_cut_off] acquire <- [peer.cut_off]: the text of the cause.
    return cut_off_[peer].load(std::memory_order_acquire) != nullptr;
  }
  /// **Errors**: transport_failed with rank and cause, if that rank is cut off; nothing otherwise.
  void refuse_if_cut_off(std::string_view call, std::uint32_t peer) const;

 private:
  // By rank.
  std::unique_ptr<std::atomic<std::uint32_t>[]> awaited_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> failed_;
  std::unique_ptr<std::atomic<const char*>[]> cut_off_;  // the cause; null: not cut off
};

}  // namespace weft::core

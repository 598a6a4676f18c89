// A device: the communication resources through which threads post and make progress (yan2025-lci, 4.2.3 and 5.2).
#pragma once

#include <cstdint>
#include <memory>

#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/status.hpp"

namespace weft {

namespace core {
class device_state;
}

struct device_options {
  /// Whether several threads may use the device at once. A device of one thread's own spares the atomic operations.
  bool shared = true;
};

/// Any remote device will do: the one with this device's index, modulo how many there are.
inline constexpr std::uint32_t any_device = ~std::uint32_t{0};

struct post_am_options {
  /// Carried to the target as it is.
  std::uint64_t tag = 0;
  /// The target's device that is to receive the message; taken modulo their number.
  std::uint32_t device = any_device;
  /// Found again in the completion record.
  void* context = nullptr;
  /// False: never `done`; the completion object is signalled even when the operation is complete at once.
  bool allow_done = true;
  /// False: never `retry`; what can't be posted now waits in a bounded backlog.
  bool allow_retry = true;
};

/// Threads on different devices don't disturb each other; any number of devices per rank, made and destroyed by any
/// thread at any time. Peers need not know: a message for a device that has gone arrives at another one.
class device {
 public:
  /// Makes a device. **Blocking**: briefly, for memory. **Threads**: any.
  /// **Errors**: `invalid_state` beyond `WEFT_DEVICES_MAX` devices at once.
  explicit device(weft::runtime& owner, const device_options& options = {});

  /// Its rings are served by the default device from now on. Operations posted on it that are under way are completed
  /// there too. **Threads**: none may be using it.
  ~device();

  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// Sends `bytes` to the completion object that `target` registered at rank `peer` as `to`.
  ///
  /// Up to 40 bytes ride in the descriptor, up to `WEFT_PACKET_BYTES` are copied into a packet (both answer *done*);
  /// more are fetched from `bytes` by the target (*posted*), however many they are.
  /// **Blocking**: never. **Threads**: any number on a shared device, one on a device of its own.
  /// **Buffer**: the caller's again after *done*, or when `local` is signalled; unread after *retry*.
  /// **Returns**: *done*, *posted* (`local` will be signalled once) or *retry* (nothing happened).
  /// **Errors**: `invalid_argument` for an unknown rank, a reserved id or a null buffer with a size; `backlog_full`
  /// where `.allow_retry = false` finds the backlog at its bound.
  /// **Order**: none between messages. **Source**: yan2025-lci, 4.2.4 and 5.3.
  status post_am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, completion& local,
                 const post_am_options& options = {});

  /// Moves communication on: delivers what has arrived, continues long messages, posts what waits in the backlog. A
  /// device that has been quiet for a while looks after the default device as well, where messages for devices that
  /// are not there yet, or no longer, arrive.
  ///
  /// **Blocking**: never; if another thread is at it on this device, returns at once. **Threads**: as for posting.
  /// **Returns**: whether it moved something. **Source**: zhou2024, 2.6; yan2025-lci, 4.2.7.
  bool progress() noexcept;

  /// This device's number on its rank; the default device is 0.
  [[nodiscard]] std::uint32_t index() const noexcept;
  [[nodiscard]] bool is_shared() const noexcept;
  [[nodiscard]] weft::runtime& runtime() const noexcept { return *runtime_; }

 private:
  weft::runtime* runtime_;
  core::device_state* state_;
};

}  // namespace weft

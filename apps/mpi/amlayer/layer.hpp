// SPDX-License-Identifier: BSD-3-Clause
// An active-message layer over calls of standard MPI, in the manner of HPX's parcelport (yan2025-mpi-extensions, 3.1).
//
// A message is a header, with a short payload in it; a long payload follows as a message of its own, under a tag that
// no other message in flight has. Each message has at most one request at a time. A device has a receive for headers
// from any source, which is always posted, and two pools of requests. `background_work`, which any thread may call,
// tests them. With continuations, callbacks take the place of the pools (3.2 and 3.3).
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace mpi_amlayer {

/// Payloads of up to so many bytes are sent with their header.
inline constexpr std::size_t short_payload_max = 1024;

/// How the layer learns that requests are complete, but for the receive of headers, which is tested.
enum class completion_kind : std::uint8_t {
  poll,              ///< it tests those in its pools
  continuation,      ///< continuations follow them
  continue_request,  ///< continuations that are registered in a continuation request of the device
};

struct header {
  std::uint64_t number;
  std::uint32_t handler;  // the target has several
  std::uint32_t lane;     // the thread of the target
  std::uint32_t bytes;    // the size of the payload
  std::int32_t data_tag;  // the tag of a long payload
};

/// What a device gives messages to. **Threads**: any, several at once.
class message_target {
 public:
  virtual ~message_target() = default;
  /// May send. The payload is gone when it returns.
  virtual void take(const header& message, int source, std::span<const std::byte> payload) noexcept = 0;
};

class device;

/// What has one request at a time.
class operation {
 public:
  virtual ~operation() = default;

 protected:
  friend class device;
  friend class request_pool;
  /// Posts the next request when one is complete. False: there is none, and the object may have gone.
  virtual bool advance(device& device) noexcept = 0;
  MPI_Request request_ = MPI_REQUEST_NULL;
  device* device_ = nullptr;  // the device of the last post
};

/// An active message to be sent, one at a time. `payload` is written by the thread that owns it, while it is free.
class outgoing_message final : public operation {
 public:
  outgoing_message(int data_tag, std::size_t payload_max) : data_tag_{data_tag}, bytes_(sizeof(header) + payload_max) {}
  [[nodiscard]] std::byte* payload() noexcept { return bytes_.data() + sizeof(header); }
  [[nodiscard]] bool is_free() const noexcept {
    // [outgoing.free] acquire <- [outgoing.sent]: the payload may be written.
    return is_free_.load(std::memory_order_acquire);
  }

 private:
  friend class device;
  bool advance(device& device) noexcept override;

  int data_tag_;
  int peer_ = MPI_PROC_NULL;
  std::size_t left_bytes_ = 0;  // the size of a payload that is not posted yet
  std::vector<std::byte> bytes_;
  std::atomic<bool> is_free_{true};
};

/// Requests that were not complete when they were posted. **Threads**: any; none waits for another one to poll.
class request_pool {
 public:
  void add(operation& added);
  /// Tests some requests, the ones that were tested longest ago. Null: none is complete, or another thread is testing.
  [[nodiscard]] operation* poll() noexcept;

 private:
  std::mutex mutex_;
  std::deque<operation*> pending_;
};

/// The resources of one thread, or of all: a communicator, a receive, and pools of requests (the paper's device).
class device {
 public:
  /// Headers have this tag. `is_any_source`: also payloads are received from any source. **Threads**: the main one.
  device(MPI_Comm comm, int header_tag, bool is_any_source, completion_kind completion, message_target& target);
  /// Cancels the receive for headers; all messages have been sent and received.
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// Sends a message, which has a payload of `sent.bytes`, to the same device of another rank. `message` is free again
  /// once it is sent. **Threads**: any.
  void send(outgoing_message& message, header sent, int peer) noexcept;
  /// Tests the receive, and requests of both pools or the continuation request. Returns whether any of them was
  /// complete. **Threads**: any.
  bool background_work() noexcept;

 private:
  friend class outgoing_message;
  class incoming_payload;
  struct header_buffer {
    header head;
    std::array<std::byte, short_payload_max> payload;
  };

  void post_receive() noexcept;
  bool poll_headers() noexcept;
  // Tests the request of an operation that is posted, then that of the next one; adds one that is not complete. Or
  // leaves that to a continuation.
  void follow(operation& posted, request_pool& pool) noexcept;
  void leave_to_continuation(operation& posted) noexcept;
  bool poll_pools() noexcept;
  void test_home() noexcept;
  void receive_payload(const header& head, int source);

  MPI_Comm comm_;
  int header_tag_;
  bool is_any_source_;
  completion_kind completion_;
  message_target& target_;
  std::mutex receive_mutex_;  // guards the receive and its buffer
  MPI_Request receive_ = MPI_REQUEST_NULL;
  header_buffer received_{};
  request_pool sends_;
  request_pool receives_;
  std::mutex unused_mutex_;
  std::vector<std::unique_ptr<incoming_payload>> unused_;
  std::mutex home_mutex_;                // guards the test of the continuation request
  MPI_Request home_ = MPI_REQUEST_NULL;  // null: there is none
};

}  // namespace mpi_amlayer

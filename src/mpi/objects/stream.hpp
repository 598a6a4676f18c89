// SPDX-License-Identifier: BSD-3-Clause
// Streams (zhou2024, 3.1): a stream has a device of its own, which no lock guards, as one thread at a time is in it.
// The program orders its threads.
//
// What another thread can do with a stream: it starts hooks (async_hooks has a lock), and it sends to a communicator of
// the stream, as messages that arrive wait in the device's rings until the stream's thread makes progress. No other
// device's thread polls the device (`device_options::shared`).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "mpi/handle/object.hpp"
#include "mpi/objects/async_hooks.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/objects/vci.hpp"
#include "mpix.h"
#include "weft/device.hpp"
#include "weft/progress_thread.hpp"

namespace weft {
class runtime;
}

namespace weft::mpi {

/// The number of the VCI that a stream is: it is none of those of `vci_list`.
inline constexpr std::uint32_t vci_of_stream = ~std::uint32_t{0};

/// **Threads**: one at a time, but for `hooks` and `communicators`.
struct stream {
  stream(weft::runtime& runtime, request_signals& signals);

  /// Starts a thread that makes progress, which shares the device until it is stopped. False: it runs already.
  /// **Errors**: std::system_error, std::bad_alloc.
  bool try_start_thread();
  /// Returns whether there was one. **Blocking**: until it has ended.
  bool stop_thread() noexcept;

  object_kind kind = object_kind::stream;  // the first member
  weft::device device;
  vci own_vci;
  async_hooks hooks;
  std::atomic<std::uint32_t> communicators{0};      // that exist, those of freed handles with open requests too
  std::unique_ptr<weft::progress_thread> thread{};  // while it runs, the device is shared. The last member
};

[[nodiscard]] inline MPIX_Stream handle_of(stream& owner) noexcept { return reinterpret_cast<MPIX_Stream>(&owner); }
/// The stream of a handle; null: the default stream, or no stream.
[[nodiscard]] inline stream* find_stream(MPIX_Stream handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<stream*>(handle);
  return found->kind == object_kind::stream ? found : nullptr;
}

/// The streams of a rank. **Threads**: any, unless a function says otherwise.
class stream_list {
 public:
  /// **Errors**: those of `weft::device`; std::bad_alloc.
  stream& make(weft::runtime& runtime, request_signals& signals);
  /// Ends a stream without hooks and communicators. **Threads**: the stream's.
  void end(stream& last) noexcept;
  /// Whether there are any. A thread that knows one sees it.
  [[nodiscard]] bool are_none() const noexcept {
    // [hint] A thread that has a request of a stream has learnt of that stream.
    return count_.load(std::memory_order_relaxed) == 0;
  }
  /// The hooks of all that have not ended.
  [[nodiscard]] std::size_t open_hooks() const noexcept;
  /// For MPI_Finalize: no other thread is in a stream. **Blocking**: until all have ended.
  void stop_threads() noexcept;
  /// All, for MPI_Finalize. **Errors**: std::bad_alloc.
  [[nodiscard]] std::vector<stream*> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<stream>> all_;
  std::atomic<std::size_t> count_{0};
};

/// The streams of a stream communicator, of all its members.
class stream_routes {
 public:
  /// `own`: the streams of this member, by index; null for the default one. `devices`: of all members, one member after
  /// the other; `counts`: how many each has.
  stream_routes(std::vector<stream*> own, const std::vector<std::uint32_t>& counts, std::vector<std::uint32_t> devices);
  ~stream_routes();
  stream_routes(const stream_routes&) = delete;
  stream_routes& operator=(const stream_routes&) = delete;

  [[nodiscard]] std::span<stream* const> own() const noexcept { return own_; }
  /// How many streams a member has.
  [[nodiscard]] std::uint32_t count(std::uint32_t member) const noexcept { return first_[member + 1] - first_[member]; }
  /// The device of stream `index` of a member.
  [[nodiscard]] std::uint32_t device(std::uint32_t member, std::uint32_t index) const noexcept {
    return devices_[first_[member] + index];
  }

 private:
  std::vector<stream*> own_;
  std::vector<std::uint32_t> first_;  // by member, and one more: where its devices begin
  std::vector<std::uint32_t> devices_;
};

}  // namespace weft::mpi

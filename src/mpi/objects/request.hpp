// Requests: operations that are under way, and their pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "mpi.h"
#include "mpi/objects/object.hpp"
#include "weft/buffer.hpp"
#include "weft/completion.hpp"

namespace weft::mpi {

struct communicator;

/// The result of an operation, from which a status is made.
struct outcome {
  int source = MPI_ANY_SOURCE;
  int tag = MPI_ANY_TAG;
  int error = MPI_SUCCESS;
  bool is_cancelled = false;
  std::uint64_t bytes = 0;
};
/// Of a receive from MPI_PROC_NULL.
inline constexpr outcome outcome_of_no_process{.source = MPI_PROC_NULL};

/// A send that is not posted yet, because a post of it or of an older one has answered *retry*.
struct unposted_send {
  weft::const_buffer_ref bytes{};
  std::uint32_t peer = 0;  // rank in the job
  int tag = 0;
};

struct request {
  /// Takes over an operation's record, in the thread that makes progress. The owner may use the request again
  /// as soon as `is_done()` is true.
  void finish(const weft::completion_record& record) noexcept;
  /// The same for an operation that ends without a record.
  void finish(const outcome& with) noexcept {
    result = with;
    // [request.finish] release -> [request.done]: the result.
    done.store(true, std::memory_order_release);
  }
  [[nodiscard]] bool is_done() const noexcept {
    // [request.done] acquire <- [request.finish]: the result.
    return done.load(std::memory_order_acquire);
  }

  object_kind kind = object_kind::request;
  std::atomic<bool> done{false};
  bool is_receive = false;
  communicator* of = nullptr;
  outcome result{};
  unposted_send send{};
  request* next = nullptr;  // in the pool, or among sends that are not posted
};

/// Signals requests: the context of each post is one. Any number of them wait at it.
class request_signals final : public weft::completion {
 public:
  explicit request_signals(weft::runtime& of) : completion{of} {}
  ~request_signals() override { end_signals(); }
  [[nodiscard]] answer signal(weft::completion_record&& record) noexcept override;
};

/// Requests that are not in use. Memory is taken in blocks, and kept.
class request_pool {
 public:
  explicit request_pool(bool is_shared) noexcept : is_shared_{is_shared} {}
  /// A fresh request. **Errors**: `std::bad_alloc`.
  [[nodiscard]] request& acquire(communicator& of, bool is_receive);
  void release(request& one) noexcept;

 private:
  void grow();
  [[nodiscard]] std::unique_lock<std::mutex> lock();

  const bool is_shared_;  // by several threads at a time
  std::mutex mutex_;
  request* free_ = nullptr;
  std::vector<std::unique_ptr<request[]>> blocks_;
};

[[nodiscard]] inline MPI_Request handle_of(request& one) noexcept { return reinterpret_cast<MPI_Request>(&one); }
/// The request of a handle; null if it is none.
[[nodiscard]] request* find_request(MPI_Request handle) noexcept;

/// Writes a status, but for its field MPI_ERROR, which most functions leave as it is. It may be MPI_STATUS_IGNORE.
void write_status(MPI_Status* to, const outcome& from) noexcept;
/// The same as an early return of a function whose peer is MPI_PROC_NULL.
int write_no_process(MPI_Status* to) noexcept;
/// The bytes that a status tells of.
[[nodiscard]] std::uint64_t bytes_of(const MPI_Status& of) noexcept;

}  // namespace weft::mpi

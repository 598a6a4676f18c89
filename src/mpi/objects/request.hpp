// SPDX-License-Identifier: BSD-3-Clause
// Requests: operations that have started and are not complete, and persistent ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/handle/object.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/request_waiter.hpp"
#include "mpi/objects/status.hpp"
#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/post_options.hpp"

namespace weft::mpi {

struct rank_state;
struct request;

/// The kinds of operations that end in different ways.
enum class request_operation : std::uint8_t {
  send,
  receive,      ///< its status has a source, a tag and bytes
  collective,   ///< any operation with an empty status
  generalized,  ///< the program completes it
};

/// The part of a request that few have, which it owns until it is complete, or, if it is persistent, until it is freed:
/// temporary buffers, a datatype, the arguments of a start. It may also act at completion. The functions: **Blocking**:
/// never. **Threads**: the one that calls the function of MPI.
class request_part {
 public:
  request_part() = default;
  request_part(const request_part&) = delete;
  request_part& operator=(const request_part&) = delete;
  virtual ~request_part() = default;

  /// Starts a persistent request, which then is active and not done; or ends it by `finish`. An error class
  /// leaves it inactive.
  virtual int start(rank_state& rank, request& req);
  /// The function that completes the request, such as MPI_Wait or, of a request that is done, MPI_Request_free, calls
  /// this once with the result, which it may change, also its error. It may wait for nothing.
  virtual void complete(rank_state& /*rank*/, request& /*self*/, outcome& /*result*/) noexcept {}
  /// The result that MPI_Request_get_status shows, which does not complete the request.
  virtual void describe(outcome& /*result*/) noexcept {}
  /// MPI_Waitall calls this before it waits for the request. It may wait, too.
  virtual void wait(rank_state& /*rank*/, request& /*self*/) noexcept {}
  /// The part of a continuation request, which ends not by itself: sets whether it is done now. **Threads**: any.
  virtual void look(request& /*self*/) noexcept {}
  /// A test of such a request, which is not done: makes progress, and runs its continuations. Returns whether anything
  /// has moved.
  virtual bool advance(rank_state& /*rank*/, request& /*self*/) noexcept { return false; }
  /// MPI_Request_free: an error class refuses it.
  virtual int refuse_free() noexcept { return MPI_SUCCESS; }
  /// MPI_Cancel, of a request that need not be done. Returns an error class.
  virtual int cancel(rank_state& /*rank*/, request& /*self*/) noexcept { return MPI_SUCCESS; }
};

/// Keeps a datatype whose layout an operation uses: the handle may be freed meanwhile.
class kept_datatype final : public request_part {
 public:
  explicit kept_datatype(const datatype& type) noexcept : type_{type} {}

 private:
  datatype_ref type_;
};

/// Peer and tag of one side of a message, as in the communicator.
struct envelope {
  int peer;
  int tag;
};

/// The engine of a send is that of its communicator, which is mostly one without lanes.
inline constexpr std::uint16_t own_lane = 0xffff;

/// A send as it is posted. It may wait for its post, because a post of it or of an older one has answered *retry*.
struct described_send {
  weft::const_buffer_ref bytes{};
  std::uint32_t peer = 0;  // rank in the job
  int tag = 0;
  completion_level complete_at = completion_level::local;  // delivered: of a synchronous send
  std::uint16_t lane = own_lane;                           // of the communicator, whose engine numbers it
  std::uint32_t device = any_device;                       // of the target
};

struct request {
  request() noexcept {}
  request(request_operation made_for, communicator& comm) noexcept
      : operation{made_for}, waiter{fresh_slot()}, owner{&comm} {}

  /// Takes over an operation's record, in the thread that makes progress. The owner may use the request again
  /// as soon as `is_done()` is true.
  void finish(const weft::completion_record& record) noexcept;
  /// Ends an operation that has no record. If another thread may sleep in a wait for it, the caller calls
  /// `request_signals::wake` next, also in a hook: progress wakes threads for signals alone.
  void finish(const outcome& final_result) noexcept;
  /// Ends an operation whose result is set.
  void end() noexcept;
  /// The rest of `end`, where a fiber may wait, a continuation may be attached, or a function follows.
  void end_awaited() noexcept;
  [[nodiscard]] bool is_done() const noexcept {
    // [request.done] acquire <- [request.finish], [request.finish_awaited], [request.look]: the result.
    return done.load(std::memory_order_acquire);
  }
  /// The owner of a send, a receive or a collective.
  [[nodiscard]] communicator& comm() const noexcept { return static_cast<communicator&>(*owner); }
  /// A start of a persistent request: from now on it is under way.
  void activate() noexcept {
    // [own] No other thread knows of the operation yet.
    done.store(false, std::memory_order_relaxed);
    is_active = true;
    waiter.reset(fresh_slot());
  }

  object_kind kind = object_kind::request;
  std::atomic<bool> done{false};
  request_operation operation = request_operation::send;
  bool is_persistent = false;
  bool is_active = true;  // false: persistent, and not started; then it is done, with an empty result
  waiter_slot waiter{weft::detail::never_awaited};
  error_owner* owner = nullptr;  // its error handler is called; null: MPI_COMM_SELF
  outcome result{};
  union {
    described_send send;  // a send's; set before its post, as blocking calls pay for each word
    envelope wanted;      // set for a receive with a handle
  };
  std::uint64_t ticket;           // set for a posted receive, for MPI_Cancel
  request* next;                  // links requests in the pool, or pending sends
  request_part* owned = nullptr;  // ends with `request_pool::release`; a request outside of the pool owns none
};

/// An operation without a handle: `ended` is called at its end, in the thread that makes progress, and may destroy it.
struct followed_request : request {
  followed_request() noexcept { waiter.reset(waiter_slot::followed); }

  void (*ended)(followed_request& self) noexcept = nullptr;
};

inline void request::end() noexcept {
  if (!waiter.is_never_awaited()) [[unlikely]]
    return end_awaited();
  // [request.finish] release -> [request.done]: the result.
  done.store(true, std::memory_order_release);
}

/// Signals requests: the context of each post is one. Any number of them wait at it.
class request_signals final : public weft::completion {
 public:
  explicit request_signals(weft::runtime& runtime) : completion{runtime} { take_receives_by(&receive); }
  ~request_signals() override { end_signals(); }
  [[nodiscard]] answer signal(weft::completion_record&& record) noexcept override;
  /// Wakes threads that wait for a request which has ended without a record and outside of progress.
  void wake() noexcept { signalled(runtime(), this); }
  /// How many requests have ended with an error. A thread that sees one more sees the result of that request.
  [[nodiscard]] std::uint64_t failures() const noexcept {
    // [signals.failures] acquire <- [signals.failed]: the result of the request.
    return failures_.load(std::memory_order_acquire);
  }
  /// Counts a request that has ended with an error.
  void count_failure() noexcept {
    // [signals.failed] release -> [signals.failures]: the result of the request.
    failures_.fetch_add(1, std::memory_order_release);
  }

 private:
  static void receive(void* context, std::uint32_t source, std::uint64_t tag, std::uint64_t bytes) noexcept;

  std::atomic<std::uint64_t> failures_{0};
};

/// Notes why an operation has failed, for the error handler of its communicator. Returns the error class of `result`,
/// also where it has not failed.
int fail_of(const request& req, const outcome& result) noexcept;

[[nodiscard]] inline MPI_Request handle_of(request& req) noexcept { return reinterpret_cast<MPI_Request>(&req); }
/// A continuation request, which knows then whether it is done; null: the object is none.
[[nodiscard, gnu::cold]] request* find_continuation_request(request& found) noexcept;
/// The request of a handle, unless it is a continuation request; null if it is none, or if a continuation completes it.
[[nodiscard]] inline request* find_operation_request(MPI_Request handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<request*>(handle);
  return found->kind == object_kind::request ? found : nullptr;
}
/// The request of a handle, or the continuation request; null likewise.
[[nodiscard]] inline request* find_request(MPI_Request handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<request*>(handle);
  return found->kind == object_kind::request ? found : find_continuation_request(*found);
}
/// The request of a handle, also one that a continuation completes.
[[nodiscard]] inline request* find_any_request(MPI_Request handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<request*>(handle);
  return found->kind == object_kind::continued_request ? found : find_request(handle);
}
/// The failure of a call with a handle that `find_request` refuses.
[[gnu::cold]] int fail_request(MPI_Request handle) noexcept;

}  // namespace weft::mpi

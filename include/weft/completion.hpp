// SPDX-License-Identifier: BSD-3-Clause
// Completion objects, and the completion records with which the library signals them (yan2025-lci, 4.2.6 and 5.1.4).
//
// Cost: a record is one cache line, moved by copying it; a signal is one virtual call and the work of the object.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "weft/buffer.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/raw_record.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft {

namespace detail {
template <class Record, class Atomics>
class laned_queue;
}  // namespace detail

class device;
class runtime;
namespace core {
class promise;
class registrations;
}  // namespace core

/// Describes a completed operation, or an arrived message: operation, peer, tag, bytes, context and error. The record
/// of an arrived message owns the payload, and gives it back when it is destroyed.
///
/// The runtime must outlive the record; otherwise the process ends with a message.
/// All functions: **Blocking**: never. **Threads**: any, one at a time for one record. **Errors**: none.
class [[nodiscard]] completion_record {
 public:
  /// An empty record.
  completion_record() noexcept {}  // not defaulted: that would zero the bytes behind the head

  /// Takes over, for transports and protocols, the payload that `raw` refers to.
  explicit completion_record(const detail::raw_record& raw) noexcept : raw_{raw} {}

  /// Takes the payload over; `other` has none afterwards.
  completion_record(completion_record&& other) noexcept : raw_{other.raw_} { other.detach(); }
  /// Gives back its own payload, then takes over that of `other`.
  completion_record& operator=(completion_record&& other) noexcept {
    if (this != &other) {
      release();
      raw_ = other.raw_;
      other.detach();
    }
    return *this;
  }
  completion_record(const completion_record&) = delete;
  completion_record& operator=(const completion_record&) = delete;
  ~completion_record() { release(); }

  /// The operation that completed.
  [[nodiscard]] weft::operation operation() const noexcept { return raw_.opcode; }
  /// The rank at the other end: a message's source, a post's target.
  [[nodiscard]] std::uint32_t peer() const noexcept { return raw_.peer; }
  /// The rank that a message came from.
  [[nodiscard]] std::uint32_t source() const noexcept { return raw_.peer; }
  /// The message's tag, or the post's.
  [[nodiscard]] std::uint64_t tag() const noexcept { return raw_.tag; }

  /// The payload of an active message. Of a receive: the part of the buffer that was written. Of a put's or get's
  /// signal: the part of the region. Of another post: its buffer (empty for a list of several, unless they lie one
  /// behind the other).
  ///
  /// Empty for bytes in other than ordinary memory: `buffer()` has these.
  ///
  /// **Buffer**: valid until the record is moved from or destroyed; up to 40 bytes lie in the record itself.
  [[nodiscard]] std::span<const std::byte> data() const noexcept {
    if (raw_.location == detail::payload_location::in_record) return {raw_.payload, raw_.inline_bytes};
    if (detail::is_of_kind(raw_.location)) return {};
    const auto where = raw_.referred();
    return {static_cast<const std::byte*>(where.data), static_cast<std::size_t>(where.bytes)};
  }
  /// The size of `data()`; in other than ordinary memory, of `buffer()`.
  [[nodiscard]] std::size_t bytes() const noexcept { return buffer().bytes(); }
  /// The bytes of `data()` in any memory: their address, size, and kind of memory or layout.
  [[nodiscard]] const_buffer_ref buffer() const noexcept {
    if (raw_.location == detail::payload_location::in_record) return {raw_.payload, raw_.inline_bytes};
    const auto where = raw_.referred();
    const weft::memory* const kind = memory();
    const auto size = static_cast<std::size_t>(where.bytes);
    return kind == nullptr ? const_buffer_ref{where.data, size} : const_buffer_ref{where.data, size, *kind};
  }
  /// The memory of the bytes: that of the buffer that the post named, or of the allocator. Null for ordinary memory,
  /// and for a list of buffers.
  [[nodiscard]] const weft::memory* memory() const noexcept {
    if (!detail::is_of_kind(raw_.location)) [[likely]]
      return nullptr;
    const auto where = raw_.referred();
    if (detail::is_owned(raw_.location)) return static_cast<const detail::memory_owner*>(where.owner)->kind();
    return reinterpret_cast<const weft::memory*>(where.owner);
  }

  /// The payload, writable: it belongs to this record alone. Empty for the buffer of a post.
  [[nodiscard]] std::span<std::byte> mutable_data() noexcept {
    if (raw_.location == detail::payload_location::in_record) return {raw_.payload, raw_.inline_bytes};
    const auto where = raw_.referred();
    if (raw_.location != detail::payload_location::owned) return {};
    return {static_cast<std::byte*>(where.data), static_cast<std::size_t>(where.bytes)};
  }

  /// The size of the message that was sent to a receive, also if it did not fit into the buffer.
  [[nodiscard]] std::uint64_t message_bytes() const noexcept {
    return raw_.location == detail::payload_location::in_record ? raw_.inline_bytes : raw_.referred().message_bytes;
  }

  /// The `.context` of the post; null for arrived messages.
  [[nodiscard]] void* context() const noexcept {
    return detail::is_borrowed(raw_.location) ? raw_.referred().context : nullptr;
  }

  /// `errc::none`, or why the operation failed.
  [[nodiscard]] errc error() const noexcept { return raw_.error; }

  /// The record's bytes, for code that stores and fills records. Code that copies them owns the payload from then on,
  /// and must call `detach()` here.
  [[nodiscard]] detail::raw_record& raw() noexcept { return raw_; }
  /// Forgets the payload without giving it back.
  void detach() noexcept {
    raw_.location = detail::payload_location::in_record;
    raw_.inline_bytes = 0;
  }

 private:
  void release() noexcept {
    if (!detail::is_owned(raw_.location)) return;
    const auto where = raw_.referred();
    where.owner->release(where.data, static_cast<std::size_t>(where.bytes));
    detach();
  }

  detail::raw_record raw_;
};
static_assert(sizeof(completion_record) == 56);

/// The base of all completion objects: handler, queue, counter, synchronizer, and classes of the user's. The library
/// signals an object when an operation that names it completes, and when a message for its id arrives.
///
/// Completion objects neither copy nor move. If one is destroyed while an operation or a registration still names it,
/// the process ends with a message, unless an exception is leaving its scope: then its operations are cancelled, or
/// waited for, a second at most (`end_signals`). The runtime must outlive it.
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
class completion {
 public:
  /// The answer to a signal.
  enum class answer : std::uint8_t {
    taken,  ///< the object has taken the record
    full,   ///< no room: the record is untouched, nothing has happened; the device signals again later
  };

  /// A function that takes the place of `signal` for a receive: see `take_receives_by`.
  using receive_function = void (*)(void* context, std::uint32_t source, std::uint64_t tag,
                                    std::uint64_t bytes) noexcept;

  completion(const completion&) = delete;
  completion& operator=(const completion&) = delete;
  completion(completion&&) = delete;
  completion& operator=(completion&&) = delete;

  /// Takes `record`, or answers `full` and leaves it untouched. An object that acts must find out first whether it has
  /// room, also for an answer (`device::can_reply`): after `full` it gets the message again. After `full` the device
  /// takes no further messages from that peer's device until there is room: no message is lost, and no buffer grows.
  ///
  /// **Blocking**: may not block. **Threads**: called by any thread in progress or in a post, several at once.
  /// **Errors**: may not throw.
  [[nodiscard]] virtual answer signal(completion_record&& record) noexcept = 0;

  /// How many posted operations have yet to signal this object, or are signalling it now. The number is exact while no
  /// thread posts or makes progress. Zero means: at some moment during the call all signals had been given, and the
  /// functions that gave them had returned.
  [[nodiscard]] std::uint32_t outstanding() const noexcept { return promised_beyond(ended_); }

  /// The runtime that it was made from.
  [[nodiscard]] weft::runtime& runtime() const noexcept { return *runtime_; }

 protected:
  /// The runtime counts its objects: if it is destroyed before one of them, the process ends with a message.
  explicit completion(weft::runtime& owner) noexcept;
  virtual ~completion();

  /// Must be the first call of the destructor of a class of your own. If an exception is leaving the scope of the
  /// object, cancels the posted operations that would signal it, and makes progress on shared devices until the others
  /// have signalled it. What is cancelled here is not signalled. Otherwise it does nothing.
  ///
  /// **Blocking**: a second at most, and only then.
  void end_signals() noexcept { end_signals(nullptr); }

  /// Called by the constructor of a class of your own: short messages that a receive has got in full, into one buffer
  /// of ordinary memory, may be given to `function` instead of to `signal`, in a third of the time. `context` is the
  /// receive's, and `bytes` says how many were written.
  ///
  /// **Blocking**: `function` may not block, and may call nothing of this library. **Threads**: as of `signal`.
  void take_receives_by(receive_function function) noexcept { received_ = function; }

  /// Whether this is the copy that a child of fork() has. Its signals come to the object in the parent, and what it
  /// holds may have been changing at the fork: a destructor leaves both alone.
  [[nodiscard]] bool is_copy() const noexcept;

  /// The device that signals the object, for use inside `signal`: the one whose `progress()` delivers the message, or
  /// through which the post goes that gives the signal before it returns. If the program itself calls `signal` outside
  /// of handlers: the default device.
  [[nodiscard]] device& signalling_device() const noexcept;

  /// Ends the process because a function that a signal called has thrown: with the text of the exception that is
  /// handled now.
  [[noreturn]] static void function_threw() noexcept;

  /// Wakes threads that wait for `object`, which has been signalled and may be destroyed by now. The library calls this
  /// for signals that it gives itself.
  static void signalled(weft::runtime& owner, const completion* object) noexcept;

 private:
  friend class core::registrations;
  friend class core::promise;  // core/operation/promise.hpp: all else that the library does with signals

  // Ends it for an object that can be full: `make_room` empties it.
  void end_signals(void (*make_room)(completion& full)) noexcept;

  friend class batch;
  friend class blocking_device;
  friend class completion_queue;
  friend class synchronizer;
  friend class counter;

  // How many signals were promised, how many have begun, and how many have ended. A thread that sees a signal may
  // destroy the object while the function that gave the signal still returns. So the destructor waits for signals that
  // have begun; promised signals that have not begun show a wrong use. Each of the first threads counts in words that
  // only it writes, so only the sums have a meaning. This saves two locked operations for each operation.
  struct signal_count {
    std::array<std::atomic<std::uint32_t>, 8> by_thread{};  // index: thread slot
    std::atomic<std::uint32_t> by_others{0};
  };

  void count(signal_count& which) noexcept {
    if (has_own_words()) [[likely]] {
      count_in_own_word(which);
    } else {
      count_first(which);
    }
  }
  [[nodiscard]] bool has_own_words() const noexcept { return detail::cached_thread_slot < promised_.by_thread.size(); }
  [[gnu::always_inline]] static void count_in_own_word(signal_count& which) noexcept {
    std::atomic<std::uint32_t>& mine = which.by_thread[detail::cached_thread_slot];
    // [completion.count] release -> [completion.sum]: the promise, which comes before, and what the signal did.
    mine.store(mine.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // Counts for a thread whose slot is not known yet, or that is not among the first.
  static void count_first(signal_count& which) noexcept;
  // Takes back what the calling thread has counted.
  static void count_back(signal_count& which) noexcept;

  [[nodiscard]] static std::uint32_t sum(const signal_count& which) noexcept {
    // [completion.sum] acquire <- [completion.count_first], [completion.count_back]: an end is counted after its
    // promise was.
    std::uint32_t out = which.by_others.load(std::memory_order_acquire);
    // [completion.sum] acquire <- [completion.count], [completion.count_back]: an end is counted after its promise was.
    for (const auto& each : which.by_thread) out += each.load(std::memory_order_acquire);
    return out;
  }
  // Reads the promises last: if they are as many as the ends, no promise was open when the ends were read.
  [[nodiscard]] std::uint32_t promised_beyond(const signal_count& gone) const noexcept {
    const std::uint32_t before = sum(gone);
    return sum(promised_) - before;
  }

  weft::runtime* runtime_;
  signal_count promised_, begun_, ended_;
  std::atomic<std::uint32_t> registrations_{0};
  // The queue of a bounded completion queue, into which records are written in place. Null: use `signal`.
  detail::laned_queue<detail::raw_record, detail::std_atomics>* queue_ = nullptr;
  // The value of a counter, which a signal without error increments; null for other objects.
  std::atomic<std::uint64_t>* count_ = nullptr;
  // Takes the place of `signal` for simple receives; null: nothing does.
  receive_function received_ = nullptr;
  // The context of each operation is a call that waits for it (core/operation/awaited_call.hpp).
  bool is_of_calls_ = false;
  // It counts the signals that posts promise, so it can't be registered for others.
  bool is_for_posts_alone_ = false;
};

/// Names a registered completion object of another rank.
struct remote_completion {
  std::uint32_t id = 0;  ///< the id under which it was registered
};

/// Ids from here on are the library's own.
inline constexpr std::uint32_t remote_completion_ids_max = 0xffff'ff00;

}  // namespace weft

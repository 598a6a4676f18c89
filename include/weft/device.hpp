// A device: the communication resources through which threads post and make progress (yan2025-lci, 4.2.3 to 4.2.7).
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/counters.hpp"
#include "weft/hook.hpp"
#include "weft/matched_message.hpp"
#include "weft/matching_engine.hpp"
#include "weft/packet.hpp"
#include "weft/post_options.hpp"
#include "weft/progress_policy.hpp"
#include "weft/region.hpp"
#include "weft/status.hpp"
#include "weft/wait.hpp"

namespace weft {

class completion_queue;
class counter;
class blocking_device;
class synchronizer;
class wait_descriptor;
namespace core {
class device_state;
class run_loop_state;
}  // namespace core

namespace detail {

/// What `device::post_am` and `post_send` promise, of messages that are plain (`is_plain`).
status post_plain_am(core::device_state& through, message_target to, remote_completion at, const_buffer_ref bytes,
                     std::uint64_t tag);
status post_plain_send(core::device_state& through, message_target to, match_policy policy, const_buffer_ref bytes,
                       std::uint64_t tag);
/// The same of `device::post_recv`, of receives from the default engine that may be retried.
status post_plain_recv(core::device_state& through, message_source from, buffer_ref buffer, completion& local,
                       std::uint64_t tag, void* context);
/// Puts and gets that are no more than a copy of memory that is mapped here. False: nothing has happened.
[[nodiscard]] bool put_at_once(core::device_state& through, std::uint32_t peer, const_buffer_ref bytes,
                               const remote_buffer& to);
[[nodiscard]] bool get_at_once(core::device_state& through, std::uint32_t peer, buffer_ref buffer,
                               const remote_buffer& from);

}  // namespace detail

/// How a device is to be used.
struct device_options {
  /// Whether several threads may use the device at once. A device of one thread's own spares the atomic operations.
  bool shared = true;
  /// What else is polled by calls of progress that find nothing here; unless given, as `WEFT_PROGRESS_POLICY` says,
  /// which is `local` by default. Only shared devices are polled for others.
  std::optional<progress_policy> policy{};
};

/// Threads on different devices don't disturb each other; any number of devices per rank, made and destroyed by any
/// thread at any time. Peers need not know: a message for a device that has gone arrives at another one.
///
/// Every posting function: **Blocking**: never. **Threads**: any number on a shared device, one on a device of its
/// own; inside handlers and hooks as well. **Returns**: *done*, *posted* (`local` will be signalled once) or *retry*
/// (nothing happened). **Errors**: `invalid_argument` for an unknown rank or a null buffer with a size; `backlog_full`
/// where `.allow_retry = false` finds the backlog at its bound; `transport_failed` where nothing can be sent to that
/// rank any more. What each of them says comes on top of it.
/// **Source**: yan2025-lci, 4.2.3 to 4.2.7.
class device {
 public:
  /// Makes a device. **Blocking**: briefly, for memory, and until a call of progress on the default device is over; not
  /// inside a handler. **Threads**: any.
  /// **Errors**: `invalid_state` beyond `WEFT_DEVICES_MAX` devices at once.
  explicit device(weft::runtime& owner, const device_options& options = {});

  /// Its rings are served by the default device from now on. Operations posted on it that are under way are completed
  /// there too. **Blocking**: until threads that polled it for others, or the default device, are done with that call;
  /// not inside a handler. **Threads**: none may be using it.
  ~device();

  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// Sends `bytes` to the completion object that `target` registered at rank `peer` as `to`.
  ///
  /// Up to 40 bytes ride in the descriptor, up to `WEFT_PACKET_BYTES` are copied into a packet (both answer *done*);
  /// more are fetched from `bytes` by the target (*posted*), however many they are.
  /// **Buffer**: the caller's again after *done*, or when `local` is signalled; unread after *retry*.
  /// **Errors**: `invalid_argument` for a reserved id.
  /// **Order**: none between messages. **Source**: yan2025-lci, 4.2.4 and 5.3.
  status post_am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, completion& local,
                 const post_am_options& options = {}) {
    // The options are mostly known where this is compiled. Then nothing is left of the question, nor of them.
    if (detail::is_plain(bytes, options)) [[likely]]
      return detail::post_plain_am(*state_, {peer, options.device}, to, bytes, options.tag);
    return post_any_am(peer, to, bytes, local, detail::anew(options));
  }
  /// The same for several buffers that make up one message; a long one travels in packets.
  status post_am(std::uint32_t peer, remote_completion to, const_buffer_list bytes, completion& local,
                 const post_am_options& options = {});

  /// Sends the first `bytes` bytes of a packet that the caller has filled, without copying them (over libfabric they
  /// are copied). **Buffer**: after *done* the packet is the library's, and empty here; after *retry* it is the
  /// caller's as before. **Returns**: *done* or *retry*. **Errors**: `invalid_state` for a packet that was posted
  /// before, `invalid_argument` for one of another runtime and for more bytes than it has. The rest as above.
  status post_am(std::uint32_t peer, remote_completion to, packet& filled, std::size_t bytes,
                 const post_packet_options& options = {});

  /// Sends `bytes` to the receive that rank `peer` posts in the same engine under the same policy, rank and tag,
  /// whichever of the two comes first. Goes by size as an active message does; where many wait there already, one that
  /// would go in a packet stays here until it is wanted (*posted*). In a receiver-first engine all stay here until
  /// their receives are announced (*posted*); where one is already, what fits into a packet is *done*.
  ///
  /// **Buffer**: the caller's again after *done*, or when `local` is signalled, which does not say that the message has
  /// met its receive unless `.complete_at = delivered`.
  /// **Errors**: `invalid_argument` for an engine that this rank has not made, and for a policy in an ordered or
  /// receiver-first one; in such a one the completion has `unknown_completion` where the other rank's is of another
  /// kind.
  /// **Order**: none, also between messages of one tag; in an `ordered` engine that of the posts of each rank, in a
  /// receiver-first one the same between messages of one tag.
  /// **Source**: dang2016, 2.3 and 3.1; yan2025-lci, 4.2.8.
  status post_send(std::uint32_t peer, const_buffer_ref bytes, completion& local,
                   const post_send_options& options = {}) {
    if (options.engine == default_matching_engine && options.policy <= match_policy::none &&
        detail::is_plain(bytes, options) && &local.runtime() == runtime_) [[likely]] {
      return detail::post_plain_send(*state_, {peer, options.device}, options.policy, bytes, options.tag);
    }
    return post_any_send(peer, bytes, local, detail::anew(options));
  }
  /// The same for several buffers that make up one message; a long one travels in packets.
  status post_send(std::uint32_t peer, const_buffer_list bytes, completion& local,
                   const post_send_options& options = {});

  /// Receives one message into `buffer`. Never *done*: `local` is signalled, perhaps before this returns, with the
  /// source, the tag and what was written. A message longer than the buffer is the error `truncated`: not one byte is
  /// written, and `message_bytes()` says how long it was.
  ///
  /// **Buffer**: the library's until `local` is signalled.
  /// **Returns**: `.ticket()` of the answer is what `cancel` wants.
  /// **Errors**: `invalid_argument` for an engine that this rank has not made, for a wildcard in one that is not
  /// ordered, and for a policy in one that is, or is receiver-first. There the completion has `unknown_completion`
  /// where rank `peer` has given up the engine, or has one of another kind; `transport_failed` is thrown as for a send.
  /// **Order**: receives of one rank, tag, policy and engine are matched in the order of their posts, but for those
  /// that waited in the backlog; in a receiver-first engine those as well.
  /// **Source**: dang2016, 3.1; yan2025-lci, 4.3.2.
  status post_recv(std::uint32_t peer, buffer_ref buffer, completion& local, const post_recv_options& options = {}) {
    if (options.engine == default_matching_engine && options.policy <= match_policy::none && options.allow_retry &&
        !options.any_tag && &local.runtime() == runtime_) [[likely]] {
      return detail::post_plain_recv(*state_, {peer, options.policy}, buffer, local, options.tag, options.context);
    }
    return post_any_recv(peer, buffer, local, detail::anew(options));
  }
  /// The same into several buffers, filled one after the other.
  status post_recv(std::uint32_t peer, buffer_list buffer, completion& local, const post_recv_options& options = {});

  /// Takes back the receive that answered with `ticket`. Exactly one of two things happens: `cancelled`, and its
  /// completion is signalled with the error `cancelled`; or `too_late`, and it completes as it would have.
  /// In a receiver-first engine the sender has the buffer, and is asked: `busy` until it has answered, which takes its
  /// progress and this rank's, then `too_late` in either case; the completion says whether it was `cancelled`.
  /// **Blocking**: never; `busy` where another thread has the place at this moment, or the receive is in the backlog:
  /// make progress and ask again. **Threads**: as for posting, on any device of the runtime.
  cancel_result cancel(std::uint64_t ticket) noexcept;

  /// Takes the oldest message for which a receive with these arguments would be at hand, if there is one: it is the
  /// caller's alone then, to look at and to receive. Nothing also where another thread has the place at this moment.
  /// **Blocking**: never; makes no progress. **Threads**: as for posting. **Errors**: those of `post_recv`, and
  /// `invalid_argument` for a receiver-first engine, where messages stay with their senders.
  [[nodiscard]] std::optional<matched_message> probe(std::uint32_t peer, const probe_options& options = {});

  /// Writes `bytes` into the region that `to` names, at rank `peer`; with `.signal`, then signals that completion there
  /// with tag and size. *done* also says that the data is there, where the region is mapped or the kernel copies.
  ///
  /// **Buffer**: the caller's again after *done*, or when `local` is signalled.
  /// **Errors**: `region_refused` where the handle is another job's or rank's, reaches too far, or is known to be
  /// withdrawn; what only the target can know comes with the completion, or, after *done*, with the next flush.
  /// **Order**: none between puts; a put's own signal comes after its data. **Source**: yan2025-lci, table 1.
  status post_put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to, completion& local,
                  const post_put_options& options = {}) {
    if (options.allow_done && !options.signal && &local.runtime() == runtime_ &&
        detail::put_at_once(*state_, peer, bytes, to)) [[likely]] {
      return status::done();
    }
    return post_any_put(peer, bytes, to, local, detail::anew(options));
  }
  /// The same for several buffers, written one after the other.
  status post_put(std::uint32_t peer, const_buffer_list bytes, const remote_buffer& to, completion& local,
                  const post_put_options& options = {});

  /// Reads `buffer.bytes()` bytes from the region that `from` names; with `.signal`, then signals that completion at
  /// the target. *done* and a signalled `local` say that they are here.
  ///
  /// **Buffer**: the library's until then. **Errors**: as for `post_put`. **Order**: none between gets, nor with puts
  /// that are not flushed. **Source**: yan2025-lci, table 1.
  status post_get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from, completion& local,
                  const post_get_options& options = {}) {
    if (options.allow_done && !options.signal && &local.runtime() == runtime_ &&
        detail::get_at_once(*state_, peer, buffer, from)) [[likely]] {
      return status::done();
    }
    return post_any_get(peer, buffer, from, local, detail::anew(options));
  }

  /// Combines a word of a region with `operand`: atomic with respect to all other remote atomics on it, of all ranks
  /// and threads, this one included, and to `std::atomic_ref` at the target. `Word` has 4 or 8 bytes.
  ///
  /// **Buffer**: `.result`, where given, is written before *done* or the signal. **Order**: none between them.
  /// **Errors**: as for `post_put`, and `invalid_argument` for a place that is not a multiple of the word's size.
  template <class Word>
  status post_atomic(std::uint32_t peer, atomic_op op, Word operand, const remote_buffer& at, completion& local,
                     const post_atomic_options<Word>& options = {}) {
    static_assert(std::is_integral_v<Word> && (sizeof(Word) == 4 || sizeof(Word) == 8), "words of 4 or 8 bytes");
    const auto word = [](Word value) {
      return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<Word>>(value));
    };
    return post_atomic_word(peer, {op, sizeof(Word), word(operand), word(options.compare), options.result}, at, local,
                            {.complete_at = options.complete_at,
                             .device = options.device,
                             .context = options.context,
                             .allow_done = options.allow_done,
                             .allow_retry = options.allow_retry});
  }

  /// All of the above in one: the direction, and whether a remote buffer and a remote completion are named, say which
  /// (yan2025-lci, table 1). **Errors**: `invalid_argument` for the one combination that means nothing, a receive with
  /// a remote completion, and for a receive or get from constant memory.
  status post_comm(direction way, std::uint32_t peer, const_buffer_ref bytes, completion& local,
                   const post_comm_options& options = {});
  /// The same where what comes in can be written.
  status post_comm(direction way, std::uint32_t peer, buffer_ref buffer, completion& local,
                   const post_comm_options& options = {});

  /// Returns once every put, atomic, and message posted with `.complete_at = delivered` by this rank to rank `peer` (to
  /// all ranks) has been delivered, those that other threads post meanwhile included.
  ///
  /// **Blocking**: until then; makes progress on this device, so what was posted on others has to be moved on there.
  /// Not inside a handler. **Threads**: as for posting. **Errors**: `region_refused` where a put or atomic that had
  /// answered *done* was refused by its target since the last flush to that rank; `invalid_argument` for an unknown
  /// rank, `invalid_state` inside a handler, a hook or a node of a graph; `transport_failed` as for posting.
  void flush(std::uint32_t peer);
  /// The same for one rank after the other.
  void flush();

  /// Moves communication on: delivers what has arrived, continues long messages, posts what waits in the backlog. A
  /// call that finds nothing looks after other devices by this one's policy, and now and then, under every policy,
  /// after the default device, where messages for devices that are not there yet, or no longer, arrive.
  ///
  /// **Blocking**: never; if another thread is at it on this device, or this one inside a handler, returns false at
  /// once. **Threads**: as for posting. **Returns**: whether it moved something, wherever. The whole contract is in
  /// docs/progress.md. **Source**: zhou2024, 2.6; yan2025-lci, 4.2.7; yan2025-mpi-extensions, 5.2.
  bool progress() noexcept;

  /// Lets progress on this device call `function` until it answers `done` or is removed: `hook_answer function()`, or
  /// `hook_answer function(device&)`, once in each call of progress but for those that are busy with messages, of which
  /// at most 63 come one after the other. A hook may post, add hooks, which run from the next call on, and remove them;
  /// its own calls of progress on this device answer false. It may not wait and must not throw: that ends the process.
  /// While there are hooks, waiting on this device yields instead of sleeping.
  ///
  /// **Blocking**: never; allocates. **Threads**: any, for adding and removing; `function` runs in the thread that
  /// makes progress, never twice at once. **Returns**: the hook's handle, which removes it when it goes; `detach()`
  /// leaves it to the device. What is left when the device goes is destroyed without being called. **Source**:
  /// zhou2024, 3.3.
  template <class Function>
  hook add_hook(Function function) {
    return add_hook_node(std::make_unique<detail::hook_function<Function>>(std::move(function), *this));
  }

  /// Waits until `is_done()`, which is asked anew after progress on this device and after each signal of `on`, by
  /// whatever thread. Looks some times, then sleeps until a message comes or `on` is signalled (`options.mode` says
  /// otherwise); a condition that comes true by other means may be noticed up to 100 ms later.
  ///
  /// **Blocking**: until then; makes progress on this device. Not inside a handler. **Threads**: as for posting;
  /// several on a shared device, each for an object of its own or for the same one. **Returns**: whether it is done;
  /// false after `options.timeout`. **Errors**: `invalid_state` inside a handler, `invalid_argument` for an object of
  /// another runtime.
  template <std::predicate Condition>
  bool wait(const completion& on, Condition is_done, const wait_options& options = {}) {
    return wait({&on}, std::move(is_done), options);
  }
  /// The same for several objects: a signal of any of them makes it ask anew.
  template <std::predicate Condition>
  bool wait(std::initializer_list<const completion*> on, Condition is_done, const wait_options& options = {}) {
    return wait_until(
        {on.begin(), on.size()},
        [](void* condition) { return static_cast<bool>((*static_cast<Condition*>(condition))()); }, &is_done, options);
  }

  /// Waits for a record and takes it; nothing after `options.timeout`. The rest as above.
  [[nodiscard]] std::optional<completion_record> wait(completion_queue& from, const wait_options& options = {});
  /// Waits until it is ready; false after `options.timeout`. The rest as above.
  bool wait(const synchronizer& on, const wait_options& options = {});
  /// Waits until it has counted at least `value` signals; false after `options.timeout`. The rest as above.
  bool wait(const counter& on, std::uint64_t value, const wait_options& options = {});

  /// This device's number on its rank; the default device is 0.
  [[nodiscard]] std::uint32_t index() const noexcept;
  /// What `.shared` it was made with.
  [[nodiscard]] bool is_shared() const noexcept;
  /// Which other devices its quiet calls look after.
  [[nodiscard]] progress_policy policy() const noexcept;
  /// What it has counted so far. **Blocking**: never. **Threads**: any.
  [[nodiscard]] device_counters counters() const noexcept;
  /// What it was made from.
  [[nodiscard]] weft::runtime& runtime() const noexcept { return *runtime_; }

 private:
  friend class blocking_device;
  friend class wait_descriptor;
  friend class core::run_loop_state;

  // Those that aren't plain.
  status post_any_am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, completion& local,
                     const post_am_options& options);
  status post_any_send(std::uint32_t peer, const_buffer_ref bytes, completion& local, const post_send_options& options);
  status post_any_recv(std::uint32_t peer, buffer_ref buffer, completion& local, const post_recv_options& options);
  status post_any_put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to, completion& local,
                      const post_put_options& options);
  status post_any_get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from, completion& local,
                      const post_get_options& options);

  status post_atomic_word(std::uint32_t peer, const detail::atomic_request& what, const remote_buffer& at,
                          completion& local, const detail::post_atomic_word_options& options);

  hook add_hook_node(std::unique_ptr<detail::hook_node> made);
  bool wait_until(std::span<const completion* const> on, bool (*is_done)(void*), void* condition,
                  const wait_options& options);
  bool wait_until_checked(std::span<const completion* const> on, bool (*is_done)(void*), void* condition,
                          const wait_options& options);

  weft::runtime* runtime_;
  core::device_state* state_;
};

}  // namespace weft

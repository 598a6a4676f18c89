// SPDX-License-Identifier: BSD-3-Clause
// A device: the communication resources through which threads post operations and make progress (yan2025-lci, 4.2.3 to
// 4.2.7).
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
#include "weft/detail/fiber_wait.hpp"
#include "weft/detail/fiber_words.hpp"
#include "weft/detail/report_names.hpp"
#include "weft/detail/test_loop.hpp"
#include "weft/device_options.hpp"
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
class device;
class blocking_device;
class progress_thread;
class synchronizer;
class wait_descriptor;
namespace fibers {
class scheduler;
}
namespace core {
class device_state;
class graph_state;
class run_loop_state;
}  // namespace core

namespace detail {

/// The fast path of `device::post_am` and `post_send`, for inline messages with default options (`goes_inline`).
status fast_post_am(core::device_state& dev, message_target to, remote_completion remote, ordinary_bytes bytes,
                    std::uint64_t tag);
status fast_post_send(core::device_state& dev, message_target to, match_policy policy, ordinary_bytes bytes,
                      std::uint64_t tag);
/// Sends in an engine named by its object, matched by rank and tag.
status fast_send_in(core::device_state& dev, message_target to, core::engine_state& engine, ordinary_bytes bytes,
                    const rest_of_send& rest);
/// The fast path of `device::post_recv`, for receives from the default engine that may answer *retry*.
status fast_post_recv(core::device_state& dev, message_source from, ordinary_buffer buffer, completion& local,
                      std::uint64_t tag, void* context);
/// Receives in an engine named by its object.
status fast_recv_in(core::device_state& dev, message_source from, ordinary_buffer buffer, completion& local,
                    std::uint64_t tag, void* context, core::engine_state& engine);
/// Puts and gets that are one copy, as the peer's memory is mapped here. False: nothing has happened.
[[nodiscard]] bool fast_put(core::device_state& dev, std::uint32_t peer, ordinary_bytes bytes, const remote_buffer& to);
[[nodiscard]] bool fast_get(core::device_state& dev, std::uint32_t peer, ordinary_buffer buffer,
                            const remote_buffer& from);
/// All other gets into one buffer, and wrong calls.
status slow_post_get(core::device_state& dev, std::uint32_t peer, buffer_ref buffer, const remote_buffer& from,
                     completion& local, const post_get_options& options);

template <class Post>
concept posting_callable = requires(Post& post) {
  { post() } -> std::same_as<status>;
};

/// Parts of `device::until_accepted`: refuses calls inside callbacks; and what it does after a post that answered
/// *retry*.
void begin_posting();
void make_room(device& dev);
/// The next step of a wait by tests; `test_loop` says when.
void rest_between_tests(device& dev, test_loop& tests) noexcept;
/// Lets several threads use a device that was made with `.shared = false`, or again one at a time. Threads of other
/// devices never poll it. **Threads**: none may be using the device. **Errors**: `invalid_state` for the default
/// device, and for one that was made with `.shared = true`.
void set_shared(device& dev, bool shared);

}  // namespace detail

/// A set of rings to and from each peer, with a backlog and a poll gate. Threads on different devices share packets,
/// operations and the matching table, but neither rings nor gate. A rank may have up to `WEFT_DEVICES_MAX` devices; any
/// thread may make and destroy them at any time. A message for a device that does not exist, or no longer, arrives at
/// another device of its rank.
///
/// Every posting function: **Blocking**: never. **Threads**: any number of threads on a shared device, one thread at a
/// time on a device of its own; also inside handlers and hooks. **Returns**: *done*, *posted* (the library will signal
/// `local` once) or *retry* (nothing happened). **Errors**: `invalid_argument` for an unknown rank, for a null buffer
/// with a size, and for a `local` of another runtime (not checked for a message that is *done*); `backlog_full`
/// if `.allow_retry = false` and the backlog is at its bound; `peer_failed` if that rank has ended, `transport_failed`
/// if nothing can be sent to it any more for another reason. A function names its further errors. An operation under
/// way with a rank that ends is complete with the error `peer_failed`.
///
/// The functions without effects (`index` to `runtime`): **Blocking**: never. **Threads**: any. **Errors**: none.
/// **Source**: yan2025-lci, 4.2.3 to 4.2.7.
class device {
 public:
  /// Makes a device. **Blocking**: briefly, for memory, and until a call of `progress()` on the default device returns.
  /// **Threads**: any. **Errors**: `invalid_state` beyond `WEFT_DEVICES_MAX` devices at once, and inside a handler or
  /// hook of the default device.
  explicit device(weft::runtime& owner, const device_options& options = {});
  template <class WriteRuntimeAndMembersInOrderOf = device_options>
  explicit device(...) = delete;  // write a runtime, and members of device_options in their order

  /// Leaves its rings and its pending operations to the default device.
  ///
  /// **Blocking**: until calls of `progress()` return that other threads have begun on this device or on the default
  /// device. **Threads**: none may be using it. **Errors**: inside a handler or hook of this device or the default
  /// device it ends the process with a message.
  ~device();

  device(const device&) = delete;
  device& operator=(const device&) = delete;

  /// Sends an active message: signals the completion object that rank `peer` registered under id `to`, with a record
  /// that owns the bytes.
  ///
  /// The size decides the protocol. Up to 40 bytes go eager and inline, in the cell that announces the message. Up to
  /// `WEFT_PACKET_BYTES` go eager in a packet. Both answer *done*. A longer message is *posted* and goes by rendezvous:
  /// the sender sends an RTS, the target copies from `bytes`, and answers with FIN. If the target cannot read the
  /// sender's memory, it answers with RTR, and the sender sends packets. With `.complete_at = delivered` a message of
  /// any size goes by rendezvous.
  /// **Buffer**: the caller's again after *done*, or when `local` is signalled; unread after *retry*.
  /// **Errors**: `invalid_argument` for a reserved id.
  /// **Order**: none between messages. **Source**: yan2025-lci, 4.2.4 and 5.3.
  status post_am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, completion& local,
                 const post_am_options& options = {}) {
    // The compiler mostly knows the options here, and removes the test and the options.
    if (detail::goes_inline(bytes, options)) [[likely]]
      return detail::fast_post_am(*state_, {peer, options.device}, to, detail::ordinary(bytes), options.tag);
    return post_am_slow(peer, to, bytes, local, detail::copy_of(options));
  }
  /// Sends a list of buffers as one active message; a long one travels in packets. **Buffer**: the list and its
  /// buffers, as for one buffer.
  status post_am(std::uint32_t peer, remote_completion to, const_buffer_list bytes, completion& local,
                 const post_am_options& options = {});
  template <class WriteMembersInOrderOf = post_am_options>
  status post_am(std::uint32_t, remote_completion, const_buffer_ref, completion&,
                 ...) = delete;  // options that do not fit
  template <class WriteBufferCompletionAndMembersInOrderOf = post_am_options>
  status post_am(std::uint32_t, remote_completion, ...) = delete;  // arguments that do not fit
  template <class WriteMembersOf = remote_completion>
  status post_am(std::uint32_t, ...) = delete;  // an id that does not fit

  /// Sends the first `bytes` bytes of a packet that the caller has filled, without a copy (libfabric copies them).
  ///
  /// **Buffer**: after *done* the library owns the packet, and `filled` is empty; after *retry* the caller still owns
  /// it.
  /// **Returns**: *done* or *retry*. **Errors**: `invalid_state` for a packet that was posted before;
  /// `invalid_argument` for a reserved id, for a packet of another runtime, and for more bytes than a packet has.
  status post_am(std::uint32_t peer, remote_completion to, packet& filled, std::size_t bytes,
                 const post_packet_options& options = {});

  /// Whether the next `reply` of the running handler of up to `bytes` bytes, or a packet's if that is more, will be
  /// accepted for certain. A handler asks this first, before it acts; if the answer is false, it returns
  /// `completion::answer::full`, and the message comes again when replies have been sent.
  ///
  /// True reserves the room until a reply has had to use it or the handler returns; each handler that runs has its own
  /// reservation, also one inside another one. Outside of handlers, hooks and nodes of graphs nothing is reserved: then
  /// true says that there is room at this moment.
  ///
  /// **Blocking**: never; allocates where the thread has no memory for a reply yet. **Threads**: as for posting.
  /// **Returns**: false if as many replies wait as the bound allows, which is the larger of `WEFT_OPERATIONS_MAX` (1024
  /// unless set) and `WEFT_RING_CELLS` for a rank (a little more where no reply can be sent for a long time), or if
  /// there is no memory.
  /// **Errors**: none.
  [[nodiscard]] bool can_reply(std::size_t bytes = 0) noexcept;

  /// Answers the message `request` by an active message to its sender, which signals the completion object that was
  /// registered there under id `to`. If the reply can't be sent now, the library keeps a copy, and calls of
  /// `progress()` on this device send it. `flush` waits for such replies, too. A reply to a rank that has ended is
  /// dropped.
  ///
  /// **Buffer**: the caller's again when this returns. **Blocking**: never. **Threads**: as for posting; also outside
  /// of handlers.
  /// **Errors**: none after `can_reply()` with as many bytes, but wrong calls: `invalid_argument` for an unknown rank,
  /// for a reserved id, for a null buffer with a size, for a `.local` of another runtime, and for more bytes than a
  /// packet has without `.copy_long`. Without `can_reply()` also `backlog_full` and `out_of_memory`, where the reply
  /// can't be sent at once and no more can be kept. `memory_failed` where functions of the bytes' memory fail: nothing
  /// is sent. An error that comes later, such as `peer_failed`, is in the record for `.local`.
  /// **Order**: none between messages. **Source**: yan2025-lci, 4.2.4.
  void reply(const completion_record& request, remote_completion to, const_buffer_ref bytes,
             const reply_options& options = {}) {
    reply_with(request.source(), to, bytes, request.tag(), options);
  }
  /// Replies to any rank: a handler that asks a third rank. There `can_reply` bounds what is kept as well, but two
  /// ranks whose handlers ask each other without end may wait for each other. **Blocking**, **Threads**, **Buffer** and
  /// **Errors**: as for an answer.
  void reply(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, const reply_options& options = {}) {
    reply_with(peer, to, bytes, 0, options);
  }
  template <class WriteMembersInOrderOf = reply_options>
  void reply(const completion_record&, remote_completion, const_buffer_ref, ...) = delete;  // options that do not fit
  template <class WriteMembersInOrderOf = reply_options>
  void reply(std::uint32_t, remote_completion, const_buffer_ref, ...) = delete;  // options that do not fit
  template <class WriteRequestOrRankRemoteCompletionBufferAndMembersInOrderOf = reply_options>
  void reply(...) = delete;  // arguments that do not fit

  /// Sends `bytes` to a receive that rank `peer` posts in the same matching engine under the same policy, rank and tag.
  /// Send and receive may come in either order.
  ///
  /// The size decides the protocol, as for an active message. If too many of this rank's messages wait unexpected at
  /// `peer`, a message of more than 40 bytes goes by rendezvous instead of in a packet (*posted*). In an ordered engine
  /// a message of any size may be *posted*: one that found no room after another thread had taken the number behind its
  /// own. In a receiver-first engine a send waits here until the RTR of its receive has come (*posted*); if that has
  /// come already, a send that fits into a packet is *done*.
  ///
  /// **Buffer**: the caller's again after *done*, or when `local` is signalled. Only with `.complete_at = delivered`
  /// that also means that the message has matched its receive.
  /// **Errors**: `invalid_argument` for an engine that this rank has not made, and for a policy other than `rank_tag`
  /// in an ordered or receiver-first engine. In a receiver-first engine the completion has the error
  /// `unknown_completion` if the other rank's engine is of another kind.
  /// **Order**: none, also between messages of one tag. In an `ordered` engine messages of one rank are matched in the
  /// order of their posts; in a receiver-first engine this holds for messages of one rank and tag.
  /// **Source**: dang2016, 2.3 and 3.1; yan2025-lci, 4.3.2.
  status post_send(std::uint32_t peer, const_buffer_ref bytes, completion& local,
                   const post_send_options& options = {}) {
    if (options.policy <= match_policy::none && detail::goes_inline(bytes, options) && &local.runtime() == runtime_)
        [[likely]] {
      if (options.engine.object() != nullptr) {
        if (options.policy == match_policy::rank_tag)
          return detail::fast_send_in(*state_, {peer, options.device}, *options.engine.object(),
                                      detail::ordinary(bytes), {options.tag, &local, options.context});
      } else if (options.engine.is_default()) {
        return detail::fast_post_send(*state_, {peer, options.device}, options.policy, detail::ordinary(bytes),
                                      options.tag);
      }
    }
    return post_send_slow(peer, bytes, local, detail::copy_of(options));
  }
  /// Sends a list of buffers as one message; a long one of short buffers travels in packets. **Buffer**: the list and
  /// its buffers, as for one buffer. **Errors**: also `invalid_argument` for a list that is too long, or whose sizes
  /// add up to too much.
  status post_send(std::uint32_t peer, const_buffer_list bytes, completion& local,
                   const post_send_options& options = {});
  template <class WriteMembersInOrderOf = post_send_options>
  status post_send(std::uint32_t, const_buffer_ref, completion&, ...) = delete;  // options that do not fit
  template <class WriteRankBufferCompletionAndMembersInOrderOf = post_send_options>
  status post_send(...) = delete;  // arguments that do not fit

  /// Sends the first `bytes` bytes of a packet that the caller has filled, without a copy (libfabric copies them).
  ///
  /// **Buffer**: after *done* the library owns the packet, and `filled` is empty; after *retry* the caller still owns
  /// it. **Returns**: *done* or *retry*. **Errors**: `invalid_state` for a packet that was posted before;
  /// `invalid_argument` for a packet of another runtime and for more bytes than a packet has; those of `post_send`.
  status post_send(std::uint32_t peer, packet& filled, std::size_t bytes, const post_packet_send_options& options = {});

  /// Receives one message into `buffer`. Never *done*: the library always signals `local`, perhaps before this returns,
  /// with source, tag and the bytes that were written. If the message is longer than the buffer, the record has the
  /// error `truncated`: not one byte is written, and `message_bytes()` says how long the message was.
  ///
  /// **Buffer**: the library's until `local` is signalled.
  /// **Returns**: *posted*, with the `.ticket()` that `cancel` takes, or *retry*.
  /// **Errors**: `invalid_argument` for an engine that this rank has not made; for `any_rank` or `.any_tag` in an
  /// engine that is not ordered; for a policy other than `rank_tag` in an ordered or receiver-first engine. In a
  /// receiver-first engine the completion has the error `unknown_completion` if rank `peer` has destroyed the engine,
  /// or has one of another kind. `transport_failed` and `peer_failed` are thrown only there, where a receive sends an
  /// RTR. A receive whose policy names rank `peer` is complete with `peer_failed` if that rank has ended, and all that
  /// it had sent is received.
  /// **Order**: receives of one rank, tag, policy and engine are matched in the order of their posts; in an engine that
  /// is neither ordered nor receiver-first a receive that waited in the backlog may come later.
  /// **Source**: dang2016, 3.1; yan2025-lci, 4.3.2.
  status post_recv(std::uint32_t peer, buffer_ref buffer, completion& local, const post_recv_options& options = {}) {
    if (options.policy <= match_policy::none && options.allow_retry && !options.any_tag && buffer.memory() == nullptr &&
        &local.runtime() == runtime_) [[likely]] {
      if (options.engine.object() != nullptr)
        return detail::fast_recv_in(*state_, {peer, options.policy}, detail::ordinary(buffer), local, options.tag,
                                    options.context, *options.engine.object());
      if (options.engine.is_default())
        return detail::fast_post_recv(*state_, {peer, options.policy}, detail::ordinary(buffer), local, options.tag,
                                      options.context);
    }
    return post_recv_slow(peer, buffer, local, detail::copy_of(options));
  }
  /// Receives one message into a list of buffers, filled one after the other. **Buffer**: the list and its buffers, as
  /// for one buffer.
  status post_recv(std::uint32_t peer, buffer_list buffer, completion& local, const post_recv_options& options = {});
  template <class WriteMembersInOrderOf = post_recv_options>
  status post_recv(std::uint32_t, buffer_ref, completion&, ...) = delete;  // options that do not fit
  template <class WriteRankBufferCompletionAndMembersInOrderOf = post_recv_options>
  status post_recv(...) = delete;  // arguments that do not fit

  /// Cancels the receive, send or active message that was *posted* with `ticket`. Either it answers `cancelled`, and
  /// the completion is signalled with the error `cancelled`; or it answers `too_late`, and the operation completes as
  /// if it had not been cancelled. A put, get or atomic can't be cancelled.
  ///
  /// A message that is *posted* waits at its target, which fetches it: this rank has to ask the target to give it up.
  /// The target does so unless it has begun to receive the message: a receive has matched it, a probe has found it, or
  /// its object has memory for it. In a receiver-first engine a send waits here, and for a receive this rank has to ask
  /// the sender. Where it has to ask, this function answers `busy` until the peer has answered, which takes progress
  /// of both ranks; then it answers `too_late`, and the completion says whether the operation was `cancelled`. The same
  /// holds for a message in the backlog, which progress of its device ends; in an ordered engine it is sent first.
  /// **Blocking**: never. `busy` also if another thread holds the lock of the bucket at this moment, or if a receive is
  /// in the backlog: make progress and cancel again. **Threads**: as for posting, on any device of the runtime.
  /// **Errors**: none.
  cancel_result cancel(std::uint64_t ticket) noexcept;

  /// Takes the oldest unexpected message that a receive with these arguments would match, as `MPI_Improbe` does: no
  /// other receive can match it any more. Nothing if there is none, or if another thread holds the lock of the bucket
  /// at this moment (`.is_busy`). **Blocking**: never; makes no progress. **Threads**: as for posting. **Errors**:
  /// those of `post_recv`, and `invalid_argument` for a receiver-first engine, where messages stay with their senders.
  [[nodiscard]] std::optional<matched_message> probe(std::uint32_t peer, const probe_options& options = {});

  /// Source, tag and size of the oldest unexpected message that a receive with these arguments would match, as
  /// `MPI_Iprobe` gives them. The message stays: a receive that any thread posts may match it next, and a later call
  /// may find another one. Nothing if there is none, or if another thread holds the lock of the bucket at this moment
  /// (`.is_busy`). **Blocking**: never; makes no progress. **Threads**: as for posting; if several threads receive with
  /// these arguments, `probe` is safer. **Errors**: those of `probe`.
  [[nodiscard]] std::optional<message_envelope> peek(std::uint32_t peer, const probe_options& options = {});

  /// Writes `bytes` into the region of rank `peer` that `to` names. With `.signal` it then signals that completion
  /// object there, with tag and size. If the region is mapped here or the kernel copies, *done* also means that the
  /// data is in the region.
  ///
  /// **Buffer**: the caller's again after *done*, or when `local` is signalled.
  /// **Errors**: `region_refused` if the handle is of another job or rank, if the range reaches beyond the region, or
  /// if this rank knows that the region is withdrawn; `invalid_argument` for a reserved id in `.signal`. Errors that
  /// only the target knows come with the completion, or, after *done*, with the next flush.
  /// **Order**: none between puts; a put's own signal comes after its data. **Source**: yan2025-lci, table 1.
  status post_put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to, completion& local,
                  const post_put_options& options = {}) {
    if (options.allow_done && !options.signal && bytes.memory() == nullptr && &local.runtime() == runtime_ &&
        detail::fast_put(*state_, peer, detail::ordinary(bytes), to)) [[likely]] {
      return status::done();
    }
    return post_put_slow(peer, bytes, to, local, detail::copy_of(options));
  }
  /// Writes a list of buffers, one after the other. **Buffer**: the list and its buffers, as for one buffer.
  status post_put(std::uint32_t peer, const_buffer_list bytes, const remote_buffer& to, completion& local,
                  const post_put_options& options = {});
  template <class WriteMembersInOrderOf = post_put_options>
  status post_put(std::uint32_t, const_buffer_ref, const remote_buffer&, completion&,
                  ...) = delete;  // options that do not fit
  template <class WriteRankBufferRemoteBufferCompletionAndMembersInOrderOf = post_put_options>
  status post_put(...) = delete;  // arguments that do not fit

  /// Writes the first `bytes` bytes of a packet that the caller has filled, which the caller need not keep. **Buffer**
  /// and **Returns**: as for `post_send` of a packet; a flush says when the bytes are there. **Errors**: those of
  /// `post_put` and of `post_send` of a packet; after *done* they come with the next flush.
  status post_put(std::uint32_t peer, packet& filled, std::size_t bytes, const remote_buffer& to,
                  const post_packet_put_options& options = {});

  /// Reads `buffer.bytes()` bytes from the region of rank `peer` that `from` names. With `.signal` it then signals that
  /// completion object there.
  ///
  /// **Buffer**: the library's until *done* or the signal of `local`; then the bytes are in it. **Errors**:
  /// as for `post_put`. **Order**: none between gets, nor between gets and puts that are not flushed. **Source**:
  /// yan2025-lci, table 1.
  status post_get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from, completion& local,
                  const post_get_options& options = {}) {
    if (options.allow_done && !options.signal && buffer.memory() == nullptr && &local.runtime() == runtime_ &&
        detail::fast_get(*state_, peer, detail::ordinary(buffer), from)) [[likely]] {
      return status::done();
    }
    return detail::slow_post_get(*state_, peer, buffer, from, local, detail::copy_of(options));
  }
  /// Reads into a list of buffers, one after the other. **Buffer**: the list and its buffers, as for one buffer.
  /// **Errors**: also `invalid_argument` for a list that is too long, or whose sizes add up to too much.
  status post_get(std::uint32_t peer, buffer_list buffer, const remote_buffer& from, completion& local,
                  const post_get_options& options = {});
  template <class WriteMembersInOrderOf = post_get_options>
  status post_get(std::uint32_t, buffer_ref, const remote_buffer&, completion&,
                  ...) = delete;  // options that do not fit
  template <class WriteRankBufferRemoteBufferCompletionAndMembersInOrderOf = post_get_options>
  status post_get(...) = delete;  // arguments that do not fit

  /// Combines a word of a region of rank `peer` with `operand`, atomically with respect to all remote atomics on that
  /// word by any rank and thread, and to `std::atomic_ref` at the target. `Word` has 4 or 8 bytes.
  ///
  /// **Buffer**: the library writes `.result`, if given, before *done* or the signal; it must live until then.
  /// **Order**: none between atomics. **Errors**: as for `post_put`, and `invalid_argument` for an offset that is not a
  /// multiple of the word's size, and for an unknown `op`.
  template <detail::atomic_word Word>
  status post_atomic(std::uint32_t peer, atomic_op op, Word operand, const remote_buffer& target, completion& local,
                     const post_atomic_options<Word>& options = {}) {
    const auto word = [](Word value) {
      return static_cast<std::uint64_t>(static_cast<std::make_unsigned_t<Word>>(value));
    };
    return post_atomic_word(peer, {op, sizeof(Word), word(operand), word(options.compare), options.result}, target,
                            local,
                            {.complete_at = options.complete_at,
                             .device = options.device,
                             .context = options.context,
                             .allow_done = options.allow_done,
                             .allow_retry = options.allow_retry});
  }
  template <class WriteRankOperationWordRemoteBufferCompletionAndMembersInOrderOf = post_atomic_options<std::uint64_t>>
  status post_atomic(...) = delete;  // arguments that do not fit

  /// One function for all posts but atomics. Direction, remote buffer and remote completion select the operation: send,
  /// active message, put, receive or get (yan2025-lci, table 1). **Buffer**: as for that operation. **Errors**: those
  /// of that operation; `invalid_argument` for a receive with a remote completion, which is no operation, for a receive
  /// or get into constant memory, and for a send with `.any_tag`.
  status post_comm(direction data_direction, std::uint32_t peer, const_buffer_ref bytes, completion& local,
                   const post_comm_options& options = {});
  /// The overload for memory that can be written, which receives and gets need. **Buffer**: as for the operation.
  status post_comm(direction data_direction, std::uint32_t peer, buffer_ref buffer, completion& local,
                   const post_comm_options& options = {});
  template <class WriteMembersInOrderOf = post_comm_options>
  status post_comm(direction, std::uint32_t, const_buffer_ref, completion&, ...) = delete;  // options that do not fit
  template <detail::writable_container WriteBufferRefOrConstBufferRefOf>
  status post_comm(direction, std::uint32_t, WriteBufferRefOrConstBufferRefOf&&, completion&,
                   ...) = delete;  // both overloads fit

  /// Returns once the target has all puts, atomics and replies, and all messages with `.complete_at = delivered`, that
  /// this rank has posted to rank `peer` before, on any device and in any thread. Operations that are posted meanwhile
  /// are not waited for. Options choose puts and atomics alone, or one region.
  ///
  /// **Blocking**: until then, or until a limit of `options`. It makes progress on this device only; operations that
  /// were posted on another device need progress there. **Threads**: as for posting. **Returns**: true; false at a
  /// limit (`.timeout`, `.stop`), and then nothing is known of the operations. **Errors**: `region_refused` if the
  /// target has refused a put or atomic that had answered *done*, since the last flush to that rank (whatever the
  /// options), and for a `.region` of another job or rank, or one that this rank knows to be withdrawn;
  /// `invalid_argument` for an unknown rank or scope; `invalid_state` inside a handler, a hook or a node of a graph;
  /// `transport_failed` and `peer_failed` as for posting, but for a rank that has destroyed its runtime and to which no
  /// operation is under way.
  bool flush(std::uint32_t peer, const flush_options& options = {});
  /// Flushes to each rank, one after the other, within the limits of `options` together; to one rank if `.region` is
  /// given. **Blocking**, **Threads**, **Returns** and **Errors**: as for one rank.
  bool flush(const flush_options& options = {});
  template <class WriteMembersInOrderOf = flush_options>
  bool flush(...) = delete;  // options that do not fit

  /// Begins a flush and signals `local` when it is complete; calls of `progress()` on this device look for that.
  ///
  /// **Blocking**: never; allocates. **Threads**: as for posting; also inside handlers and hooks. **Returns**: *done*
  /// if nothing is under way that it would wait for; else *posted*, and the record's `operation()` is `flush`, its
  /// `peer()` the rank, and its `error()` the one that `flush` would have thrown. It can't be cancelled. **Errors**:
  /// those of `flush` that are known now; `invalid_argument` for a `local` of another runtime; `std::bad_alloc`.
  status post_flush(std::uint32_t peer, completion& local, const post_flush_options& options = {});
  /// Flushes each rank, one after the other; the record's `peer()` is the rank with an error, or the last one.
  status post_flush(completion& local, const post_flush_options& options = {});
  template <class WriteMembersInOrderOf = post_flush_options>
  status post_flush(...) = delete;  // options that do not fit

  /// Makes progress: polls the rings and delivers arrived messages, continues long messages, and posts operations from
  /// the backlog. A call that finds nothing on this device polls other devices by this device's policy. Under every
  /// policy one of 64 such calls polls the default device, where messages for devices arrive that do not exist yet, or
  /// no longer.
  ///
  /// **Blocking**: never. If another thread polls this device, or the calling thread is inside one of its handlers, it
  /// returns false at once. **Threads**: as for posting. **Returns**: whether it moved something, on any device.
  /// **Errors**: none. The whole contract: docs/progress.md. **Source**: zhou2024, 2.6; yan2025-lci, 4.2.7;
  /// yan2025-mpi-extensions, 5.2.
  bool progress() noexcept;

  /// Adds a hook: `hook_answer function()` or `hook_answer function(device&)`. `progress()` on this device calls it
  /// once per call, until it answers `done` or is removed. Calls that deliver messages may skip it, at most 63 in a
  /// row.
  ///
  /// A hook may post, and may add and remove hooks; hooks that it adds run from the next call on. Its own calls of
  /// `progress()` on this device return false. It may not wait. It must not throw: that ends the process. While a
  /// device has hooks, threads that wait on it yield instead of sleeping.
  ///
  /// **Blocking**: never; allocates. **Threads**: any; `function` runs in the thread that makes progress, in one at a
  /// time. **Returns**: a handle, which removes the hook when it is destroyed; `detach()` leaves the hook to the
  /// device. The device destroys remaining hooks when it is destroyed, without calling them. **Errors**:
  /// `std::bad_alloc`, and exceptions of `Function`'s move. **Source**: zhou2024, 3.3.
  template <detail::hook_callable Function>
  hook add_hook(Function function) {
    return add_hook_node(std::make_unique<detail::hook_function<Function>>(std::move(function), *this));
  }
  template <class WriteFunctionOf = hook_answer(device&)>
  hook add_hook(...) = delete;  // a function that does not fit

  /// Waits until `is_done()` is true. The calling thread calls it after each call of progress, and after a signal of
  /// `object` by any thread. If `options.mode` is `park`, the thread sleeps after `options.spins` polls that found
  /// nothing, until `object` is signalled, or a message wakes one of the threads of this device. If the condition
  /// becomes true in another way, the thread may notice up to 100 ms later.
  ///
  /// **Blocking**: until then, or until a limit of `options`; makes progress on this device. **Threads**: as for
  /// posting; several threads may wait through a shared device, also for one object. **Returns**: whether it is done;
  /// false at a limit (`.timeout`, `.stop`). **Errors**: `invalid_state` inside a handler, a hook or a node of a graph;
  /// `invalid_argument` for a null object or one of another runtime. `runtime::wait` waits through several devices.
  template <std::predicate Condition>
  bool wait(const completion& object, Condition is_done, const wait_options& options = {}) {
    return wait({&object}, std::move(is_done), options);
  }
  /// Waits with several objects: calls `is_done` after a signal of any of them. **Blocking**, **Threads** and
  /// **Errors**: as for one object.
  template <std::predicate Condition>
  bool wait(std::initializer_list<const completion*> objects, Condition is_done, const wait_options& options = {}) {
    return wait_until(
        {objects.begin(), objects.size()},
        [](void* condition) { return static_cast<bool>((*static_cast<Condition*>(condition))()); }, &is_done, options);
  }

  /// Waits for a record and takes it; nothing at a limit. For this function and the next two **Blocking**,
  /// **Threads** and **Errors** are as for a condition.
  [[nodiscard]] std::optional<completion_record> wait(completion_queue& from, const wait_options& options = {});
  /// Waits until `object` is ready; false at a limit of `options`.
  bool wait(const synchronizer& object, const wait_options& options = {});
  /// Waits until `object` has counted at least `value` signals; false at a limit.
  bool wait(const counter& object, std::uint64_t value, const wait_options& options = {});
  template <class WriteObjectConditionOrCountAndMembersInOrderOf = wait_options>
  bool wait(...) = delete;  // arguments that do not fit

  /// Waits until no post has yet to signal `object`; that is, until every buffer of these posts is the caller's again.
  /// Posts that were *done* are not waited for, so the caller need not count the others. **Returns**: false at
  /// a limit of `options`. Ask the object whether any of them failed.
  bool wait_all(const completion& object, const wait_options& options = {});
  /// Waits for several objects.
  bool wait_all(std::initializer_list<const completion*> objects, const wait_options& options = {});
  template <class WriteObjectOrAddressesAndMembersInOrderOf = wait_options>
  bool wait_all(...) = delete;  // arguments that do not fit

  /// Calls `post`, a function that posts once and gives back the `status`, until the answer is not *retry*:
  /// `dev.until_accepted([&] { return dev.post_am(1, {.id = 1}, text, sent); });`. Makes progress on this device
  /// between two calls. In a fiber, other fibers run meanwhile.
  ///
  /// **Blocking**: until the post is accepted, not until it is complete. **Threads**: as for posting. **Returns**:
  /// *done* or *posted*. **Errors**: those of `post`; `invalid_state` inside a handler, a hook or a node of a graph.
  template <detail::posting_callable Post>
  accepted_status until_accepted(Post&& post) {
    detail::begin_posting();
    status answer = post();
    while (answer.is_retry()) {
      detail::make_room(*this);
      answer = post();
    }
    return accepted_status{answer};
  }
  template <class WriteFunctionThatReturnsAPost = status()>
  accepted_status until_accepted(...) = delete;  // a function that does not fit

  /// This device's number on its rank; the default device is 0.
  [[nodiscard]] std::uint32_t index() const noexcept;
  /// The `.shared` that it was made with.
  [[nodiscard]] bool is_shared() const noexcept;
  /// Which other devices `progress()` polls if it finds nothing on this one.
  [[nodiscard]] progress_policy policy() const noexcept;
  /// Its counters up to now.
  [[nodiscard]] device_counters counters() const noexcept;
  /// The runtime that it was made from.
  [[nodiscard]] weft::runtime& runtime() const noexcept { return *runtime_; }

 private:
  friend void detail::rest_between_tests(device& dev, detail::test_loop& tests) noexcept;
  friend void detail::set_shared(device& dev, bool shared);
  friend bool detail::wait_as(const detail::waiting_function& function, device& dev,
                              std::span<const completion* const> objects, bool (*is_done)(void*), void* condition,
                              const wait_options& options);
  friend bool detail::wait_as(const detail::waiting_function& function, std::span<device* const> devices,
                              std::span<const completion* const> objects, bool (*is_done)(void*), void* condition,
                              const wait_options& options);
  friend class detail::fiber_wait;
  friend class batch;
  friend class blocking_device;
  friend class fibers::scheduler;
  friend class progress_thread;
  friend class weft::runtime;
  friend class wait_descriptor;
  friend class core::graph_state;
  friend class core::run_loop_state;
  friend class run_loop;

  // Take posts that don't go inline (`goes_inline`), and wrong calls.
  status post_am_slow(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, completion& local,
                      const post_am_options& options);
  status post_send_slow(std::uint32_t peer, const_buffer_ref bytes, completion& local,
                        const post_send_options& options);
  status post_recv_slow(std::uint32_t peer, buffer_ref buffer, completion& local, const post_recv_options& options);
  status post_put_slow(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to, completion& local,
                       const post_put_options& options);

  // `tag`: of a reply whose options name none.
  void reply_with(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, std::uint64_t tag,
                  const reply_options& options);
  status post_atomic_word(std::uint32_t peer, const detail::atomic_request& request, const remote_buffer& target,
                          completion& local, const detail::post_atomic_word_options& options);

  hook add_hook_node(std::unique_ptr<detail::hook_node> made);
  bool wait_until(std::span<const completion* const> objects, bool (*is_done)(void*), void* condition,
                  const wait_options& options);

  weft::runtime* runtime_;
  core::device_state* state_ = nullptr;  // null once it has ended
};

}  // namespace weft

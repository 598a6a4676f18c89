// SPDX-License-Identifier: BSD-3-Clause
// Operations that return when they are complete, for fibers, and for threads that have nothing else to do.
//
// Cost: the operation's; if it is not *done* by its post, a wait: a fiber's is two switches and one atomic `or`.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "weft/batch.hpp"
#include "weft/completion.hpp"
#include "weft/device.hpp"
#include "weft/matched_message.hpp"
#include "weft/status.hpp"
#include "weft/wait.hpp"

namespace weft {

/// A device whose operations wait, as `MPI_Send` does. A calling fiber is suspended meanwhile (weft/fiber.hpp, or
/// another scheduler by weft/suspender.hpp). A calling thread makes progress on the device, and sleeps as
/// `device::wait` does. While fibers are suspended, idle workers or a `progress_thread` have to make progress.
///
/// If a post answers *retry*, the call posts again, after other fibers have run. Fibers that lack room to one device of
/// a peer wait in one line, and so do fibers that lack packets, operations or receives: the first in line posts again,
/// the others sleep. Lines don't wait for each other. The call ignores `.context`, `.allow_done` and `.allow_retry`.
///
/// All functions, unless one says otherwise: **Blocking**: until the operation is complete at the level that
/// `.complete_at` names. **Threads**: any fiber or thread that may post on the device. **Buffer**: the caller's again
/// on return. **Errors**: those of the post; the error with which the operation completes, as `weft::error`;
/// `invalid_state` inside a handler, a hook or a node of a graph.
///
/// **Source**: dang2016, 2.2.
class blocking_device {
 public:
  /// `dev` and its runtime must outlive this object. **Blocking**: never. **Errors**: none.
  explicit blocking_device(weft::device& dev) : device_{&dev}, ended_{dev.runtime()} {}
  template <class WriteReference = weft::device>
  explicit blocking_device(...) = delete;  // write a device

  /// Sends `bytes` to the matching receive of rank `peer`, as `device::post_send` does.
  void send(std::uint32_t peer, const_buffer_ref bytes, const post_send_options& options = {});
  /// Sends a list of buffers as one message. **Buffer**: the list and its buffers, as for one buffer.
  void send(std::uint32_t peer, const_buffer_list bytes, const post_send_options& options = {});
  template <class WriteMembersInOrderOf = post_send_options>
  void send(std::uint32_t, const_buffer_ref, ...) = delete;  // options that do not fit
  template <class WriteRankBufferAndMembersInOrderOf = post_send_options>
  void send(...) = delete;  // arguments that do not fit
  /// Receives one message, as `device::post_recv` does. **Returns**: its record: `bytes()`, `source()`, `tag()`.
  completion_record recv(std::uint32_t peer, buffer_ref buffer, const post_recv_options& options = {});
  /// Receives one message into a list of buffers. **Buffer**: the list and its buffers, as for one buffer.
  completion_record recv(std::uint32_t peer, buffer_list buffer, const post_recv_options& options = {});
  template <class WriteMembersInOrderOf = post_recv_options>
  completion_record recv(std::uint32_t, buffer_ref, ...) = delete;  // options that do not fit
  template <class WriteRankBufferAndMembersInOrderOf = post_recv_options>
  completion_record recv(...) = delete;  // arguments that do not fit
  /// Receives one message within `limits`, or cancels the receive. The call may last longer: a message that has begun
  /// to arrive is received, and in a receiver-first engine the sender has to agree. **Returns**: the record; nothing if
  /// a limit was reached first: then no message was received, and none is lost. **Errors**: also `std::bad_alloc`, and
  /// `std::system_error` if the system gives no thread for time limits; then nothing has happened.
  [[nodiscard]] std::optional<completion_record> recv_within(const wait_limits& limits, std::uint32_t peer,
                                                             buffer_ref buffer, const post_recv_options& options = {});
  /// Takes the oldest message that a receive with these arguments would match, as `MPI_Mprobe` does. No signal
  /// announces such a message: a fiber looks again each time that its worker gets to it. **Blocking**: until there is
  /// one. **Errors**: those of `device::probe`, and `invalid_state` as for all.
  [[nodiscard]] matched_message probe(std::uint32_t peer, const probe_options& options = {});
  /// Waits within `limits`. **Returns**: nothing if a limit was reached first.
  [[nodiscard]] std::optional<matched_message> probe_within(const wait_limits& limits, std::uint32_t peer,
                                                            const probe_options& options = {});
  /// Source, tag and size of the oldest message that a receive with these arguments would match; the message stays, as
  /// with `MPI_Probe`. A fiber looks again as in `probe`. **Blocking**: until there is one. **Errors**: those of
  /// `device::peek`, and `invalid_state` as for all.
  [[nodiscard]] message_envelope peek(std::uint32_t peer, const probe_options& options = {});
  /// Waits within `limits`. **Returns**: nothing if a limit was reached first.
  [[nodiscard]] std::optional<message_envelope> peek_within(const wait_limits& limits, std::uint32_t peer,
                                                            const probe_options& options = {});
  /// Receives a message that a probe of `through()` has taken; `message` is empty afterwards. **Returns**: its record.
  completion_record recv(matched_message& message, buffer_ref buffer);
  /// Receives it into a list of buffers. **Buffer**: the list and its buffers, as for one buffer.
  completion_record recv(matched_message& message, buffer_list buffer);
  /// Sends an active message to the completion object that rank `peer` registered under id `to`.
  void am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, const post_am_options& options = {});
  /// Sends a list of buffers as one active message. **Buffer**: the list and its buffers, as for one buffer.
  void am(std::uint32_t peer, remote_completion to, const_buffer_list bytes, const post_am_options& options = {});
  template <class WriteMembersInOrderOf = post_am_options>
  void am(std::uint32_t, remote_completion, const_buffer_ref, ...) = delete;  // options that do not fit
  template <class WriteBufferAndMembersInOrderOf = post_am_options>
  void am(std::uint32_t, remote_completion, ...) = delete;  // arguments that do not fit
  template <class WriteMembersOf = remote_completion>
  void am(std::uint32_t, ...) = delete;  // an id that does not fit
  /// Writes `bytes` into a region of rank `peer`.
  void put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to, const post_put_options& options = {});
  /// Writes a list of buffers, one after the other. **Buffer**: the list and its buffers, as for one buffer.
  void put(std::uint32_t peer, const_buffer_list bytes, const remote_buffer& to, const post_put_options& options = {});
  template <class WriteMembersInOrderOf = post_put_options>
  void put(std::uint32_t, const_buffer_ref, const remote_buffer&, ...) = delete;  // options that do not fit
  template <class WriteRankBufferRemoteBufferAndMembersInOrderOf = post_put_options>
  void put(...) = delete;  // arguments that do not fit
  /// Reads `buffer` from a region of rank `peer`.
  void get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from, const post_get_options& options = {});
  /// Reads a list of buffers, one after the other. **Buffer**: the list and its buffers, as for one buffer.
  void get(std::uint32_t peer, buffer_list buffer, const remote_buffer& from, const post_get_options& options = {});
  template <class WriteMembersInOrderOf = post_get_options>
  void get(std::uint32_t, buffer_ref, const remote_buffer&, ...) = delete;  // options that do not fit
  template <class WriteRankBufferRemoteBufferAndMembersInOrderOf = post_get_options>
  void get(...) = delete;  // arguments that do not fit
  /// Combines a word of a region of rank `peer` with `operand`. **Returns**: the old word.
  template <detail::atomic_word Word>
  Word atomic(std::uint32_t peer, atomic_op op, Word operand, const remote_buffer& target,
              post_atomic_options<Word> options = {}) {
    Word old{};
    options.result = &old;
    options.allow_done = options.allow_retry = true;
    const auto post = [&](completion& local, void* context) {
      options.context = context;
      return device_->post_atomic(peer, op, operand, target, local, options);
    };
    static_cast<void>(run(post, {"atomic", peer, options.device}));
    return old;
  }
  template <class WriteRankOperationWordRemoteBufferAndMembersInOrderOf = post_atomic_options<std::uint64_t>>
  std::uint64_t atomic(...) = delete;  // arguments that do not fit

  /// Closes a batch, and waits until its operations are complete. **Errors**: those of `batch::close`; the first error
  /// of an operation, and then `closed.failed()` is how many failed.
  void close(batch& closed) {
    const auto post = [&closed](completion& local, void* context) {
      return closed.close(local, {.context = context, .allow_done = false});
    };
    static_cast<void>(run(post, {"close", no_peer, 0}));
  }

  /// The device on which this object posts. **Blocking**: never. **Errors**: none.
  [[nodiscard]] weft::device& device() const noexcept { return *device_; }
  /// The old name of `device`.
  [[deprecated("use device()")]] [[nodiscard]] weft::device& through() const noexcept { return *device_; }

 private:
  static constexpr std::uint32_t no_peer = ~std::uint32_t{0};  // of a call that waits for several ranks

  class signals final : public completion {
   public:
    explicit signals(weft::runtime& owner) : completion{owner} { is_of_calls_ = true; }
    [[nodiscard]] answer signal(completion_record&& record) noexcept override;
  };
  struct call;
  struct named {
    const char* name;
    std::uint32_t peer;
    std::uint32_t device;  // index at the peer
    std::uint64_t tag = 0;
    std::uint64_t room = 0;  // bytes of a receive's buffer; of a list 0
  };

  template <class Post>
  completion_record run(Post post, const named& operation) {
    return run_erased({&post, [](void* callable, completion& local,
                                 void* context) { return (*static_cast<Post*>(callable))(local, context); }},
                      operation);
  }
  struct erased_post {
    void* callable;
    status (*post)(void* callable, completion& local, void* context);
  };
  completion_record run_erased(const erased_post& post, const named& operation);
  // One buffer, or a list of them.
  template <class Bytes>
  void send_any(std::uint32_t peer, const Bytes& bytes, post_send_options options);
  template <class Buffer>
  completion_record recv_any(std::uint32_t peer, const Buffer& buffer, post_recv_options options);
  template <class Bytes>
  void am_any(std::uint32_t peer, remote_completion to, const Bytes& bytes, post_am_options options);
  template <class Bytes>
  void put_any(std::uint32_t peer, const Bytes& bytes, const remote_buffer& to, post_put_options options);
  template <class Buffer>
  void get_any(std::uint32_t peer, const Buffer& buffer, const remote_buffer& from, post_get_options options);
  template <class Buffer>
  completion_record recv_matched(matched_message& message, const Buffer& buffer);
  void wait_for(call& me, const named& operation);
  [[nodiscard]] status post_again(const erased_post& post, call& me, const named& operation, shortage lacks);
  [[nodiscard]] bool enter_line(call& last);
  void leave_line(call& first) noexcept;
  struct leaving_line;

  weft::device* device_;
  signals ended_;
  // Fibers whose post answered *retry*, in lines by what was short: the first call of each line.
  std::mutex lines_mutex_;
  call* lines_ = nullptr;
};

}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// Operations that wait for their end: each is posted with a `call` on the caller's stack, which the completion fills
// in.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/backoff.hpp"
#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/long_wait.hpp"
#include "base/waiter.hpp"
#include "core/door/door.hpp"
#include "weft/blocking_device.hpp"
#include "weft/runtime.hpp"

namespace weft {

namespace {

// Says to reports why a fiber polls.
constexpr const char* lacks_room = "what it lacks to post (it is answered retry)";

// The rank that a receive waits for.
std::uint32_t sender_of(std::uint32_t peer, const post_recv_options& options) noexcept {
  const bool is_named = options.policy == match_policy::rank_tag || options.policy == match_policy::rank_only;
  return is_named ? peer : base::wait_note::nobody;
}

std::uint64_t room_of(const buffer_ref& buffer) noexcept { return buffer.bytes(); }
std::uint64_t room_of(const buffer_list& /*buffer*/) noexcept { return 0; }  // a walk for the text of an error alone

struct call_names {
  const char* refused;  // has static storage
  const char* listed;
};

// Calls `find` until it finds a message or a limit is reached; makes progress and lets others run in between.
template <class Find>
auto find_within(device& dev, const call_names& call, const wait_limits& limits, const Find& find) {
  base::refuse_in_callback(call.refused);
  base::waiter me;
  const base::limit_watch until{me, limits};
  base::slow_wait listed{call.listed};
  for (base::backoff waiting;;) {
    if (auto found = find()) return found;
    const bool is_last = until.is_reached();
    const bool has_moved = dev.progress();
    if (me.is_fiber()) me.yield("a message that it probes for");
    if (is_last) return find();
    if (has_moved) {
      waiting.reset();
    } else if (!me.is_fiber()) {
      waiting.pause();
      listed.note(waiting);
    }
  }
}

// The context by which signals find it again.
void* as_context(core::awaited_call& call) noexcept { return &call; }

}  // namespace

struct blocking_device::call : core::awaited_call {
  // What is short: room to a device of a peer, or something that all posts of this rank share.
  struct need {
    shortage lacks;
    std::uint32_t peer;
    std::uint32_t device;
    bool operator==(const need&) const = default;
  };
  // A lock is of the ring to a peer, or of the matching with one.
  static need need_of(shortage lacks, const named& operation) noexcept {
    const bool is_of_peer = lacks == shortage::ring || lacks == shortage::lock;
    return is_of_peer ? need{shortage::ring, operation.peer, operation.device} : need{lacks, 0, 0};
  }

  // Throws the error with which the operation has completed.
  void refuse_failure(const named& operation) const {
    if (record.error() != errc::none) [[unlikely]]
      throw error{record.error(), text_of_failure(operation)};
  }
  [[nodiscard]] std::string text_of_failure(const named& operation) const {
    if (record.error() == errc::truncated) {
      const std::string room = operation.room != 0 ? fmt::format("has {} bytes", operation.room) : "is shorter";
      return fmt::format(
          "blocking_device::{}: truncated: the message of rank {} with tag {} has {} bytes, and the buffer {}",
          operation.name, record.peer(), record.tag(), record.message_bytes(), room);
    }
    return fmt::format("blocking_device::{}: the operation with rank {} failed: {}", operation.name, record.peer(),
                       name_of(record.error()));
  }

  // Its place in a line.
  need lacks;
  base::waiter* repost;  // wakes the fiber to post again
  call* behind;          // the next in line
  call* last;            // known to the first in line: the last one
  call* beside;          // known to the first in line: the first of another line
};

struct blocking_device::leaving_line {
  blocking_device& owner;
  call& caller;
  ~leaving_line() { owner.leave_line(caller); }
};

completion::answer blocking_device::signals::signal(completion_record&& record) noexcept {
  auto& ended = *static_cast<core::awaited_call*>(record.context());
  ended.complete(std::move(record));
  return answer::taken;
}

completion_record blocking_device::run_erased(const erased_post& post, const named& operation) {
  const char* const name = operation.name;
  base::refuse_in_callback(name);
  call me;
  status answer = post.post(post.callable, ended_, as_context(me));
  if (answer.is_retry()) answer = post_again(post, me, operation, answer.reason());
  if (answer.is_done()) return std::move(me.record);
  wait_for(me, operation);
  me.refuse_failure(operation);
  return std::move(me.record);
}

// Until the operation is complete.
void blocking_device::wait_for(call& me, const named& operation) {
  const base::wait_note note{.call = operation.name, .peer = operation.peer, .tag = operation.tag, .device = device_};
  if (me.end.is_fiber()) return me.end.wait(note);
  const base::thread_wait_scope waits{note};
  static_cast<void>(device_->wait(ended_, [&] { return me.end.has_come(); }));
}

// The first of the fibers in one line posts again and again, and yields to other fibers after each try; the rest
// sleep until it has posted. Fibers in another line don't wait for it: what they lack is something else, or the way to
// another device. If an operation for a receive is lacking, the first in line tries once and goes to the end of the
// line: another one's message may have arrived, and its receive then needs no such operation.
status blocking_device::post_again(const erased_post& post, call& me, const named& operation, shortage lacks) {
  status answer = status::retry(lacks);
  if (!me.end.is_fiber()) {
    do {
      detail::make_room(*device_);
      answer = post.post(post.callable, ended_, as_context(me));
    } while (answer.is_retry());
    return answer;
  }
  const auto lacked_by = [&](status refused) { return call::need_of(refused.reason(), operation); };
  while (answer.is_retry()) {
    base::waiter repost;
    me.lacks = lacked_by(answer);
    me.repost = &repost;
    if (!enter_line(me)) repost.wait({"a turn to post again what was answered retry"});
    const leaving_line at_end{*this, me};
    do {
      me.end.yield(lacks_room);
      answer = post.post(post.callable, ended_, as_context(me));
    } while (answer.is_retry() && lacked_by(answer) == me.lacks && me.lacks.lacks != shortage::receives);
  }
  return answer;
}

// Whether `last` is the first in line.
bool blocking_device::enter_line(call& last) {
  const std::scoped_lock lock{lines_mutex_};
  last.behind = nullptr;
  for (call* first = lines_; first != nullptr; first = first->beside) {
    if (first->lacks != last.lacks) continue;
    first->last = first->last->behind = &last;
    return false;
  }
  last.last = &last;
  last.beside = std::exchange(lines_, &last);
  return true;
}

void blocking_device::leave_line(call& first) noexcept {
  call* next = nullptr;
  {
    const std::scoped_lock lock{lines_mutex_};
    call** link = &lines_;
    while (*link != &first) link = &(*link)->beside;
    next = first.behind;
    *link = next != nullptr ? next : first.beside;
    if (next != nullptr) {
      next->last = first.last;
      next->beside = first.beside;
    }
  }
  if (next != nullptr) next->repost->come();
}

template <class Bytes>
void blocking_device::send_any(std::uint32_t peer, const Bytes& bytes, post_send_options options) {
  options.allow_done = options.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    options.context = context;
    return device_->post_send(peer, bytes, local, options);
  };
  static_cast<void>(run(post, {"send", peer, options.device, options.tag}));
}

template <class Buffer>
completion_record blocking_device::recv_any(std::uint32_t peer, const Buffer& buffer, post_recv_options options) {
  options.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    options.context = context;
    return device_->post_recv(peer, buffer, local, options);
  };
  return run(post, {"recv", sender_of(peer, options), any_device, options.tag, room_of(buffer)});
}

template <class Bytes>
void blocking_device::am_any(std::uint32_t peer, remote_completion to, const Bytes& bytes, post_am_options options) {
  options.allow_done = options.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    options.context = context;
    return device_->post_am(peer, to, bytes, local, options);
  };
  static_cast<void>(run(post, {"am", peer, options.device}));
}

template <class Bytes>
void blocking_device::put_any(std::uint32_t peer, const Bytes& bytes, const remote_buffer& to,
                              post_put_options options) {
  options.allow_done = options.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    options.context = context;
    return device_->post_put(peer, bytes, to, local, options);
  };
  static_cast<void>(run(post, {"put", peer, options.device}));
}

template <class Buffer>
void blocking_device::get_any(std::uint32_t peer, const Buffer& buffer, const remote_buffer& from,
                              post_get_options options) {
  options.allow_done = options.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    options.context = context;
    return device_->post_get(peer, buffer, from, local, options);
  };
  static_cast<void>(run(post, {"get", peer, options.device}));
}

void blocking_device::send(std::uint32_t peer, const_buffer_ref bytes, const post_send_options& options) {
  send_any(peer, bytes, options);
}
void blocking_device::send(std::uint32_t peer, const_buffer_list bytes, const post_send_options& options) {
  send_any(peer, bytes, options);
}

completion_record blocking_device::recv(std::uint32_t peer, buffer_ref buffer, const post_recv_options& options) {
  return recv_any(peer, buffer, options);
}
completion_record blocking_device::recv(std::uint32_t peer, buffer_list buffer, const post_recv_options& options) {
  return recv_any(peer, buffer, options);
}
template <class Buffer>
completion_record blocking_device::recv_matched(matched_message& message, const Buffer& buffer) {
  const auto post = [&](completion& local, void* context) {
    return message.receive(buffer, local, {.context = context});
  };
  return run(post, {"recv", base::wait_note::nobody, any_device, 0, room_of(buffer)});
}
completion_record blocking_device::recv(matched_message& message, buffer_ref buffer) {
  return recv_matched(message, buffer);
}
completion_record blocking_device::recv(matched_message& message, buffer_list buffer) {
  return recv_matched(message, buffer);
}

// Posts again itself: a call that may leave at any time has no part in the lines of calls that wait to post.
std::optional<completion_record> blocking_device::recv_within(const wait_limits& limits, std::uint32_t peer,
                                                              buffer_ref buffer, const post_recv_options& options) {
  const named operation{"recv_within", sender_of(peer, options), any_device, options.tag, buffer.bytes()};
  base::refuse_in_callback(operation.name);
  call me;
  const base::limit_watch until{me.end, limits};
  const auto let_others_run = [&](const char* why) {
    device_->progress();
    if (me.end.is_fiber()) me.end.yield(why);
  };
  post_recv_options mine = options;
  mine.allow_retry = true;
  mine.context = as_context(me);
  status answer = device_->post_recv(peer, buffer, ended_, mine);
  while (answer.is_retry()) {
    if (until.is_reached()) return std::nullopt;
    let_others_run(lacks_room);
    answer = device_->post_recv(peer, buffer, ended_, mine);
  }
  const auto has_ended = [&] { return me.end.has_come(); };
  const bool is_over =
      me.end.is_fiber()
          ? me.end.wait({operation.name, operation.peer, operation.tag}, until)
          : device_->wait(ended_, has_ended, {.timeout = until.until() - base::clock::now(), .stop = limits.stop});
  if (!is_over) {
    constexpr const char* cancels = "the cancellation of a receive whose time is over";
    let_others_run(cancels);  // a loop of calls that may not wait makes progress by this alone
    while (!has_ended() && device_->cancel(answer.ticket()) == cancel_result::busy) let_others_run(cancels);
    wait_for(me, operation);
    if (me.record.error() == errc::cancelled) return std::nullopt;
  }
  me.refuse_failure(operation);
  return std::move(me.record);
}

std::optional<matched_message> blocking_device::probe_within(const wait_limits& limits, std::uint32_t peer,
                                                             const probe_options& options) {
  return find_within(*device_, {"probe", "blocking_device::probe"}, limits,
                     [&] { return device_->probe(peer, options); });
}

matched_message blocking_device::probe(std::uint32_t peer, const probe_options& options) {
  return *probe_within({}, peer, options);
}

std::optional<message_envelope> blocking_device::peek_within(const wait_limits& limits, std::uint32_t peer,
                                                             const probe_options& options) {
  return find_within(*device_, {"peek", "blocking_device::peek"}, limits, [&] { return device_->peek(peer, options); });
}

message_envelope blocking_device::peek(std::uint32_t peer, const probe_options& options) {
  return *peek_within({}, peer, options);
}

void blocking_device::am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes,
                         const post_am_options& options) {
  am_any(peer, to, bytes, options);
}
void blocking_device::am(std::uint32_t peer, remote_completion to, const_buffer_list bytes,
                         const post_am_options& options) {
  am_any(peer, to, bytes, options);
}

void blocking_device::put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to,
                          const post_put_options& options) {
  put_any(peer, bytes, to, options);
}
void blocking_device::put(std::uint32_t peer, const_buffer_list bytes, const remote_buffer& to,
                          const post_put_options& options) {
  put_any(peer, bytes, to, options);
}

void blocking_device::get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from,
                          const post_get_options& options) {
  get_any(peer, buffer, from, options);
}
void blocking_device::get(std::uint32_t peer, buffer_list buffer, const remote_buffer& from,
                          const post_get_options& options) {
  get_any(peer, buffer, from, options);
}

}  // namespace weft

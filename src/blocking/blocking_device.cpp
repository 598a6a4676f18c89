// Operations that wait for their end: each is posted with a `call` on the caller's stack, which the completion fills
// in.
#include <fmt/format.h>

#include <utility>

#include "base/callback_scope.hpp"
#include "base/waiter.hpp"
#include "weft/blocking_device.hpp"
#include "weft/runtime.hpp"

namespace weft {

namespace {

bool names_rank(match_policy policy) noexcept {
  return policy == match_policy::rank_tag || policy == match_policy::rank_only;
}

}  // namespace

struct blocking_device::call {
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

  completion_record record;
  base::waiter end;
  // In a line.
  need lacks;
  base::waiter* repost;  // wakes the fiber to post again
  call* behind;          // the next in line
  call* last;            // of the first in line: the last one
  call* beside;          // of the first in line: the first of another line
};

struct blocking_device::leaving_line {
  blocking_device& of;
  call& who;
  ~leaving_line() { of.leave_line(who); }
};

completion::answer blocking_device::signals::signal(completion_record&& record) noexcept {
  call& ended = *static_cast<call*>(record.context());
  ended.record = std::move(record);
  ended.end.come();
  return answer::taken;
}

completion_record blocking_device::run_erased(const erased_post& post, const named& operation) {
  const char* const name = operation.name;
  base::refuse_in_callback(name);
  call me;
  status answer = post.post(post.callable, ended_, &me);
  if (answer.is_retry()) answer = post_again(post, me, operation, answer.reason());
  if (answer.is_done()) return std::move(me.record);
  if (me.end.is_fiber()) {
    me.end.wait({operation.name, operation.peer, operation.tag});
  } else {
    const base::thread_wait_scope waits{{operation.name, operation.peer, operation.tag}};
    static_cast<void>(through_->wait(ended_, [&] { return me.end.has_come(); }));
  }
  if (me.record.error() != errc::none) {
    throw error{me.record.error(), fmt::format("blocking_device::{}: the operation with rank {} failed: {}", name,
                                               me.record.peer(), name_of(me.record.error()))};
  }
  return std::move(me.record);
}

// Of the fibers in one line, the first one posts again and again, and yields to other fibers after each try; the rest
// sleep until it has posted. Fibers in another line don't wait for it: what they lack is something else, or the way to
// another device. If an operation for a receive is lacking, the first in line tries once and goes to the end of the
// line: another one's message may have arrived, and its receive then needs no such operation.
status blocking_device::post_again(const erased_post& post, call& me, const named& operation, shortage lacks) {
  status answer = status::retry(lacks);
  if (!me.end.is_fiber()) {
    do {
      through_->progress();
      answer = post.post(post.callable, ended_, &me);
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
      me.end.yield("what it lacks to post (it is answered retry)");
      answer = post.post(post.callable, ended_, &me);
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

void blocking_device::send(std::uint32_t peer, const_buffer_ref bytes, const post_send_options& options) {
  post_send_options mine = options;
  mine.allow_done = mine.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    mine.context = context;
    return through_->post_send(peer, bytes, local, mine);
  };
  static_cast<void>(run(post, {"send", peer, options.device, options.tag}));
}

completion_record blocking_device::recv(std::uint32_t peer, buffer_ref buffer, const post_recv_options& options) {
  post_recv_options mine = options;
  mine.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    mine.context = context;
    return through_->post_recv(peer, buffer, local, mine);
  };
  return run(post, {"recv", names_rank(options.policy) ? peer : base::wait_note::nobody, any_device, options.tag});
}

void blocking_device::am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes,
                         const post_am_options& options) {
  post_am_options mine = options;
  mine.allow_done = mine.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    mine.context = context;
    return through_->post_am(peer, to, bytes, local, mine);
  };
  static_cast<void>(run(post, {"am", peer, options.device}));
}

void blocking_device::put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to,
                          const post_put_options& options) {
  post_put_options mine = options;
  mine.allow_done = mine.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    mine.context = context;
    return through_->post_put(peer, bytes, to, local, mine);
  };
  static_cast<void>(run(post, {"put", peer, options.device}));
}

void blocking_device::get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from,
                          const post_get_options& options) {
  post_get_options mine = options;
  mine.allow_done = mine.allow_retry = true;
  const auto post = [&](completion& local, void* context) {
    mine.context = context;
    return through_->post_get(peer, buffer, from, local, mine);
  };
  static_cast<void>(run(post, {"get", peer, options.device}));
}

}  // namespace weft

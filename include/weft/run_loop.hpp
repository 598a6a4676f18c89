// SPDX-License-Identifier: BSD-3-Clause
// The run loop: coroutines await operations and completion objects in it, and it runs the coroutines that are ready.
//
// Cost: detail/awaiters.hpp. A call of `run_ready` that finds nothing reads four words, takes a lock without waiting
// for it, and looks at each completion object that is awaited.
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/completion_queue.hpp"
#include "weft/counter.hpp"
#include "weft/detail/awaiters.hpp"
#include "weft/device.hpp"
#include "weft/graph.hpp"
#include "weft/synchronizer.hpp"
#include "weft/task.hpp"

namespace weft {

class hook;
class matching_engine;
class registration;

namespace detail {
// The frame holds `kept` until `awaited` has ended.
task<> keeping(std::shared_ptr<void> kept, task<> awaited);
}  // namespace detail

/// What a coroutine waits for (`run_loop::waits`).
struct loop_wait {
  weft::operation operation = weft::operation::none;  ///< none: anything else, as a record, a flush, or an end
  std::uint32_t peer = 0;                             ///< peer of the operation
  std::uint64_t tag = 0;                              ///< tag of the operation
  std::uint64_t ticket = 0;            ///< ticket of the operation; 0: it is not posted, but answered *retry*
  const completion* object = nullptr;  ///< whose signals may end a wait that is no operation
};

/// A completion puts its coroutine into the loop's ready queue. Coroutines run when the program calls `run_ready`,
/// `poll` or `run`, never inside `progress()`.
///
/// Offers `device`'s posting functions as awaitables, without the completion object:
/// `completion_record r = co_await loop.post_recv(peer, buffer, {.tag = 7});`. The await returns the record of the
/// completion. If the post was *done*, the coroutine goes on at once, with a record that has operation, peer and tag.
/// If the post answers *retry*, the loop posts again until it succeeds. The loop sets `.context`, `.allow_done` and
/// `.allow_retry` itself.
///
/// **Buffer**: must live, and not be touched, until the await ends. A container that owns its memory can be given as an
/// rvalue (`std::move(vector)`): the operation keeps it, and receives and gets return it. Then the record's `data()` is
/// that buffer, valid while the buffer lives and is not moved. The frame of an abandoned coroutine lives until its
/// operation is complete (`task`).
/// **Errors**: an await throws the errors of the posting function; if the operation fails later, the record's `error()`
/// says so. Functions without effects throw none.
/// **Blocking**: never, but for `run`; an await suspends the coroutine. **Threads**: any, concurrently if the device is
/// shared: then several threads run coroutines.
/// **Lifetime**: if the loop is destroyed while coroutines wait in it, or if a coroutine awaits it afterwards, the
/// process ends with a message. If an exception is leaving the loop's scope, the destructor destroys the spawned tasks
/// instead, and waits for operations that can't be cancelled, a second at most. The device must outlive the loop.
/// **Source**: yan2025-lci, 4.2.6, for completion by the user's own object; dang2016, 4.2, for user-level threads.
class run_loop {
 public:
  /// Posts on `dev`, and makes progress on it in `poll` and `run`. **Errors**: `std::bad_alloc`.
  explicit run_loop(weft::device& dev);
  template <class WriteReference = weft::device>
  explicit run_loop(...) = delete;  // write a device
  ~run_loop();
  run_loop(const run_loop&) = delete;
  run_loop& operator=(const run_loop&) = delete;

  /// Makes `new_task` ready, so that the next `run_ready` starts it, and keeps it until its end. A later call of
  /// `run_ready`, `poll` or `run` throws its exception. An empty task ends the process. **Threads**: any, with any kind
  /// of device.
  void spawn(task<> new_task);
  /// Calls `function(arguments...)`, which returns a task, and spawns that. Keeps the function and the arguments until
  /// the task has ended: a lambda that captures would be destroyed too early where only its task is spawned.
  /// **Errors**: `std::bad_alloc`, and exceptions of the copies and of the function.
  template <class Function, class... Arguments>
  requires std::is_same_v<std::invoke_result_t<Function&, Arguments&...>, task<>>
  void spawn(Function function, Arguments... arguments) {
    auto kept = std::make_shared<std::tuple<Function, Arguments...>>(std::move(function), std::move(arguments)...);
    task<> made = std::apply([](auto&... parts) { return std::invoke(parts...); }, *kept);
    spawn(detail::keeping(std::move(kept), std::move(made)));
  }
  template <class WriteTaskOrFunctionReturning = task<>>
  void spawn(...) = delete;  // arguments that do not fit

  /// Cancels all that coroutines of the loop wait for at this moment, as a request of a stop token does: receives,
  /// sends and active messages end with the error `cancelled` unless it is too late for that, posts that were answered
  /// *retry* are not repeated, and waits for completion objects end without a result. Puts, gets, atomics, flushes,
  /// barriers, graphs, ends of objects and events are not cancelled. What coroutines wait for afterwards is not either:
  /// a coroutine that asks the record's `error()`, or the result, can end. **Blocking**: never. **Threads**: any that
  /// may post on the device. **Errors**: none.
  void cancel_all() noexcept;

  /// What coroutines of the loop wait for: operations, posts that were answered *retry*, and other awaits, in no order.
  /// Not listed: events, and graphs that they have started. **Blocking**: briefly, for memory, and for another thread
  /// that runs the loop. Not inside a condition that the loop tests. **Threads**: any; then the list is a snapshot.
  /// **Errors**: `std::bad_alloc`.
  [[nodiscard]] std::vector<loop_wait> waits() const;

  /// The number of spawned tasks that have not ended.
  [[nodiscard]] std::size_t spawned() const noexcept;

  /// Looks at awaited completion objects, repeats posts that were answered *retry*, and runs each coroutine that is
  /// ready by now, once. Makes no progress. **Blocking**: never, but while coroutines run. **Returns**: how many it has
  /// run.
  /// **Errors**: the exception of a spawned task.
  std::size_t run_ready();

  /// Does what `run_ready()` does, but `executor(std::coroutine_handle<>)` resumes the coroutines: at once, later, or
  /// in another thread. The executor owns the handles from then on. If it resumes them in another thread, the device
  /// has to be shared. **Errors**: the exception of a spawned task, or of `executor`, which keeps the handle of that
  /// call.
  template <std::invocable<std::coroutine_handle<>> Executor>
  std::size_t run_ready(Executor&& executor) {
    std::size_t count = 0;
    detail::ready_node* next = take_ready();
    try {
      for (; next != nullptr; ++count) {
        detail::ready_node& node = *next;
        next = node.behind;  // the node may be destroyed soon
        if (node.is_abandoned) {
          node.let_go();
        } else {
          executor(node.handle);
        }
      }
    } catch (...) {
      give_back(next);
      throw;
    }
    rethrow();
    return count;
  }
  template <class WriteFunctionOf = void(std::coroutine_handle<>)>
  std::size_t run_ready(...) = delete;  // an executor that does not fit

  /// Makes progress, then calls `run_ready`. **Returns**: whether either has done something. **Errors**: as
  /// `run_ready`.
  bool poll();

  /// Makes progress and runs ready coroutines until no spawned task is left; sleeps as `device::wait` does while there
  /// is nothing to do. **Blocking**: until then, or until `options.timeout`. **Returns**: false after the timeout.
  /// **Errors**: `invalid_state` inside a handler, a hook or a node of a graph; the exception of a spawned task.
  bool run(const wait_options& options = {});

  /// Starts `awaited` at once, makes progress and runs ready coroutines until it has ended. **Blocking**: until then.
  /// **Returns**: the result of `awaited`. **Errors**: the exception of `awaited`; `invalid_state` inside a handler, a
  /// hook or a node of a graph; the exception of a spawned task, which ends the call, and destroys `awaited`. So spawn
  /// tasks that throw only if no other thread runs the loop, and no executor its coroutines.
  template <class T>
  T run(task<T> awaited) {
    class end_of_task final : public detail::task_owner {
     public:
      explicit end_of_task(run_loop& loop) noexcept : loop_{&loop} {}
      void ended(detail::task_promise_base& /*promise*/) noexcept override { loop_->set(has_ended_); }
      // [run_loop.ended] acquire <- [run_loop.end]: what the task did.
      [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }

     private:
      run_loop* loop_;
      std::atomic<bool> has_ended_{false};
    } end{*this};
    const auto task_itself = awaited.coroutine_;
    if (!task_itself) detail::await_misuse(detail::task_is_empty);
    task_itself.promise().start(task_itself, nullptr, &end);
    detail::resume(task_itself);
    run_until([](void* task_end) { return static_cast<end_of_task*>(task_end)->has_ended(); }, &end, {});
    return task_itself.promise().result();
  }
  template <class WriteTaskOrMembersInOrderOf = wait_options>
  bool run(...) = delete;  // arguments that do not fit

  /// An await puts the coroutine at the end of this loop's ready queue; also to move it here from another loop or
  /// thread.
  [[nodiscard]] detail::schedule_awaiter schedule() noexcept { return detail::schedule_awaiter{state()}; }

  /// Awaits the next record of `from`; nothing once `stop` is requested.
  /// **Order**: coroutines get records in the order of their awaits.
  [[nodiscard]] auto wait(completion_queue& from, std::stop_token stop = {}) {
    return watch<std::optional<completion_record>>(from, true, std::move(stop), [&from] { return from.pop(); });
  }
  /// Awaits that `object` has counted at least `value` signals; false once `stop` is requested. The loop reads the
  /// counter for each coroutine that waits for it.
  [[nodiscard]] auto wait(const counter& object, std::uint64_t value, std::stop_token stop = {}) {
    return watch<bool>(object, false, std::move(stop), [&object, value] { return object.value() >= value; });
  }
  /// Awaits that `object` is ready; false once `stop` is requested.
  [[nodiscard]] auto wait(const synchronizer& object, std::stop_token stop = {}) {
    return watch<bool>(object, true, std::move(stop), [&object] { return object.is_ready(); });
  }
  /// Awaits that `is_done()` is true, for an object of any kind whose signals may make it true; false once `stop` is
  /// requested. Each call of `run_ready` calls `is_done`, which must not throw, nor call the loop.
  template <std::predicate Condition>
  [[nodiscard]] auto wait(const completion& object, Condition is_done, std::stop_token stop = {}) {
    return watch<bool>(object, false, std::move(stop), std::move(is_done));
  }
  template <class WriteObjectConditionOrCountAndA = std::stop_token>
  auto wait(...) = delete;  // arguments that do not fit

  /// Awaits `device::flush(peer)`. **Errors**: `invalid_argument` for an unknown rank; the await throws those of a
  /// flush.
  [[nodiscard]] detail::flush_awaiter flush(std::uint32_t peer);
  /// Awaits a flush to all ranks.
  [[nodiscard]] detail::flush_awaiter flush();
  /// Awaits `runtime::barrier`: goes on when every rank has entered the barrier, by either function. If the task is
  /// destroyed meanwhile, the next barrier of this rank is the rest of this one. **Threads**: one coroutine or thread
  /// of a rank at a time.
  /// **Errors**: `invalid_argument` if the loop's device is not the default device; the await throws those of a
  /// barrier.
  [[nodiscard]] detail::barrier_awaiter barrier();

  /// Ends a hook as its destructor does, but the coroutine waits, not the thread. Afterwards only the destructor of
  /// `ended` may be called, which does nothing. If there is nothing to end, the coroutine goes on at once. If the task
  /// is destroyed meanwhile, the destructor of `ended` ends it. **Threads**: those of the destructor. **Errors**: those
  /// of the destructor; `std::bad_alloc`.
  [[nodiscard]] detail::end_awaiter end(hook& ended);
  /// The end of a registration.
  [[nodiscard]] detail::end_awaiter end(registration& ended);
  /// The end of a matching engine.
  [[nodiscard]] detail::end_awaiter end(matching_engine& ended);
  /// The end of a device. **Errors**: also `invalid_argument` for the default device and for the loop's own.
  [[nodiscard]] detail::end_awaiter end(weft::device& ended);
  template <class WriteHookRegistrationMatchingEngineOr = weft::device>
  detail::end_awaiter end(...) = delete;  // other objects

  /// Starts `awaited`, and awaits its end (`graph::start`).
  [[nodiscard]] auto start(graph& awaited) {
    const auto post = [&awaited](completion& local, void* context) {
      awaited.start(local, context);
      return status::posted(0);
    };
    return detail::operation_awaiter<decltype(post)>{state(), operation::graph, 0, 0, post};
  }

  /// Awaits any post: `post(completion& local, void* context)` makes one post with both, and returns its answer. After
  /// *retry* the loop calls it again. Of use for posts that have no function here, such as those of collectives.
  template <class Post>
  requires std::is_invocable_r_v<status, Post&, completion&, void*>  //
  [[nodiscard]] auto post(Post post) {
    return detail::operation_awaiter<Post>{state(), operation::none, 0, 0, std::move(post)};
  }
  template <class WriteFunctionOf = status(completion&, void*)>
  auto post(...) = delete;  // a function that does not fit

  // The posting functions of `device`.

  /// Awaits `device::post_am`.
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes,
                             const post_am_options& options = {}) {
    return post_of(operation::active_message, peer, options,
                   [=](weft::device& dev, completion& local, const auto& call_options) {
                     return dev.post_am(peer, to, bytes, local, call_options);
                   });
  }
  /// Awaits `device::post_am`, of a list of buffers.
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, const_buffer_list bytes,
                             const post_am_options& options = {}) {
    return post_of(operation::active_message, peer, options,
                   [=](weft::device& dev, completion& local, const auto& call_options) {
                     return dev.post_am(peer, to, bytes, local, call_options);
                   });
  }
  template <class WriteMembersInOrderOf = post_am_options>
  auto post_am(std::uint32_t, remote_completion, const_buffer_ref, ...) = delete;  // options that do not fit
  template <class WriteBufferAndMembersInOrderOf = post_am_options>
  auto post_am(std::uint32_t, remote_completion, ...) = delete;  // arguments that do not fit
  template <class WriteMembersOf = remote_completion>
  auto post_am(std::uint32_t, ...) = delete;  // an id that does not fit
  /// Awaits `device::post_am`, of a container that the operation keeps.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, Buffer&& bytes,
                             const post_am_options& options = {}) {
    return post_with(operation::active_message, peer, std::move(bytes), options,
                     [=](weft::device& dev, const Buffer& own, completion& local, const auto& call_options) {
                       return dev.post_am(peer, to, own, local, call_options);
                     });
  }
  /// Awaits `device::post_am` of a packet, which is empty afterwards.
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, packet& filled, std::size_t bytes,
                             const post_packet_options& options = {}) {
    const auto post = [=, dev = device_, &filled](completion& /*local*/, void* /*context*/) {
      return dev->post_am(peer, to, filled, bytes, options);
    };
    return detail::operation_awaiter<decltype(post)>{state(), operation::active_message, peer, options.tag, post};
  }

  /// Awaits `device::post_am`. A request of `stop` cancels the message as `device::cancel` does; then the record has
  /// the error `cancelled`. Until its target has answered, the await does not end.
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes,
                             const post_am_options& options, std::stop_token stop) {
    return stoppable_of(operation::active_message, peer, options, std::move(stop),
                        [=](weft::device& dev, completion& local, const auto& call_options) {
                          return dev.post_am(peer, to, bytes, local, call_options);
                        });
  }
  /// Awaits `device::post_am`, of a container that the operation keeps; `stop` cancels it.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, Buffer&& bytes, const post_am_options& options,
                             std::stop_token stop) {
    return stoppable_with(operation::active_message, peer, std::move(bytes), options, std::move(stop),
                          [=](weft::device& dev, const Buffer& own, completion& local, const auto& call_options) {
                            return dev.post_am(peer, to, own, local, call_options);
                          });
  }

  /// Awaits `device::post_send`. A request of `stop` cancels the message as `device::cancel` does; then the record has
  /// the error `cancelled`. Until its target has answered, the await does not end.
  [[nodiscard]] auto post_send(std::uint32_t peer, const_buffer_ref bytes, const post_send_options& options,
                               std::stop_token stop) {
    return stoppable_of(operation::send, peer, options, std::move(stop),
                        [=](weft::device& dev, completion& local, const auto& call_options) {
                          return dev.post_send(peer, bytes, local, call_options);
                        });
  }
  /// Awaits `device::post_send`, of a container that the operation keeps; `stop` cancels it.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_send(std::uint32_t peer, Buffer&& bytes, const post_send_options& options,
                               std::stop_token stop) {
    return stoppable_with(operation::send, peer, std::move(bytes), options, std::move(stop),
                          [=](weft::device& dev, const Buffer& own, completion& local, const auto& call_options) {
                            return dev.post_send(peer, own, local, call_options);
                          });
  }

  /// Awaits `device::post_send`.
  [[nodiscard]] auto post_send(std::uint32_t peer, const_buffer_ref bytes, const post_send_options& options = {}) {
    return post_of(operation::send, peer, options, [=](weft::device& dev, completion& local, const auto& call_options) {
      return dev.post_send(peer, bytes, local, call_options);
    });
  }
  /// Awaits `device::post_send`, of a list of buffers.
  [[nodiscard]] auto post_send(std::uint32_t peer, const_buffer_list bytes, const post_send_options& options = {}) {
    return post_of(operation::send, peer, options, [=](weft::device& dev, completion& local, const auto& call_options) {
      return dev.post_send(peer, bytes, local, call_options);
    });
  }
  template <class WriteMembersInOrderOf = post_send_options>
  auto post_send(std::uint32_t, const_buffer_ref, ...) = delete;  // options that do not fit
  template <class WriteRankBufferAndMembersInOrderOf = post_send_options>
  auto post_send(...) = delete;  // arguments that do not fit
  /// Awaits `device::post_send`, of a container that the operation keeps.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_send(std::uint32_t peer, Buffer&& bytes, const post_send_options& options = {}) {
    return post_with(operation::send, peer, std::move(bytes), options,
                     [=](weft::device& dev, const Buffer& own, completion& local, const auto& call_options) {
                       return dev.post_send(peer, own, local, call_options);
                     });
  }

  /// Awaits `device::post_recv`. A request of `stop` cancels the receive; if no message has matched it, the record has
  /// the error `cancelled`.
  [[nodiscard]] auto post_recv(std::uint32_t peer, buffer_ref buffer, const post_recv_options& options = {},
                               std::stop_token stop = {}) {
    return stoppable_of(operation::receive, peer, options, std::move(stop),
                        [=](weft::device& dev, completion& local, const auto& call_options) {
                          return dev.post_recv(peer, buffer, local, call_options);
                        });
  }
  /// Awaits `device::post_recv`, of a list of buffers.
  [[nodiscard]] auto post_recv(std::uint32_t peer, buffer_list buffer, const post_recv_options& options = {},
                               std::stop_token stop = {}) {
    return stoppable_of(operation::receive, peer, options, std::move(stop),
                        [=](weft::device& dev, completion& local, const auto& call_options) {
                          return dev.post_recv(peer, buffer, local, call_options);
                        });
  }
  template <class WriteMembersInOrderOf = post_recv_options>
  auto post_recv(std::uint32_t, buffer_ref, ...) = delete;  // options that do not fit
  template <class WriteRankBufferAndMembersInOrderOf = post_recv_options>
  auto post_recv(...) = delete;  // arguments that do not fit
  /// Awaits `device::post_recv`, into a container that the operation keeps. The await returns `received<Buffer>`: the
  /// record and the container.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_recv(std::uint32_t peer, Buffer&& buffer, const post_recv_options& options = {},
                               std::stop_token stop = {}) {
    const auto call = [peer](weft::device& dev, Buffer& own, completion& local, const auto& call_options) {
      return dev.post_recv(peer, own, local, call_options);
    };
    using post = detail::post_call_with<Buffer, post_recv_options, decltype(call)>;
    return detail::owning_awaiter<detail::stoppable_awaiter<post>, Buffer>{
        state(),     operation::receive, peer,
        options.tag, std::move(stop),    post{device_, options, call, std::move(buffer)}};
  }
  /// Awaits the receive of a message that `device::probe` has found; `message` is empty afterwards.
  [[nodiscard]] auto receive(matched_message& message, buffer_ref buffer) {
    return post_of(operation::receive, message.source(), receive_options{},
                   [=, &message](weft::device& /*dev*/, completion& local, const auto& call_options) {
                     return message.receive(buffer, local, call_options);
                   });
  }

  /// Awaits that receive, into a list of buffers.
  [[nodiscard]] auto receive(matched_message& message, buffer_list buffer) {
    return post_of(operation::receive, message.source(), receive_options{},
                   [=, &message](weft::device& /*dev*/, completion& local, const auto& call_options) {
                     return message.receive(buffer, local, call_options);
                   });
  }
  template <class WriteMatchedMessageAnd = buffer_ref>
  auto receive(...) = delete;  // arguments that do not fit

  /// Awaits `device::post_put`.
  [[nodiscard]] auto post_put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to,
                              const post_put_options& options = {}) {
    return post_of(operation::put, peer, options, [=](weft::device& dev, completion& local, const auto& call_options) {
      return dev.post_put(peer, bytes, to, local, call_options);
    });
  }
  /// Awaits `device::post_put`, of a list of buffers.
  [[nodiscard]] auto post_put(std::uint32_t peer, const_buffer_list bytes, const remote_buffer& to,
                              const post_put_options& options = {}) {
    return post_of(operation::put, peer, options, [=](weft::device& dev, completion& local, const auto& call_options) {
      return dev.post_put(peer, bytes, to, local, call_options);
    });
  }
  template <class WriteMembersInOrderOf = post_put_options>
  auto post_put(std::uint32_t, const_buffer_ref, const remote_buffer&, ...) = delete;  // options that do not fit
  template <class WriteRankBufferRemoteBufferAndMembersInOrderOf = post_put_options>
  auto post_put(...) = delete;  // arguments that do not fit
  /// Awaits `device::post_put`, of a container that the operation keeps.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_put(std::uint32_t peer, Buffer&& bytes, const remote_buffer& to,
                              const post_put_options& options = {}) {
    return post_with(operation::put, peer, std::move(bytes), options,
                     [=](weft::device& dev, const Buffer& own, completion& local, const auto& call_options) {
                       return dev.post_put(peer, own, to, local, call_options);
                     });
  }

  /// Awaits `device::post_get`.
  [[nodiscard]] auto post_get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from,
                              const post_get_options& options = {}) {
    return post_of(operation::get, peer, options, [=](weft::device& dev, completion& local, const auto& call_options) {
      return dev.post_get(peer, buffer, from, local, call_options);
    });
  }
  /// Awaits `device::post_get`, into a list of buffers.
  [[nodiscard]] auto post_get(std::uint32_t peer, buffer_list buffer, const remote_buffer& from,
                              const post_get_options& options = {}) {
    return post_of(operation::get, peer, options, [=](weft::device& dev, completion& local, const auto& call_options) {
      return dev.post_get(peer, buffer, from, local, call_options);
    });
  }
  template <class WriteMembersInOrderOf = post_get_options>
  auto post_get(std::uint32_t, buffer_ref, const remote_buffer&, ...) = delete;  // options that do not fit
  template <class WriteRankBufferRemoteBufferAndMembersInOrderOf = post_get_options>
  auto post_get(...) = delete;  // arguments that do not fit
  /// Awaits `device::post_get`, into a container that the operation keeps. The await returns `received<Buffer>`.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_get(std::uint32_t peer, Buffer&& buffer, const remote_buffer& from,
                              const post_get_options& options = {}) {
    const auto call = [=](weft::device& dev, Buffer& own, completion& local, const auto& call_options) {
      return dev.post_get(peer, own, from, local, call_options);
    };
    using post = detail::post_call_with<Buffer, post_get_options, decltype(call)>;
    return detail::owning_awaiter<detail::operation_awaiter<post>, Buffer>{
        state(), operation::get, peer, options.tag, post{device_, options, call, std::move(buffer)}};
  }

  /// Awaits `device::post_atomic`.
  template <detail::atomic_word Word>
  [[nodiscard]] auto post_atomic(std::uint32_t peer, atomic_op op, Word operand, const remote_buffer& target,
                                 const post_atomic_options<Word>& options = {}) {
    return post_of(operation::atomic, peer, options,
                   [=](weft::device& dev, completion& local, const auto& call_options) {
                     return dev.post_atomic<Word>(peer, op, operand, target, local, call_options);
                   });
  }
  template <class WriteRankOperationWordRemoteBufferAndMembersInOrderOf = post_atomic_options<std::uint64_t>>
  auto post_atomic(...) = delete;  // arguments that do not fit

  /// The device on which the loop posts and makes progress.
  [[nodiscard]] weft::device& device() const noexcept { return *device_; }
  /// The old name of `device`.
  [[deprecated("use device()")]] [[nodiscard]] weft::device& through() const noexcept { return *device_; }

 private:
  friend class event;

  template <class Options, class Call>
  detail::operation_awaiter<detail::post_call<Options, Call>> post_of(operation opcode, std::uint32_t peer,
                                                                      const Options& options, Call call) {
    using post = detail::post_call<Options, Call>;
    return detail::operation_awaiter<post>{state(), opcode, peer, detail::tag_of(options),
                                           post{device_, options, call}};
  }
  template <class Buffer, class Options, class Call>
  detail::operation_awaiter<detail::post_call_with<Buffer, Options, Call>> post_with(  //
      operation opcode, std::uint32_t peer, Buffer&& bytes, const Options& options, Call call) {
    using post = detail::post_call_with<Buffer, Options, Call>;
    return detail::operation_awaiter<post>{state(), opcode, peer, detail::tag_of(options),
                                           post{device_, options, call, std::move(bytes)}};
  }
  template <class Options, class Call>
  detail::stoppable_awaiter<detail::post_call<Options, Call>> stoppable_of(  //
      operation opcode, std::uint32_t peer, const Options& options, std::stop_token stop, Call call) {
    using post = detail::post_call<Options, Call>;
    return detail::stoppable_awaiter<post>{state(),     opcode,          peer,
                                           options.tag, std::move(stop), post{device_, options, call}};
  }
  template <class Buffer, class Options, class Call>
  detail::stoppable_awaiter<detail::post_call_with<Buffer, Options, Call>> stoppable_with(  //
      operation opcode, std::uint32_t peer, Buffer&& bytes, const Options& options, std::stop_token stop, Call call) {
    using post = detail::post_call_with<Buffer, Options, Call>;
    return detail::stoppable_awaiter<post>{
        state(), opcode, peer, options.tag, std::move(stop), post{device_, options, call, std::move(bytes)}};
  }
  template <class Result, class Ask>
  detail::watch_awaiter<Result, Ask> watch(const completion& object, bool is_for_all, std::stop_token stop, Ask ask) {
    return detail::watch_awaiter<Result, Ask>{state(), object, is_for_all, std::move(stop), std::move(ask)};
  }

  [[nodiscard]] core::run_loop_state& state() const noexcept { return state_of(this); }
  // The loop may have been destroyed, so its memory is not read. Ends the process then, unless a new loop lies there.
  static core::run_loop_state& state_of(const run_loop* loop) noexcept;
  detail::ready_node* take_ready();
  void give_back(detail::ready_node* batch) noexcept;
  void rethrow();
  void set(std::atomic<bool>& flag) noexcept;
  bool run_until(bool (*is_over)(void*), void* argument, const wait_options& options);

  weft::device* device_;
  core::run_loop_state* state_;
};

}  // namespace weft

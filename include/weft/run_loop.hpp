// The run loop: awaits operations and completion objects, and runs the coroutines that are ready.
//
// Cost: detail/awaiters.hpp. A call of `run_ready` that finds nothing reads four words, takes a lock that nobody waits
// for, and looks at each completion object that is awaited.
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weft/completion_queue.hpp"
#include "weft/counter.hpp"
#include "weft/detail/awaiters.hpp"
#include "weft/device.hpp"
#include "weft/graph.hpp"
#include "weft/synchronizer.hpp"
#include "weft/task.hpp"

namespace weft {

/// Completions put coroutines into its ready queue; they run when the program calls it, never inside progress.
///
/// What it has of posting functions are those of `device`, with the same arguments but for the completion object, to be
/// awaited: `completion_record r = co_await loop.post_recv(peer, buffer, {.tag = 7});`. They give back the completion's
/// record, or, where the post was *done* and the coroutine went on at once, one that has operation, peer and tag. What
/// answers *retry* is posted again by the loop, until it goes through. `.context`, `.allow_done` and `.allow_retry` are
/// the loop's own.
/// **Buffer**: must not be touched, and live, until the await is over; what is given as an rvalue of a container that
/// owns its memory is kept with the operation (`std::move(vector)`), and receives and gets give it back; a record's
/// `data()` is that buffer, and of use as long as it lives and is not moved. An abandoned coroutine's frame lives until
/// its operation is complete (`task`).
/// **Errors**: those of the posting function are thrown by the await; an operation that fails later says so in the
/// record's `error()`.
///
/// **Threads**: any may call any of this, at once too, where the device is shared: then several run coroutines.
/// **Lifetime**: coroutines that wait for something of a loop must have gone on before it goes, and none may await it
/// any more: either ends the process with a message. The device outlives it. **Source**: yan2025-lci, 4.2.6, for
/// completion by the user's own object; dang2016, 4.2, for user-level threads.
class run_loop {
 public:
  /// `through` posts, and makes progress in `poll` and `run`.
  explicit run_loop(device& through);
  ~run_loop();
  run_loop(const run_loop&) = delete;
  run_loop& operator=(const run_loop&) = delete;

  /// Starts `what`, with the next call of `run_ready`, and keeps it until its end. What it throws comes out of one of
  /// the calls that follow of `run_ready`, `poll` or `run`. **Blocking**: never. **Threads**: any, on any device.
  void spawn(task<> what);

  /// Spawned tasks that have not ended. **Threads**: any.
  [[nodiscard]] std::size_t spawned() const noexcept;

  /// Looks at what is awaited, posts again what was to be, and runs each coroutine that is ready by now, once.
  /// **Blocking**: never; as long as the coroutines run. Makes no progress. **Returns**: how many it has run.
  std::size_t run_ready();

  /// The same, but has `executor(std::coroutine_handle<>)` resume them: at once, later, or in another thread. From then
  /// on they are the executor's; what they post needs a device that is shared.
  template <std::invocable<std::coroutine_handle<>> Executor>
  std::size_t run_ready(Executor&& executor) {
    std::size_t count = 0;
    detail::ready_node* next = take_ready();
    try {
      for (; next != nullptr; ++count) {
        detail::ready_node& node = *next;
        next = node.behind;  // the node may be gone soon
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

  /// Makes progress, then runs what is ready. **Blocking**: never. **Returns**: whether either has done something.
  bool poll();

  /// Makes progress and runs what is ready until no spawned task is left; sleeps as `device::wait` does while there is
  /// nothing to do. **Blocking**: until then. Not inside a handler. **Returns**: false after `options.timeout`.
  /// **Errors**: `invalid_state` inside a handler; what a spawned task throws.
  bool run(const wait_options& options = {});

  /// The same until `what` has ended, which starts at once. **Returns**: what it gives back, or throws. What a spawned
  /// task throws ends it as well, and `what` is destroyed then: spawn tasks that throw only where no other thread runs
  /// the loop, and no executor its coroutines.
  template <class T>
  T run(task<T> what) {
    class end_of_task final : public detail::task_owner {
     public:
      explicit end_of_task(run_loop& in) noexcept : in_{&in} {}
      void ended(detail::task_promise_base& /*what*/) noexcept override { in_->set(has_ended_); }
      // [run_loop.ended] acquire <- [run_loop.end]: what the task did.
      [[nodiscard]] bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }

     private:
      run_loop* in_;
      std::atomic<bool> has_ended_{false};
    } end{*this};
    const auto task_itself = what.coroutine_;
    if (!task_itself) detail::await_misuse(detail::task_is_empty);
    task_itself.promise().start(task_itself, nullptr, &end);
    detail::resume(task_itself);
    run_until([](void* of) { return static_cast<end_of_task*>(of)->has_ended(); }, &end, {});
    return task_itself.promise().result();
  }

  /// Behind what is ready now; also the way from another loop, or from a thread of one's own, to this one.
  [[nodiscard]] detail::schedule_awaiter schedule() noexcept { return detail::schedule_awaiter{state()}; }

  /// The next record of `from`; nothing once `stop` is requested.
  /// **Order**: coroutines get records in the order in which they came to wait.
  [[nodiscard]] auto wait(completion_queue& from, std::stop_token stop = {}) {
    return watch<std::optional<completion_record>>(from, true, std::move(stop), [&from] { return from.pop(); });
  }
  /// Whether it has counted at least `value` signals; false once `stop` is requested. Looks at each coroutine that
  /// waits for the counter.
  [[nodiscard]] auto wait(const counter& on, std::uint64_t value, std::stop_token stop = {}) {
    return watch<bool>(on, false, std::move(stop), [&on, value] { return on.value() >= value; });
  }
  /// Whether it is ready; false once `stop` is requested.
  [[nodiscard]] auto wait(const synchronizer& on, std::stop_token stop = {}) {
    return watch<bool>(on, true, std::move(stop), [&on] { return on.is_ready(); });
  }
  /// Whether `is_done()`, which is asked in each call of `run_ready`, where `on`, of any kind, may make it true. It
  /// must not throw, nor call the loop.
  template <std::predicate Condition>
  [[nodiscard]] auto wait(const completion& on, Condition is_done, std::stop_token stop = {}) {
    return watch<bool>(on, false, std::move(stop), std::move(is_done));
  }

  /// `device::flush`, to be awaited: goes on when all that was posted to rank `peer` is through. **Errors**: the same.
  [[nodiscard]] detail::flush_awaiter flush(std::uint32_t peer);
  /// The same for all ranks.
  [[nodiscard]] detail::flush_awaiter flush();
  /// `runtime::barrier`, to be awaited, by one coroutine or thread of a rank at a time: goes on when every rank has
  /// come, whichever way. A task that is dropped meanwhile leaves the other ranks waiting. **Errors**: the same, and
  /// `invalid_argument` where the loop's device is not the runtime's default one, by which barriers go.
  [[nodiscard]] detail::barrier_awaiter barrier();

  /// Starts `what` and waits for its end (`graph::start`).
  [[nodiscard]] auto start(graph& what) {
    const auto post = [&what](completion& local, void* context) {
      what.start(local, context);
      return status::posted(0);
    };
    return detail::operation_awaiter<decltype(post)>{state(), operation::graph, 0, 0, post};
  }

  // From here on as in `device`.

  /// `device::post_am`, to be awaited.
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, const_buffer_ref bytes,
                             const post_am_options& options = {}) {
    return post_of(operation::active_message, peer, options, [=](device& dev, completion& local, const auto& how) {
      return dev.post_am(peer, to, bytes, local, how);
    });
  }
  /// `device::post_am`, of a list of buffers.
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, const_buffer_list bytes,
                             const post_am_options& options = {}) {
    return post_of(operation::active_message, peer, options, [=](device& dev, completion& local, const auto& how) {
      return dev.post_am(peer, to, bytes, local, how);
    });
  }
  /// `device::post_am`, of a buffer that is kept with the operation.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, Buffer&& bytes,
                             const post_am_options& options = {}) {
    return post_with(operation::active_message, peer, std::move(bytes), options,
                     [=](device& dev, const Buffer& own, completion& local, const auto& how) {
                       return dev.post_am(peer, to, own, local, how);
                     });
  }
  /// The packet is empty afterwards.
  [[nodiscard]] auto post_am(std::uint32_t peer, remote_completion to, packet& filled, std::size_t bytes,
                             const post_packet_options& options = {}) {
    const auto post = [=, dev = through_, &filled](completion& /*local*/, void* /*context*/) {
      return dev->post_am(peer, to, filled, bytes, options);
    };
    return detail::operation_awaiter<decltype(post)>{state(), operation::active_message, peer, options.tag, post};
  }

  /// `device::post_send`, to be awaited.
  [[nodiscard]] auto post_send(std::uint32_t peer, const_buffer_ref bytes, const post_send_options& options = {}) {
    return post_of(operation::send, peer, options, [=](device& dev, completion& local, const auto& how) {
      return dev.post_send(peer, bytes, local, how);
    });
  }
  /// `device::post_send`, of a list of buffers.
  [[nodiscard]] auto post_send(std::uint32_t peer, const_buffer_list bytes, const post_send_options& options = {}) {
    return post_of(operation::send, peer, options, [=](device& dev, completion& local, const auto& how) {
      return dev.post_send(peer, bytes, local, how);
    });
  }
  /// `device::post_send`, of a buffer that is kept with the operation.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_send(std::uint32_t peer, Buffer&& bytes, const post_send_options& options = {}) {
    return post_with(operation::send, peer, std::move(bytes), options,
                     [=](device& dev, const Buffer& own, completion& local, const auto& how) {
                       return dev.post_send(peer, own, local, how);
                     });
  }

  /// A request of `stop` takes it back where nothing has matched it: the record has the error `cancelled` then.
  [[nodiscard]] auto post_recv(std::uint32_t peer, buffer_ref buffer, const post_recv_options& options = {},
                               std::stop_token stop = {}) {
    return receive_of(peer, options, std::move(stop), [=](device& dev, completion& local, const auto& how) {
      return dev.post_recv(peer, buffer, local, how);
    });
  }
  /// `device::post_recv`, of a list of buffers.
  [[nodiscard]] auto post_recv(std::uint32_t peer, buffer_list buffer, const post_recv_options& options = {},
                               std::stop_token stop = {}) {
    return receive_of(peer, options, std::move(stop), [=](device& dev, completion& local, const auto& how) {
      return dev.post_recv(peer, buffer, local, how);
    });
  }
  /// Gives back `received<Buffer>`: the record and the buffer.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_recv(std::uint32_t peer, Buffer&& buffer, const post_recv_options& options = {},
                               std::stop_token stop = {}) {
    const auto call = [peer](device& dev, Buffer& own, completion& local, const auto& how) {
      return dev.post_recv(peer, own, local, how);
    };
    using post = detail::post_call_with<Buffer, post_recv_options, decltype(call)>;
    return detail::owning_awaiter<detail::receive_awaiter<post>, Buffer>{
        state(), peer, options.tag, std::move(stop), post{through_, options, call, std::move(buffer)}};
  }
  /// Receives a message that `device::probe` has found; it is empty afterwards.
  [[nodiscard]] auto receive(matched_message& message, buffer_ref buffer) {
    return post_of(operation::receive, message.source(), receive_options{},
                   [=, &message](device& /*dev*/, completion& local, const auto& how) {
                     return message.receive(buffer, local, how);
                   });
  }

  /// `device::post_put`, to be awaited.
  [[nodiscard]] auto post_put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to,
                              const post_put_options& options = {}) {
    return post_of(operation::put, peer, options, [=](device& dev, completion& local, const auto& how) {
      return dev.post_put(peer, bytes, to, local, how);
    });
  }
  /// `device::post_put`, of a list of buffers.
  [[nodiscard]] auto post_put(std::uint32_t peer, const_buffer_list bytes, const remote_buffer& to,
                              const post_put_options& options = {}) {
    return post_of(operation::put, peer, options, [=](device& dev, completion& local, const auto& how) {
      return dev.post_put(peer, bytes, to, local, how);
    });
  }
  /// `device::post_put`, of a buffer that is kept with the operation.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_put(std::uint32_t peer, Buffer&& bytes, const remote_buffer& to,
                              const post_put_options& options = {}) {
    return post_with(operation::put, peer, std::move(bytes), options,
                     [=](device& dev, const Buffer& own, completion& local, const auto& how) {
                       return dev.post_put(peer, own, to, local, how);
                     });
  }

  /// `device::post_get`, to be awaited.
  [[nodiscard]] auto post_get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from,
                              const post_get_options& options = {}) {
    return post_of(operation::get, peer, options, [=](device& dev, completion& local, const auto& how) {
      return dev.post_get(peer, buffer, from, local, how);
    });
  }
  /// Gives back `received<Buffer>`.
  template <detail::owned_buffer Buffer>
  [[nodiscard]] auto post_get(std::uint32_t peer, Buffer&& buffer, const remote_buffer& from,
                              const post_get_options& options = {}) {
    const auto call = [=](device& dev, Buffer& own, completion& local, const auto& how) {
      return dev.post_get(peer, own, from, local, how);
    };
    using post = detail::post_call_with<Buffer, post_get_options, decltype(call)>;
    return detail::owning_awaiter<detail::operation_awaiter<post>, Buffer>{
        state(), operation::get, peer, options.tag, post{through_, options, call, std::move(buffer)}};
  }

  /// `device::post_atomic`, to be awaited.
  template <class Word>
  [[nodiscard]] auto post_atomic(std::uint32_t peer, atomic_op op, Word operand, const remote_buffer& at,
                                 const post_atomic_options<Word>& options = {}) {
    return post_of(operation::atomic, peer, options, [=](device& dev, completion& local, const auto& how) {
      return dev.post_atomic<Word>(peer, op, operand, at, local, how);
    });
  }

  /// The device that it posts on and polls.
  [[nodiscard]] device& through() const noexcept { return *through_; }

 private:
  friend class event;

  template <class Options>
  static std::uint64_t tag_of(const Options& options) noexcept {
    if constexpr (requires { options.tag; }) return options.tag;
    return 0;
  }
  template <class Options, class Call>
  detail::operation_awaiter<detail::post_call<Options, Call>> post_of(operation what, std::uint32_t peer,
                                                                      const Options& options, Call call) {
    using post = detail::post_call<Options, Call>;
    return detail::operation_awaiter<post>{state(), what, peer, tag_of(options), post{through_, options, call}};
  }
  template <class Buffer, class Options, class Call>
  detail::operation_awaiter<detail::post_call_with<Buffer, Options, Call>> post_with(  //
      operation what, std::uint32_t peer, Buffer&& bytes, const Options& options, Call call) {
    using post = detail::post_call_with<Buffer, Options, Call>;
    return detail::operation_awaiter<post>{state(), what, peer, tag_of(options),
                                           post{through_, options, call, std::move(bytes)}};
  }
  template <class Call>
  detail::receive_awaiter<detail::post_call<post_recv_options, Call>> receive_of(  //
      std::uint32_t peer, const post_recv_options& options, std::stop_token stop, Call call) {
    using post = detail::post_call<post_recv_options, Call>;
    return detail::receive_awaiter<post>{state(), peer, options.tag, std::move(stop), post{through_, options, call}};
  }
  template <class Result, class Ask>
  detail::watch_awaiter<Result, Ask> watch(const completion& on, bool is_for_all, std::stop_token stop, Ask ask) {
    return detail::watch_awaiter<Result, Ask>{state(), on, is_for_all, std::move(stop), std::move(ask)};
  }

  [[nodiscard]] core::run_loop_state& state() const noexcept { return state_of(this); }
  // Of a loop that may have gone: nothing of its memory is read. Ends the process then, unless another loop lies there.
  static core::run_loop_state& state_of(const run_loop* loop) noexcept;
  detail::ready_node* take_ready();
  void give_back(detail::ready_node* batch) noexcept;
  void rethrow();
  void set(std::atomic<bool>& flag) noexcept;
  bool run_until(bool (*is_over)(void*), void* of, const wait_options& options);

  device* through_;
  core::run_loop_state* state_;
};

}  // namespace weft

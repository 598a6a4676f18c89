// SPDX-License-Identifier: BSD-3-Clause
// Awaiters: for a posted operation, for one that can be cancelled, for a condition. An awaiter lies in the frame
// of the awaiting coroutine; the functions of `run_loop` make it.
//
// Cost of an operation: the post, and the completion's virtual call, which moves the record here and puts the coroutine
// into the ready queue. One that can be cancelled needs two more atomic exchanges, as a thread that cancels it needs
// its ticket.
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/detail/flush_mark.hpp"
#include "weft/detail/suspension.hpp"
#include "weft/device.hpp"
#include "weft/status.hpp"

namespace weft {
namespace core {
class awaited_end;
class run_loop_state;
class runtime_state;
}  // namespace core

/// The result of a receive or get that kept its buffer: the record of its completion, and the buffer.
template <class Buffer>
struct received {
  completion_record record;
  Buffer buffer;
};

namespace detail {

/// A container given as an rvalue: the operation keeps it.
template <class Buffer>
concept owned_buffer =
    !outlives_call<Buffer> && !std::is_const_v<Buffer> && byte_container<Buffer> && std::move_constructible<Buffer>;

/// An operation and the coroutine that awaits it.
class posting : public suspension {
 public:
  /// `opcode`, `peer` and `tag` are in the record if the post is *done*.
  posting(core::run_loop_state& loop, operation opcode, std::uint32_t peer, std::uint64_t tag) noexcept;

  /// Called when the operation is complete. **Threads**: the one that signals the completion. **Returns**: whether the
  /// coroutine is ready.
  [[nodiscard]] bool complete(completion_record&& record) noexcept;
  /// Posts again after *retry*. **Returns**: false if the post answers *retry* again; true if the operation is under
  /// way, or the coroutine is in the ready queue.
  [[nodiscard]] bool post_again() noexcept;
  /// Ends what was not posted, with the error `cancelled`: the coroutine is in the ready queue.
  void cancel_unposted() noexcept;
  /// The record so far: operation, peer and tag.
  [[nodiscard]] const raw_record& described() noexcept { return record_.raw(); }

 protected:
  ~posting() = default;

  /// Posts for the first time. **Returns**: whether the coroutine is suspended; then it may be destroyed already.
  [[nodiscard]] bool begin();
  [[nodiscard]] completion_record end();

  [[nodiscard]] core::run_loop_state& loop() const noexcept { return *loop_; }
  completion_record& record() noexcept { return record_; }

  virtual status post(completion& local, void* context) = 0;
  /// Publishes the ticket of an operation that can be cancelled, after its post. **Returns**: whether the operation is
  /// under way; then the coroutine may be destroyed already.
  [[nodiscard]] virtual bool publish_ticket(std::uint64_t /*ticket*/) noexcept { return true; }
  /// Whether the coroutine was abandoned or asked to stop.
  [[nodiscard]] virtual bool is_stopped() noexcept { return is_abandoned; }

  // The state of what can be cancelled. Its post has not returned: `posted_soon`, or `unwanted_soon` once it is to be
  // cancelled. Its post has returned: its ticket, which is larger than all of these, or `cancelled_later` while the
  // loop holds it, to try to cancel it.
  static constexpr std::uint64_t posted_soon = 0;
  static constexpr std::uint64_t unwanted_soon = 1;
  static constexpr std::uint64_t cancelled_later = 2;
  static constexpr std::uint64_t completed = 3;
  std::atomic<std::uint64_t> state_{posted_soon};

 private:
  [[nodiscard]] bool settle(status answer, bool is_kept) noexcept;

  core::run_loop_state* loop_;
  completion_record record_;
  std::exception_ptr failure_;
};

/// Awaits an operation that cannot be cancelled.
template <class Post>
class operation_awaiter : public posting {
 public:
  operation_awaiter(core::run_loop_state& loop, operation opcode, std::uint32_t peer, std::uint64_t tag, Post post)
      : posting{loop, opcode, peer, tag}, post_{std::move(post)} {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> awaiting) {
    suspend(awaiting);
    return begin();
  }
  completion_record await_resume() { return end(); }

 private:
  status post(completion& local, void* context) final { return post_(local, context); }

 protected:
  Post post_;
};

/// Awaits a receive, send or active message, which can be cancelled.
class stoppable : public posting {
 public:
  stoppable(core::run_loop_state& loop, operation opcode, std::uint32_t peer, std::uint64_t tag,
            std::stop_token stop) noexcept;

  bool abandon(ready_node& task_root) noexcept override;
  /// Tries again to cancel the operation, for the loop that holds it. **Returns**: false if that has to be repeated.
  /// After true the loop does not hold it any more: it is in the ready queue, will be put there, or was destroyed.
  [[nodiscard]] bool cancel_again() noexcept;

 protected:
  ~stoppable() = default;
  [[nodiscard]] bool publish_ticket(std::uint64_t ticket) noexcept final;
  [[nodiscard]] bool is_stopped() noexcept final { return is_abandoned || stop_.stop_requested(); }
  [[nodiscard]] bool begin();
  [[nodiscard]] completion_record end();

 private:
  struct canceller {
    void operator()() const noexcept { owner->cancel(); }
    stoppable* owner;
  };
  void cancel() noexcept;

  std::uint64_t ticket_ = 0;  // while the loop holds it
  std::stop_token stop_;
  std::optional<std::stop_callback<canceller>> on_stop_;
};

template <class Post>
class stoppable_awaiter : public stoppable {
 public:
  stoppable_awaiter(core::run_loop_state& loop, operation opcode, std::uint32_t peer, std::uint64_t tag,
                    std::stop_token stop, Post post)
      : stoppable{loop, opcode, peer, tag, std::move(stop)}, post_{std::move(post)} {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> awaiting) {
    suspend(awaiting);
    return begin();
  }
  completion_record await_resume() { return end(); }

 private:
  status post(completion& local, void* context) final { return post_(local, context); }

 protected:
  Post post_;
};

/// An awaiter that keeps the buffer, in `Post`, and does not move it before the operation's end.
template <class Awaiter, class Buffer>
class owning_awaiter final : public Awaiter {
 public:
  using Awaiter::Awaiter;
  received<Buffer> await_resume() {
    completion_record done = Awaiter::await_resume();
    received<Buffer> out{std::move(done), std::move(this->post_.buffer)};
    raw_record& raw = out.record.raw();
    if (raw.location == payload_location::borrowed) {  // an array, or a short string, has moved with the container
      raw_record::reference data = raw.referred();
      if (data.data != nullptr) data.data = std::data(out.buffer);
      raw.refer(data);
    }
    return out;
  }
};

template <class Options>
[[nodiscard]] constexpr std::uint64_t tag_of(const Options& options) noexcept {
  if constexpr (requires { options.tag; }) return options.tag;
  return 0;
}

/// `Call(device, local, options)` posts.
template <class Options, class Call>
struct post_call {
  status operator()(completion& local, void* context) {
    prepare(options, context);
    return call(*dev, local, options);
  }
  // The answers that the loop understands are *done*, *posted* and *retry*.
  static void prepare(Options& options, void* context) noexcept {
    options.context = context;
    if constexpr (requires { options.allow_done; }) options.allow_done = true;
    if constexpr (requires { options.allow_retry; }) options.allow_retry = true;
  }
  device* dev;
  Options options;
  Call call;
};

/// `Call(device, buffer, local, options)` posts, with a buffer that is kept here.
template <class Buffer, class Options, class Call>
struct post_call_with {
  status operator()(completion& local, void* context) {
    post_call<Options, Call>::prepare(options, context);
    return call(*dev, buffer, local, options);
  }
  device* dev;
  Options options;
  Call call;
  Buffer buffer;
};

/// A condition that the loop tests in each `run_ready`, and a completion object whose signals may make it true.
class watching : public suspension {
 public:
  /// `object`: null if no object is signalled when the condition changes; then a waiting loop polls. `is_for_all`: if
  /// the condition is false for one of the object's waiting coroutines, it is false for all behind it.
  watching(core::run_loop_state& loop, const completion* object, bool is_for_all, std::stop_token stop) noexcept
      : loop_{&loop}, object_{object}, stop_{std::move(stop)}, is_for_all_{is_for_all} {}

  [[nodiscard]] const completion* object() const noexcept { return object_; }
  [[nodiscard]] bool is_for_all() const noexcept { return is_for_all_; }
  [[nodiscard]] bool is_stopped() const noexcept { return is_abandoned || is_cancelled_ || stop_.stop_requested(); }
  /// Called by the loop: as a request of the stop token, if the wait can have one.
  void cancel() noexcept { is_cancelled_ = may_stop(); }
  /// Whether the condition is true. A wait for a record takes it here.
  [[nodiscard]] virtual bool is_met() noexcept = 0;

  bool abandon(ready_node& task_root) noexcept override;

 protected:
  ~watching() = default;
  void begin();
  void end() noexcept;
  [[nodiscard]] virtual bool may_stop() const noexcept { return false; }

 private:
  struct look_request {
    void operator()() const noexcept;
    core::run_loop_state* loop;
  };

  core::run_loop_state* loop_;
  const completion* object_;
  std::stop_token stop_;
  std::optional<std::stop_callback<look_request>> on_stop_;
  bool is_for_all_;
  bool is_cancelled_ = false;
};

/// `Ask()` returns a `Result`, which converts to true if the condition holds.
template <class Result, class Ask>
class watch_awaiter final : public watching {
 public:
  watch_awaiter(core::run_loop_state& loop, const completion& object, bool is_for_all, std::stop_token stop, Ask ask)
      : watching{loop, &object, is_for_all, std::move(stop)}, ask_{std::move(ask)} {}

  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    suspend(awaiting);
    begin();
  }
  [[nodiscard]] Result await_resume() noexcept {
    end();
    return std::move(result_);
  }
  [[nodiscard]] bool is_met() noexcept override {
    result_ = ask_();
    return static_cast<bool>(result_);
  }

 private:
  [[nodiscard]] bool may_stop() const noexcept override { return true; }

  Ask ask_;
  Result result_{};
};

/// A flush or a barrier.
class runtime_wait : public watching {
 public:
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    suspend(awaiting);
    begin();
  }
  void await_resume() {
    end();
    if (failure_) std::rethrow_exception(failure_);
  }
  [[nodiscard]] bool is_met() noexcept final;

 protected:
  runtime_wait(core::run_loop_state& loop, core::runtime_state& runtime);
  ~runtime_wait() = default;
  /// Whether the flush or barrier is complete. **Errors**: its errors.
  [[nodiscard]] virtual bool go_on() = 0;

  core::runtime_state& runtime_;

 private:
  std::exception_ptr failure_;
};

class flush_awaiter final : public runtime_wait {
 public:
  /// Flushes the ranks from `first` to `end - 1`.
  flush_awaiter(core::run_loop_state& loop, core::runtime_state& runtime, std::uint32_t first, std::uint32_t end)
      : runtime_wait{loop, runtime}, next_{first}, end_{end} {}

 private:
  [[nodiscard]] bool go_on() override;
  std::uint32_t next_;
  std::uint32_t end_;
  flush_mark since_;  // begin of the flush to `next_`
};

class barrier_awaiter final : public runtime_wait {
 public:
  barrier_awaiter(core::run_loop_state& loop, core::runtime_state& runtime) : runtime_wait{loop, runtime} {}

 private:
  [[nodiscard]] bool go_on() override;
};

/// The end of a hook, a registration, an engine or a device.
class end_awaiter final : public watching {
 public:
  /// `awaited` is null if there is nothing to end.
  end_awaiter(core::run_loop_state& loop, std::unique_ptr<core::awaited_end> awaited) noexcept;
  ~end_awaiter();
  [[nodiscard]] bool await_ready() const noexcept { return awaited_ == nullptr; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    suspend(awaiting);
    begin();
  }
  void await_resume() noexcept {
    if (awaited_ != nullptr) end();
  }
  [[nodiscard]] bool is_met() noexcept override;

 private:
  std::unique_ptr<core::awaited_end> awaited_;
};

/// Puts the coroutine at the end of a loop's ready queue.
class schedule_awaiter final : public suspension {
 public:
  explicit schedule_awaiter(core::run_loop_state& loop) noexcept : loop_{&loop} {}
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiting) {
    suspend(awaiting);
    begin();
  }
  void await_resume() noexcept { resumed(); }

 private:
  void begin() noexcept;
  core::run_loop_state* loop_;
};

}  // namespace detail
}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// Fibers inside callbacks (handlers, hooks, nodes, allocators, match keys): no other fiber of the worker runs there,
// and calls that wait are refused.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// What a callback does in these tests; a match key has no state of its own.
std::function<void()> body_of_key;
std::uint64_t key_by_body(std::uint32_t, std::uint64_t tag) noexcept {
  if (body_of_key) body_of_key();
  return tag;
}

class allocator_with_body final : public buffer_allocator {
 public:
  explicit allocator_with_body(std::function<void()> body) : body_{std::move(body)} {}
  void* allocate(std::size_t bytes, std::uint32_t, std::uint64_t) noexcept override {
    body_();
    return ::operator new(bytes, std::nothrow);
  }
  void deallocate(void* memory, std::size_t) noexcept override { ::operator delete(memory); }

 private:
  std::function<void()> body_;
};

class object_with_body final : public completion {
 public:
  object_with_body(weft::runtime& rt, std::function<void()> body) : completion{rt}, body_{std::move(body)} {}
  answer signal(completion_record&& record) noexcept override {
    const completion_record consumed{std::move(record)};
    body_();
    return answer::taken;
  }

 private:
  std::function<void()> body_;
};

void until(bool& is_over, device& dev) {
  while (!is_over) {
    if (!dev.progress()) this_fiber::yield();
  }
}

struct callback_kind {
  const char* name;
  // Runs `body` once in a callback on the stack of the calling fiber, by `dev`.
  void (*run)(runtime& rt, device& dev, const std::function<void()>& body);
};

constexpr std::array kinds{
    callback_kind{"a handler in progress",
                  [](runtime& rt, device& dev, const std::function<void()>& body) {
                    counter sent{rt};
                    bool is_over = false;
                    handler called{rt, [&](completion_record&&) {
                                     body();
                                     is_over = true;
                                   }};
                    const registration here = rt.register_completion(called, {.id = 50});
                    while (dev.post_am(rt.rank(), {50}, {"x", 1}, sent).is_retry()) dev.progress();
                    until(is_over, dev);
                  }},
    callback_kind{"a handler in a post",
                  [](runtime& rt, device& dev, const std::function<void()>& body) {
                    counter sent{rt};
                    char word = 0;
                    while (dev.post_send(rt.rank(), {"x", 1}, sent, {.tag = 50}).is_retry()) dev.progress();
                    while (rt.counters().sends_waiting == 0) dev.progress();
                    bool is_over = false;
                    handler called{rt, [&](completion_record&&) {
                                     body();
                                     is_over = true;
                                   }};
                    EXPECT_TRUE(dev.post_recv(rt.rank(), {&word, 1}, called, {.tag = 50}).is_posted());
                    EXPECT_TRUE(is_over);
                  }},
    callback_kind{"an object of the program's own",
                  [](runtime& rt, device& dev, const std::function<void()>& body) {
                    counter sent{rt};
                    bool is_over = false;
                    object_with_body called{rt, [&] {
                                              body();
                                              is_over = true;
                                            }};
                    const registration here = rt.register_completion(called, {.id = 51});
                    while (dev.post_am(rt.rank(), {51}, {"x", 1}, sent).is_retry()) dev.progress();
                    until(is_over, dev);
                  }},
    callback_kind{"a hook",
                  [](runtime&, device& dev, const std::function<void()>& body) {
                    bool is_over = false;
                    const hook here = dev.add_hook([&] {
                      body();
                      is_over = true;
                      return hook_answer::done;
                    });
                    until(is_over, dev);
                  }},
    callback_kind{"the destructor of a hook",
                  [](runtime&, device& dev, const std::function<void()>& body) {
                    bool is_over = false;
                    const std::shared_ptr<void> at_end{nullptr, [&](void*) {
                                                         body();
                                                         is_over = true;
                                                       }};
                    std::optional<hook> here{dev.add_hook([kept = std::shared_ptr<void>{at_end}]() mutable {
                      kept.reset();
                      return hook_answer::done;
                    })};
                    const_cast<std::shared_ptr<void>&>(at_end).reset();
                    until(is_over, dev);
                  }},
    callback_kind{"a node of a graph",
                  [](runtime& rt, device& dev, const std::function<void()>& body) {
                    counter ended{rt};
                    graph steps{dev};
                    steps.add(body);
                    steps.start(ended);
                    EXPECT_EQ(ended.value(), 1U);
                  }},
    callback_kind{"an allocator",
                  [](runtime& rt, device& dev, const std::function<void()>& body) {
                    counter sent{rt};
                    allocator_with_body memory{body};
                    completion_queue inbox{rt};
                    const registration here = rt.register_completion(inbox, {.id = 52, .allocator = &memory});
                    const std::string text(100'000, 'x');
                    while (dev.post_am(rt.rank(), {52}, text, sent).is_retry()) dev.progress();
                    bool is_over = false;
                    while (!is_over || sent.value() == 0) {
                      is_over = is_over || inbox.pop().has_value();
                      if (!dev.progress()) this_fiber::yield();
                    }
                  }},
    callback_kind{"a match key",
                  [](runtime& rt, device& dev, const std::function<void()>& body) {
                    counter done{rt};
                    const matching_engine keyed{rt, {.id = 53, .make_key = key_by_body}};
                    char word = 0;
                    while (dev.post_send(rt.rank(), {"x", 1}, done, {.engine = 53}).is_retry()) dev.progress();
                    body_of_key = body;
                    while (rt.counters().sends_waiting == 0) dev.progress();  // made for the message that arrives
                    body_of_key = nullptr;
                    counter got{rt};
                    EXPECT_TRUE(dev.post_recv(rt.rank(), {&word, 1}, got, {.engine = 53}).is_posted());
                    bool is_over = got.value() != 0;
                    while (!is_over) {
                      dev.progress();
                      is_over = got.value() != 0;
                    }
                  }},
};

TEST(fiber_callback, lets_no_other_fiber_of_its_worker_run) {
  for (const callback_kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    test::local_job{1}.run([&](runtime& rt) {
      device& dev = rt.default_device();
      bool is_inside = false, is_over = false;
      unsigned seen_inside = 0;
      fiber_scheduler fibers;
      fiber looks = fibers.spawn([&] {
        while (!is_over) {
          seen_inside += is_inside;
          this_fiber::yield();
        }
      });
      fiber calls = fibers.spawn([&] {
        kind.run(rt, dev, [&] {
          is_inside = true;
          for (int i = 0; i < 10; ++i) this_fiber::yield();
          // Ends of objects wait for other threads: that pauses this one.
          counter unused{rt};
          std::optional<registration> unused_too{rt.register_completion(unused, {.id = 60})};
          unused_too.reset();
          hook never = dev.add_hook([] { return hook_answer::no_progress; });
          never.remove();
          is_inside = false;
        });
        is_over = true;
      });
      calls.join();
      looks.join();
      EXPECT_EQ(seen_inside, 0U);
    });
  }
}

TEST(fiber_callback, refuses_calls_that_wait_and_loses_nothing_by_that) {
  for (const callback_kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    test::local_job{1}.run([&](runtime& rt) {
      device& dev = rt.default_device();
      device other{rt};
      blocking_device io{other};
      counter never{rt};
      fiber_scheduler fibers{{.workers = 2}};
      fiber_mutex mutex;
      fiber_condition condition;
      std::unique_lock held{mutex, std::defer_lock};
      fiber_barrier pair{2};
      fiber_event event;
      fiber_promise<int> promise;
      fiber_future<int> future = promise.future();
      test::flag may_end;
      fiber joined = fibers.spawn(
          [&] {
            while (!may_end.is_raised()) this_fiber::yield();
          },
          {.worker = 1});
      run_loop loop{other};
      const std::vector<std::pair<const char*, std::function<void()>>> calls{
          {"device::wait", [&] { other.wait(never, 1, {.timeout = std::chrono::milliseconds{1}}); }},
          {"flush", [&] { other.flush(); }},
          {"barrier", [&] { rt.barrier(); }},
          {"arm", [&] { static_cast<void>(rt.arm()); }},
          {"blocking_device::send",
           [&] {
             io.send(rt.rank(), {"x", 1}, {.tag = 9});
           }},
          {"run_loop::run", [&] { loop.run({.timeout = std::chrono::milliseconds{1}}); }},
          {"fiber::join", [&] { joined.join(); }},
          {"fiber::join", [&] { static_cast<void>(joined.join({.timeout = std::chrono::hours{1}})); }},
          {"fiber_mutex::lock", [&] { mutex.lock(); }},
          {"fiber_condition::wait", [&] { condition.wait(held); }},
          {"fiber_barrier", [&] { pair.arrive_and_wait(); }},
          {"fiber_event::wait", [&] { event.wait(); }},
          {"fiber_future::get", [&] { static_cast<void>(future.get()); }},
          {"this_fiber::wait", [&] { this_fiber::wait(); }},
          {"this_fiber::move_to", [&] { this_fiber::move_to(1); }}};
      auto waits = [](run_loop& at) -> task<> { co_await at.schedule(); };
      loop.spawn(waits(loop));
      fibers
          .spawn(
              [&] {
                kind.run(rt, dev, [&] {
                  for (const auto& [name, call] : calls) {
                    try {
                      call();
                      ADD_FAILURE() << name << " was not refused";
                    } catch (const error& problem) {
                      EXPECT_EQ(problem.code(), errc::invalid_state) << name << ": " << problem.what();
                    }
                  }
                });
              },
              {.worker = 0})
          .join();
      // What was refused can still be done.
      may_end.raise();
      joined.join();
      promise.set_value(3);
      EXPECT_EQ(future.get(), 3);
      EXPECT_TRUE(loop.run({.timeout = std::chrono::seconds{60}}));
    });
  }
}

// Another thread's call of progress is under way while a handler on a fiber's stack ends its own registration.
TEST(fiber_callback, that_ends_an_object_waits_for_other_threads_and_not_for_fibers) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    device third{rt};
    counter sent{rt};
    test::flag slow_runs, slow_may_end;
    handler slow{rt, [&](completion_record&&) {
                   slow_runs.raise();
                   EXPECT_TRUE(test::eventually([&] { return slow_may_end.is_raised(); }));
                 }};
    const registration slow_here = rt.register_completion(slow, {.id = 1});
    while (third.post_am(rt.rank(), {1}, {"x", 1}, sent, {.device = third.index()}).is_retry()) third.progress();
    std::jthread polls{[&] {
      while (!slow_runs.is_raised()) third.progress();
    }};
    EXPECT_TRUE(test::eventually([&] { return slow_runs.is_raised(); }));

    test::flag begun, ended;
    bool other_ran = false;
    std::optional<registration> mine;
    handler once{rt, [&](completion_record&&) {
                   begun.raise();
                   mine.reset();
                   EXPECT_FALSE(other_ran);
                   ended.raise();
                 }};
    mine.emplace(rt.register_completion(once, {.id = 2}));
    while (dev.post_am(rt.rank(), {2}, {"y", 1}, sent).is_retry()) dev.progress();
    fiber_scheduler fibers;
    fiber calls = fibers.spawn([&] {
      while (!ended.is_raised()) {
        if (!dev.progress()) this_fiber::yield();
      }
    });
    fiber looks = fibers.spawn([&] {
      while (!begun.is_raised()) this_fiber::yield();
      other_ran = true;
    });
    EXPECT_TRUE(test::eventually([&] { return begun.is_raised(); }));
    slow_may_end.raise();
    calls.join();
    looks.join();
    EXPECT_TRUE(other_ran);
  });
}

// A foreign scheduler, here one that counts: its fibers are left alone inside of callbacks, too.
TEST(fiber_callback, suspends_no_fiber_of_a_foreign_scheduler) {
  struct counting final : suspender {
    void* current() noexcept override { return this; }
    void suspend() noexcept override { ++suspended; }
    void resume(void*) noexcept override {}
    unsigned suspended = 0;
  };
  for (const callback_kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    test::local_job{1}.run([&](runtime& rt) {
      counting mine;
      use_suspender(&mine);
      unsigned inside = 0;
      kind.run(rt, rt.default_device(), [&] {
        const unsigned before = mine.suspended;
        counter unused{rt};
        std::optional<registration> unused_too{rt.register_completion(unused, {.id = 60})};
        unused_too.reset();
        EXPECT_THROW(fiber_event{}.wait(), error);
        inside += mine.suspended - before;
      });
      EXPECT_EQ(inside, 0U);
      use_suspender(nullptr);
    });
  }
}

}  // namespace
}  // namespace weft

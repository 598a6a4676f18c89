// SPDX-License-Identifier: BSD-3-Clause
// Coroutines that await the ends of hooks, registrations, engines and devices while another thread is inside a call of
// progress() that lasts until another coroutine of the same loop has run.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <thread>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/await.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// A thread that is inside progress() of `through` until `let_go`.
class long_poll {
 public:
  explicit long_poll(device& through)
      : held_{through.add_hook([this] {
          is_inside_.raise();
          while (!may_leave_.is_raised()) std::this_thread::yield();
          return hook_answer::no_progress;
        })},
        thread_{[&through] { through.progress(); }} {
    EXPECT_TRUE(test::eventually([&] { return is_inside_.is_raised(); }));
  }
  long_poll(const long_poll&) = delete;
  long_poll& operator=(const long_poll&) = delete;
  ~long_poll() {
    let_go();
    thread_.join();
  }
  void let_go() noexcept { may_leave_.raise(); }
  [[nodiscard]] hook& held() noexcept { return held_; }

 private:
  test::flag is_inside_;
  test::flag may_leave_;
  hook held_;
  std::thread thread_;
};

constexpr int looks = 100;

// Runs `ends` in a loop on a device of its own, and lets `poll` go after some turns of another coroutine.
void run_beside(runtime& rt, long_poll& poll, const std::function<task<>(run_loop&, const bool&)>& ends) {
  device mine{rt};
  run_loop loop{mine};
  bool is_let_go = false;
  const auto computes = [&]() -> task<> {
    for (int i = 0; i < looks; ++i) co_await loop.schedule();
    is_let_go = true;
    poll.let_go();
  };
  loop.spawn(ends(loop, is_let_go));
  loop.spawn(computes());
  EXPECT_TRUE(loop.run({.timeout = test::patience}));
}

TEST(run_loop_end, awaits_a_call_that_runs_the_hook) {
  test::local_job{1}.run([](runtime& rt) {
    device other{rt};
    long_poll poll{other};
    run_beside(rt, poll, [&](run_loop& loop, const bool& is_let_go) -> task<> {
      co_await loop.end(poll.held());
      EXPECT_TRUE(is_let_go);
      EXPECT_TRUE(poll.held().is_over());
      co_await loop.end(poll.held());  // there is nothing to end any more
    });
  });
}

TEST(run_loop_end, awaits_a_call_that_may_signal_the_object) {
  test::local_job{1}.run([](runtime& rt) {
    device other{rt};
    long_poll poll{other};
    auto object = std::make_unique<counter>(rt);
    registration entry = rt.register_completion(*object, {.id = 5});
    run_beside(rt, poll, [&](run_loop& loop, const bool& is_let_go) -> task<> {
      co_await loop.end(entry);
      EXPECT_TRUE(is_let_go);
      object.reset();  // nothing refers to it
      registration none;
      co_await loop.end(none);
    });
  });
}

TEST(run_loop_end, awaits_a_call_that_may_match_in_the_engine) {
  for (const bool ordered : {false, true}) {
    test::local_job{1}.run([ordered](runtime& rt) {
      device other{rt};
      long_poll poll{other};
      matching_engine engine{rt, {.id = 3, .ordered = ordered}};
      counter sent{rt};
      const std::array<std::byte, 8> lost{};
      device& dev = rt.default_device();
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, lost, sent, {.engine = 3}); }));
      dev.progress();
      run_beside(rt, poll, [&](run_loop& loop, const bool& is_let_go) -> task<> {
        co_await loop.end(engine);
        EXPECT_TRUE(is_let_go);
        co_await loop.end(engine);
      });
      EXPECT_THROW((matching_engine{rt, {.id = 3}}), error);
    });
  }
}

TEST(run_loop_end, awaits_a_call_of_the_default_device) {
  for (const bool shared : {false, true}) {
    test::local_job{1}.run([shared](runtime& rt) {
      device other{rt, {.shared = shared}};
      const std::uint32_t index = other.index();
      long_poll poll{rt.default_device()};
      run_beside(rt, poll, [&](run_loop& loop, const bool& is_let_go) -> task<> {
        co_await loop.end(other);
        EXPECT_TRUE(is_let_go);
        co_await loop.end(other);
      });
      const device next{rt};
      EXPECT_LE(next.index(), index) << "its place is free";
    });
  }
}

// The handle ends what the coroutine had begun to end.
TEST(run_loop_end, is_left_to_the_handle_by_a_task_that_is_destroyed) {
  test::local_job{1}.run([](runtime& rt) {
    device mine{rt};
    run_loop loop{mine};
    counter object{rt};
    const auto fails = [&]() -> task<> {
      for (int i = 0; i < looks; ++i) co_await loop.schedule();
      throw std::runtime_error{"enough"};
    };
    const auto begin_to_end = [&](auto& ending) {
      const auto ends = [&]() -> task<> {
        co_await loop.end(ending);
        ADD_FAILURE() << "it was destroyed before";
      };
      loop.spawn(fails());
      EXPECT_THROW(loop.run(ends()), std::runtime_error);
    };
    {
      device other{rt};
      registration entry = rt.register_completion(object, {.id = 5});
      matching_engine engine{rt, {.id = 3}};
      long_poll poll{rt.default_device()};
      begin_to_end(poll.held());
      begin_to_end(entry);
      begin_to_end(engine);
      begin_to_end(other);
      EXPECT_EQ(entry.id(), 5U);
    }
    EXPECT_THROW(static_cast<void>(rt.register_completion(object, {.id = 5})), error);
    EXPECT_THROW((matching_engine{rt, {.id = 3}}), error);
    EXPECT_EQ(device{rt}.index(), 2U) << "its place is free";
  });
}

TEST(run_loop_end, refuses_devices_that_are_needed) {
  test::local_job{1}.run([](runtime& rt) {
    device mine{rt};
    run_loop loop{mine};
    EXPECT_THROW(static_cast<void>(loop.end(mine)), error);
    EXPECT_THROW(static_cast<void>(loop.end(rt.default_device())), error);
  });
}

}  // namespace
}  // namespace weft

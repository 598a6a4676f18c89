// SPDX-License-Identifier: BSD-3-Clause
// Another scheduler of user-level threads fits in by weft/suspender.hpp: fibers of Boost.Fiber wait in Weft's calls.
#include <gtest/gtest.h>

#include <array>
#include <boost/fiber/all.hpp>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "support/waiting.hpp"
#include "weft/suspender.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

// For one thread and the fibers that it runs. A thread may resume a fiber that has ended meanwhile, so the entry of a
// fiber here stays.
class boost_suspender final : public weft::suspender {
 public:
  boost_suspender() : before_{weft::use_suspender(this)} {}
  ~boost_suspender() { weft::use_suspender(before_); }

  void* current() noexcept override {
    if (boost::fibers::context::active()->is_context(boost::fibers::type::main_context)) return nullptr;
    if (mine_.get() == nullptr) mine_.reset(&all_.emplace_back());
    return mine_.get();
  }
  void suspend() noexcept override {
    one& me = *mine_;
    std::unique_lock lock{me.guard};
    const bool was_resumed = me.is_resumed;
    me.changed.wait(lock, [&] { return me.is_resumed; });
    me.is_resumed = false;
    lock.unlock();
    if (was_resumed) boost::this_fiber::yield();
  }
  void resume(void* which) noexcept override {
    one& other = *static_cast<one*>(which);
    {
      const std::scoped_lock lock{other.guard};
      other.is_resumed = true;
    }
    other.changed.notify_one();
  }

 private:
  struct one {
    std::mutex guard;
    boost::fibers::condition_variable_any changed;
    bool is_resumed = false;
  };
  std::deque<one> all_;
  boost::fibers::fiber_specific_ptr<one> mine_{[](one*) {}};
  weft::suspender* before_;
};

// The fibers of one thread, and one more that makes progress while there are others.
template <class Body>
void run_fibers(weft::device& dev, std::uint64_t count, Body body) {
  const boost_suspender how;
  std::uint64_t left = count;
  std::vector<boost::fibers::fiber> all;
  for (std::uint64_t i = 0; i < count; ++i) {
    all.emplace_back([&, i] {
      body(i);
      --left;
    });
  }
  all.emplace_back([&] {
    while (left != 0) {
      dev.progress();
      boost::this_fiber::yield();
    }
  });
  for (boost::fibers::fiber& each : all) each.join();
}

TEST(boost_fibers, exchange_messages_with_another_rank) {
  constexpr std::uint64_t fibers = 50;
  constexpr std::uint64_t rounds = 40;
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::blocking_device io{dev};
    const std::uint32_t other = 1 - rt.rank();
    run_fibers(dev, fibers, [&](std::uint64_t tag) {
      std::vector<std::uint64_t> out(tag % 2 == 0 ? 1 : 20'000);
      std::vector<std::uint64_t> in(out.size());
      for (std::uint64_t round = 0; round < rounds; ++round) {
        out.front() = out.back() = round * fibers + tag;
        const auto send = [&] { io.send(other, {out.data(), out.size() * sizeof out[0]}, {.tag = tag}); };
        if (rt.rank() == 0) send();
        const auto got = io.recv(other, {in.data(), in.size() * sizeof in[0]}, {.tag = tag});
        if (rt.rank() == 1) send();
        ASSERT_EQ(got.bytes(), in.size() * sizeof in[0]);
        ASSERT_EQ(in.front(), out.front());
        ASSERT_EQ(in.back(), out.back());
      }
    });
  });
}

TEST(boost_fibers, let_others_run_while_they_wait_for_an_object_a_flush_and_a_barrier) {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    std::uint64_t yields = 0;
    bool may_count = false;
    weft::counter arrived{rt};
    const auto to = rt.register_completion(arrived, {.id = 1});
    rt.barrier();
    run_fibers(dev, 2, [&](std::uint64_t which) {
      if (which == 1) {
        while (!may_count) boost::this_fiber::yield();
        for (; yields < 100; ++yields) boost::this_fiber::yield();
        return;
      }
      std::uint64_t word = 5;
      weft::synchronizer sent{rt};
      const weft::status answer = weft::test::post(dev, [&] {
        return dev.post_am(1 - rt.rank(), weft::remote_completion{to.id()}, {&word, sizeof word}, sent);
      });
      if (answer.is_posted()) {
        EXPECT_TRUE(dev.wait(sent, {.timeout = weft::test::patience}));
      }
      EXPECT_TRUE(dev.wait(arrived, 1, {.timeout = weft::test::patience}));
      dev.flush();
      rt.barrier();
      may_count = true;
      // Nobody but the other fiber of this thread makes this true.
      EXPECT_TRUE(dev.wait(sent, [&] { return yields == 100; }, {.timeout = weft::test::patience}));
    });
    rt.barrier();
  });
}

// Each fiber continues its own coroutines, whether it lets others run by a call of Weft's or by its scheduler, and as
// often as it likes.
TEST(boost_fibers, continue_their_own_coroutines) {
  constexpr std::uint64_t fibers = 4;
  static constexpr int rounds = 2000;
  weft::test::local_job{1}.run([](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::counter never{rt};
    for (const bool by_weft : {false, true}) {
      int on_another = 0;
      run_fibers(dev, fibers, [&](std::uint64_t) {
        const boost::fibers::fiber::id me = boost::this_fiber::get_id();
        const auto inner = [&]() -> weft::task<int> {
          if (by_weft) {
            int looks = 0;
            EXPECT_TRUE(dev.wait(never, [&] { return ++looks > 1; }, {.timeout = weft::test::patience, .spins = 0}));
          } else {
            boost::this_fiber::yield();
          }
          on_another += boost::this_fiber::get_id() != me;
          co_return 1;
        };
        const auto outer = [&]() -> weft::task<int> {
          int sum = 0;
          for (int round = 0; round < rounds; ++round) {
            sum += co_await inner();
            on_another += boost::this_fiber::get_id() != me;
          }
          co_return sum;
        };
        weft::run_loop loop{dev};
        EXPECT_EQ(loop.run(outer()), rounds);
      });
      EXPECT_EQ(on_another, 0);
    }
  });
}

}  // namespace

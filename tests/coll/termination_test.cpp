// SPDX-License-Identifier: BSD-3-Clause
// Terminations in real jobs, whose ranks are threads: they end exactly when no work is left, in every form.
#include "weft/termination.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "coll/spreading_work.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::with_patience;

// Calls `end(counts)` for several terminations in a row; each must end exactly when all work of all ranks is done.
void check_spreading(std::uint32_t ranks, const std::function<void(runtime&, termination&)>& end) {
  test::pieces_left left;
  test::local_job{ranks}.run([&](runtime& rt) {
    group all = rt.world();
    termination counts{all};
    test::spreading_work work{all, counts, left, rt.rank()};
    handler on_work{rt, [&](completion_record& message) { work.handle(message); }};
    const registration arrivals = rt.register_completion(on_work, {.id = test::spreading_works.id});
    collective::barrier().run(all);
    std::uint64_t expected = 0;
    for (std::uint32_t round = 0; round < 4; ++round) {
      const std::uint32_t level = 3 * (3 - round);
      if (rt.rank() == round % ranks) work.send(level);
      expected += test::spreading_work::pieces_of(level);
      end(rt, counts);
      EXPECT_EQ(left.count(), 0U) << ranks << " ranks, round " << round;
      EXPECT_EQ(work.handled_by_all(), expected) << ranks << " ranks, round " << round;
    }
    EXPECT_EQ(counts.pieces_done(), work.handled());
    work.settle();
  });
}

TEST(termination, is_waited_for) {
  for (std::uint32_t ranks = 1; ranks <= 9; ++ranks)
    check_spreading(ranks, [](runtime&, termination& counts) { ASSERT_TRUE(counts.wait(with_patience)); });
}

TEST(termination, is_asked_for) {
  for (const std::uint32_t ranks : {1U, 3U, 6U}) {
    check_spreading(
        ranks, [](runtime&, termination& counts) { ASSERT_TRUE(test::eventually([&] { return counts.test(); })); });
  }
}

TEST(termination, is_signalled_to_a_completion_object) {
  for (const std::uint32_t ranks : {1U, 3U}) {
    check_spreading(ranks, [](runtime& rt, termination& counts) {
      completion_queue ends{rt};
      int context = 0;
      EXPECT_TRUE(counts.post(ends, &context).is_posted());
      const auto end = rt.default_device().wait(ends, with_patience);
      ASSERT_TRUE(end.has_value());
      EXPECT_EQ(end->operation(), operation::graph);
      EXPECT_EQ(end->error(), errc::none);
      EXPECT_EQ(end->context(), &context);
    });
  }
}

task<> awaited(run_loop& loop, termination& counts) {
  const completion_record end = co_await counts.await(loop);
  EXPECT_EQ(end.error(), errc::none);
}

TEST(termination, is_awaited) {
  for (const std::uint32_t ranks : {1U, 3U}) {
    check_spreading(ranks, [](runtime& rt, termination& counts) {
      run_loop loop{rt.default_device()};
      loop.spawn(awaited(loop, counts));
      EXPECT_TRUE(loop.run(with_patience));
    });
  }
}

TEST(termination, suspends_a_fiber) {
  for (const std::uint32_t ranks : {1U, 2U}) {
    check_spreading(ranks, [](runtime& rt, termination& counts) {
      std::array<device*, 1> served{&rt.default_device()};
      fiber_scheduler fibers{{.workers = 1, .devices = served}};
      fibers.spawn([&] { EXPECT_TRUE(counts.wait(with_patience)); }).join();
    });
  }
}

TEST(termination, may_be_waited_for_in_another_form_by_each_member) {
  check_spreading(3, [](runtime& rt, termination& counts) {
    switch (rt.rank()) {
      case 0: ASSERT_TRUE(counts.wait(with_patience)); break;
      case 1: ASSERT_TRUE(test::eventually([&] { return counts.test(); })); break;
      default: EXPECT_TRUE(counts.test() || counts.wait(with_patience));
    }
  });
}

// Each end posts the next wait, with more work, inside the signal.
TEST(termination, may_be_waited_for_again_inside_its_signal) {
  for (const std::uint32_t ranks : {1U, 3U}) {
    test::pieces_left left;
    test::local_job{ranks}.run([&](runtime& rt) {
      group all = rt.world();
      termination counts{all};
      test::spreading_work work{all, counts, left, rt.rank()};
      handler on_work{rt, [&](completion_record& message) { work.handle(message); }};
      const registration arrivals = rt.register_completion(on_work, {.id = test::spreading_works.id});
      collective::barrier().run(all);
      std::uint32_t ends = 0;
      test::flag is_over;
      std::function<void()> begin;
      handler on_end{rt, [&](completion_record& end) {
                       EXPECT_EQ(end.error(), errc::none);
                       if (++ends == 5) return is_over.raise();
                       begin();
                     }};
      begin = [&] {
        work.send(ends);
        static_cast<void>(counts.post(on_end));
      };
      begin();
      EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return is_over.is_raised(); }));
      EXPECT_EQ(work.handled_by_all(), ranks * (1U + 3 + 7 + 15 + 31));
      work.settle();
    });
  }
}

// Threads take pieces out of a queue that progress fills. They are more than the counts have lines for.
TEST(termination, counts_the_work_of_many_threads) {
  const unsigned threads = 6;
  test::pieces_left left;
  test::local_job{2}.run([&](runtime& rt) {
    group all = rt.world();
    termination counts{all};
    completion_queue inbox{rt, {.unbounded = true}};
    const registration arrivals = rt.register_completion(inbox, {.id = test::spreading_works.id});
    test::spreading_work work{all, counts, left, rt.rank()};
    collective::barrier().run(all);
    test::flag is_over;
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; ++i) {
      workers.emplace_back([&] {
        while (!is_over.is_raised()) {
          if (const auto message = inbox.pop()) {
            counts.begin_work();
            work.handle(*message);
            counts.end_work();
          } else {
            std::this_thread::yield();
          }
        }
      });
    }
    if (rt.rank() == 1) work.send(9);
    EXPECT_TRUE(counts.wait(with_patience));
    EXPECT_EQ(left.count(), 0U);
    is_over.raise();
    for (std::thread& each : workers) each.join();
    EXPECT_EQ(work.handled_by_all(), test::spreading_work::pieces_of(9));
    work.settle();
  });
}

TEST(termination, waits_for_a_member_that_works) {
  for (const std::uint32_t ranks : {1U, 2U}) {
    test::local_job{ranks}.run([&](runtime& rt) {
      group all = rt.world();
      termination counts{all};
      bool is_done = false;  // the end of the termination orders its accesses
      std::thread worker;
      if (rt.rank() == ranks - 1) {
        counts.begin_work();
        worker = std::thread{[&] {
          for (int i = 0; i < 100; ++i) std::this_thread::yield();
          is_done = true;
          counts.end_work();
        }};
      }
      EXPECT_TRUE(counts.wait(with_patience));
      if (worker.joinable()) {
        EXPECT_TRUE(is_done);
        worker.join();
      }
      collective::barrier().run(all);
    });
  }
}

TEST(termination, may_have_many_under_way_over_one_group) {
  test::local_job{3}.run([](runtime& rt) {
    group all = rt.world();
    std::vector<std::unique_ptr<termination>> many;
    for (int i = 0; i < 20; ++i) many.push_back(std::make_unique<termination>(all));
    completion_queue ends{rt};
    for (std::size_t i = 0; i < many.size(); ++i) {
      // No two members in one order.
      EXPECT_TRUE(many[(i * 7 + rt.rank()) % many.size()]->post(ends).is_posted());
    }
    for (std::size_t i = 0; i < many.size(); ++i)
      EXPECT_TRUE(rt.default_device().wait(ends, with_patience).has_value());
    many.clear();
    collective::barrier().run(all);
  });
}

}  // namespace
}  // namespace weft

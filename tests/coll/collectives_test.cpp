// SPDX-License-Identifier: BSD-3-Clause
// Collectives in real jobs: every operation and algorithm by a printed seed, in every form, several in flight, in
// groups that overlap, and by threads with a group each.
#include "weft/collectives.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "support/exchange.hpp"
#include "support/random_seed.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::any_exchange;
using test::exchange;
using test::member_side;
using words = std::vector<std::uint64_t>;

void run_some(group& in, std::uint64_t seed, unsigned count) {
  std::mt19937 random{static_cast<std::uint32_t>(seed)};
  for (unsigned i = 0; i < count; ++i) {
    const exchange of = any_exchange(random, i, in.size());
    member_side mine{of, in.rank()};
    mine.call().run(in, {.algorithm = of.algorithm});
    EXPECT_TRUE(mine.is_right()) << of << ", member " << in.rank();
  }
}

TEST(collectives, give_what_an_oracle_gives) {
  const std::uint64_t seed = test::random_seed();
  const unsigned count = test::under_sanitizer ? 30 : 100;
  for (std::uint32_t ranks = 1; ranks <= 5; ++ranks) {
    test::local_job{ranks}.run([&](runtime& rt) {
      group all = rt.world();
      run_some(all, seed + ranks, count);
    });
  }
}

TEST(collectives, several_of_one_group_are_under_way_at_once) {
  const std::uint64_t seed = test::random_seed();
  test::local_job{4}.run([&](runtime& rt) {
    group all = rt.world();
    std::mt19937 random{static_cast<std::uint32_t>(seed)};
    for (int round = 0; round < 5; ++round) {
      std::vector<exchange> which;
      std::vector<member_side> mine;
      for (std::uint32_t i = 0; i < 12; ++i) which.push_back(any_exchange(random, i, 4));
      for (const exchange& each : which) mine.emplace_back(each, all.rank());
      completion_queue ends{rt};
      for (std::uint32_t i = 0; i < 12; ++i) {
        // A member may wait for one and post another: the others can't tell.
        if (all.rank() == 2 && i % 3 == 0) {
          mine[i].call().run(all, {.algorithm = which[i].algorithm});
        } else {
          static_cast<void>(mine[i].call().post(all, ends, {.algorithm = which[i].algorithm}, &mine[i]));
        }
      }
      const std::uint32_t posted = all.rank() == 2 ? 8 : 12;
      for (std::uint32_t i = 0; i < posted; ++i) {
        const auto end = rt.default_device().wait(ends, {.timeout = std::chrono::minutes{1}});
        ASSERT_TRUE(end.has_value());
        EXPECT_EQ(end->error(), errc::none);
      }
      for (const member_side& each : mine) EXPECT_TRUE(each.is_right()) << each.of() << ", member " << rt.rank();
    }
  });
}

TEST(collectives, that_are_kept_are_started_many_times) {
  test::local_job{3}.run([](runtime& rt) {
    group all = rt.world();
    std::uint64_t mine = 0, sum = 0;
    persistent_collective again =
        collective::allreduce({&mine, sizeof mine}, {&sum, sizeof sum}, reduction::callable<std::uint64_t>()).keep(all);
    for (std::uint64_t i = 0; i < 2000; ++i) {  // more than there are numbers between two barriers of the library's
      mine = i + rt.rank();
      again.run();
      ASSERT_EQ(sum, 3 * i + 3);
    }
    synchronizer end{rt};
    EXPECT_TRUE(again.start(end).is_posted());
    if (again.is_running()) {
      EXPECT_THROW(static_cast<void>(again.start(end)), error);
    }
    rt.default_device().wait(end);
    EXPECT_FALSE(again.is_running());
  });
}

TEST(collectives, are_nodes_of_graphs) {
  test::local_job{2}.run([](runtime& rt) {
    group all = rt.world();
    std::uint64_t number = rt.rank() == 0 ? 41 : 0, sum = 0;
    graph both{rt.default_device()};
    const graph_node first = both.add_post([&](completion& local) {
      return collective::broadcast({&number, sizeof number}).post(all, local);
    });
    const graph_node add = both.add([&] { number += rt.rank(); });
    const graph_node second = both.add_post([&](completion& local) {
      return collective::allreduce({&number, sizeof number}, {&sum, sizeof sum}, reduction::callable<std::uint64_t>())
          .post(all, local);
    });
    both.add_edge(first, add);
    both.add_edge(add, second);
    synchronizer end{rt};
    both.start(end);
    rt.default_device().wait(end);
    EXPECT_EQ(sum, 83U);
  });
}

task<void> exchanged(run_loop& loop, group all, std::uint64_t mine, std::uint64_t& sum) {
  std::uint64_t number = all.rank() == 0 ? 7 : 0;
  static_cast<void>(co_await collective::broadcast({&number, sizeof number}).await(loop, all));
  number += mine;
  const completion_record end =
      co_await collective::allreduce({&number, sizeof number}, {&sum, sizeof sum}, reduction::callable<std::uint64_t>())
          .await(loop, all);
  EXPECT_EQ(end.error(), errc::none);
}

TEST(collectives, are_awaited) {
  test::local_job{3}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    std::uint64_t sum = 0;
    loop.spawn(exchanged(loop, rt.world(), rt.rank(), sum));
    loop.run();
    EXPECT_EQ(sum, 24U);
  });
}

TEST(groups, know_their_members) {
  test::local_job{5}.run([](runtime& rt) {
    group all = rt.world();
    EXPECT_EQ(all.size(), 5U);
    EXPECT_EQ(all.rank(), rt.rank());
    EXPECT_EQ(all.member(4), 4U);
    EXPECT_FALSE(all.member(5).has_value());
    EXPECT_THROW(static_cast<void>(all.world_rank(5)), error);
    // Odd and even ranks, the highest first.
    group half = all.split(rt.rank() % 2, -static_cast<std::int64_t>(rt.rank()));
    EXPECT_EQ(half.size(), rt.rank() % 2 == 0 ? 3U : 2U);
    EXPECT_EQ(half.world_rank(half.rank()), rt.rank());
    EXPECT_EQ(half.world_rank(0), rt.rank() % 2 == 0 ? 4U : 3U);
    EXPECT_EQ(half.member(rt.rank()), half.rank());
    EXPECT_FALSE(half.member(1 - rt.rank() % 2).has_value());
    // Rank 3 is in no group.
    group few = all.split(rt.rank() == 3 ? std::nullopt : std::optional<std::uint32_t>{7});
    EXPECT_EQ(few.is_valid(), rt.rank() != 3);
    if (few.is_valid()) {
      run_some(few, 5, 20);
    } else {
      EXPECT_THROW(collective::barrier().run(few), error);
    }
    run_some(half, 6, 20);
    group nodes = all.by_node();
    EXPECT_EQ(nodes.size(), 5U);
    group again = half.dup();
    EXPECT_EQ(again.size(), half.size());
    run_some(again, 7, 20);
    device own{rt, {.shared = false}};
    EXPECT_THROW(static_cast<void>(make_group(rt, std::vector<std::uint32_t>{rt.rank()}, 1, {.device = &own})), error);
    collective::barrier().run(all);
  });
}

TEST(groups, run_on_the_default_device_of_a_runtime_that_one_thread_at_a_time_uses) {
  test::local_job{3, {.default_device = {.shared = false}}}.run([](runtime& rt) {
    group all = rt.world();
    run_some(all, 8, 20);
    collective::barrier().run(all);
  });
}

TEST(groups, are_made_by_their_members_alone) {
  test::local_job{4}.run([](runtime& rt) {
    const std::vector<std::uint32_t> some{3, 1};
    if (rt.rank() % 2 == 1) {
      group both = make_group(rt, some, 9);
      EXPECT_EQ(both.rank(), rt.rank() == 3 ? 0U : 1U);
      run_some(both, 1, 20);
    }
    if (rt.rank() == 1) {
      EXPECT_THROW(static_cast<void>(make_group(rt, std::vector<std::uint32_t>{1, 4})), error);
      EXPECT_THROW(static_cast<void>(make_group(rt, std::vector<std::uint32_t>{1, 1})), error);
      EXPECT_THROW(static_cast<void>(make_group(rt, std::vector<std::uint32_t>{0, 2})), error);
      EXPECT_THROW(static_cast<void>(make_group(rt, some, group_tags_max)), error);
    }
    rt.barrier();
  });
}

TEST(groups, of_threads_don_t_disturb_each_other) {
  const std::uint64_t seed = test::random_seed();
  test::local_job{2}.run([&](runtime& rt) {
    group all = rt.world();
    constexpr unsigned threads = 3;
    std::vector<std::unique_ptr<device>> devices;
    std::vector<group> groups;
    for (unsigned i = 0; i < threads; ++i) {
      devices.push_back(std::make_unique<device>(rt));
      groups.push_back(all.dup({.device = devices.back().get()}));
    }
    std::vector<std::thread> running;
    for (unsigned i = 0; i < threads; ++i)
      running.emplace_back([&, i] { run_some(groups[i], seed + i, test::under_sanitizer ? 20 : 60); });
    for (std::thread& each : running) each.join();
    groups.clear();
    collective::barrier().run(all);
  });
}

TEST(groups, are_made_and_ended_by_the_thousand) {
  test::local_job{2}.run([](runtime& rt) {
    group all = rt.world();
    std::vector<group> many;
    for (int i = 0; i < 300; ++i) many.push_back(all.dup());
    for (group& each : many) {
      std::uint32_t number = rt.rank() == 1 ? 5 : 0;
      collective::broadcast({&number, sizeof number}, 1).run(each);
      EXPECT_EQ(number, 5U);
    }
    many.clear();
    for (int i = 0; i < 300; ++i) group one = all.dup();
    collective::barrier().run(all);
  });
}

TEST(collectives, that_are_wrong_are_refused) {
  test::local_job{2}.run([](runtime& rt) {
    group all = rt.world();
    words some(3);
    const reduction sum = reduction::callable<std::uint64_t>();
    const auto refused = [&](const collective& wrong, const collective_options& options = {}) {
      try {
        wrong.run(all, options);
      } catch (const error& why) {
        return why.code() == errc::invalid_argument;
      }
      return false;
    };
    EXPECT_TRUE(refused(collective::broadcast(some, 2)));
    EXPECT_TRUE(refused(collective::broadcast(some), {.algorithm = "no such"}));
    EXPECT_TRUE(refused(collective::allreduce(some, buffer_ref{some.data(), 8}, sum)));
    EXPECT_TRUE(refused(collective::allreduce(some, some, reduction{})));
    EXPECT_TRUE(refused(collective::allreduce(const_buffer_ref{some.data(), 12}, buffer_ref{some.data(), 12}, sum)));
    EXPECT_TRUE(refused(collective::allgather(some, some)));
    const std::vector<std::uint64_t> sizes{8, 8}, far{0, 24};
    EXPECT_TRUE(refused(collective::allgather(const_buffer_ref{some.data(), 8}, some, {sizes, far})));
    EXPECT_TRUE(refused(collective::allgather(const_buffer_ref{some.data(), 8}, some, {sizes, {}})));
    // A block of this member that is longer than its buffer.
    const std::vector<std::uint64_t> mine = rt.rank() == 0 ? words{16, 8} : words{8, 16};
    const std::vector<std::uint64_t> at{0, mine[0]};
    const const_buffer_ref word{some.data(), 8};
    EXPECT_TRUE(refused(collective::allgather(word, some, {mine, at})));
    EXPECT_TRUE(refused(collective::gather(word, some, rt.rank(), {mine, at})));
    EXPECT_TRUE(refused(collective::gather(word, some, rt.rank(), {})));
    EXPECT_TRUE(refused(collective::scatter(some, buffer_ref{some.data(), 8}, rt.rank(), {mine, at})));
    EXPECT_TRUE(refused(collective::reduce_scatter(some, buffer_ref{some.data(), 8}, sum, {mine, at})));
    EXPECT_TRUE(refused(collective::reduce_scatter(some, some, sum, {mine, {}})));
    EXPECT_TRUE(refused(collective::alltoall(some, some, {mine, at}, {})));
    EXPECT_TRUE(refused(collective::alltoall(some, some, {}, {mine, at})));
    EXPECT_TRUE(refused(collective::alltoall(some, some, {mine, at}, {sizes, at})));
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// Ranks that are threads of one process.
#include "weft/test/local_job.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <stdexcept>
#include <thread>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace {

TEST(local_job, runs_the_body_once_for_each_rank_on_a_thread_of_its_own) {
  std::mutex mutex;
  std::set<std::uint32_t> ranks;
  std::set<std::thread::id> threads;
  weft::test::local_job{3}.run([&](weft::runtime& rt) {
    const std::scoped_lock lock{mutex};
    EXPECT_EQ(rt.size(), 3U);
    EXPECT_TRUE(ranks.insert(rt.rank()).second);
    EXPECT_TRUE(threads.insert(std::this_thread::get_id()).second);
  });
  EXPECT_EQ(ranks, (std::set<std::uint32_t>{0, 1, 2}));
}

TEST(local_job, throws_on_what_a_rank_throws_after_all_have_ended) {
  weft::test::tally<int> ended;
  try {
    weft::test::local_job{3}.run([&](weft::runtime& rt) {
      rt.barrier();
      ended.add();
      if (rt.rank() == 1) throw std::runtime_error{"rank 1 has had enough"};
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& thrown) {
    EXPECT_STREQ(thrown.what(), "rank 1 has had enough");
  }
  EXPECT_EQ(ended.value(), 3);
}

TEST(local_job, of_no_ranks_is_refused) {
  EXPECT_THROW(weft::test::local_job{0}.run([](weft::runtime&) {}), weft::error);
}

TEST(local_job, can_be_run_many_times_and_several_at_once) {
  std::vector<std::thread> jobs;
  weft::test::tally<int> bodies;
  for (int job = 0; job < 3; ++job) {
    jobs.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        weft::test::local_job{2}.run([&](weft::runtime& rt) {
          rt.barrier();
          bodies.add();
        });
      }
    });
  }
  for (std::thread& job : jobs) job.join();
  EXPECT_EQ(bodies.value(), 30);
}

TEST(barrier, holds_every_rank_until_all_have_come_each_time) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U}) {
    weft::test::tally<std::uint32_t> came;
    weft::test::local_job{ranks}.run([&](weft::runtime& rt) {
      for (std::uint32_t round = 1; round <= 50; ++round) {
        came.add();
        rt.barrier();
        EXPECT_GE(came.value(), round * ranks);
      }
    });
  }
}

}  // namespace

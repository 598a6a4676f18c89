// SPDX-License-Identifier: BSD-3-Clause
// How jobs of one machine tell each other which processors their ranks are bound to. The processors here are numbered
// beyond those of a machine that runs the tests, so that real jobs beside them are not concerned.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "weft-run/bound_jobs.hpp"

namespace {

using namespace weft::run;

bitmap range(unsigned first, unsigned last, unsigned step = 1) {
  bitmap out{hwloc_bitmap_alloc()};
  for (unsigned i = first; i <= last; i += step) hwloc_bitmap_set(out.get(), i);
  return out;
}

std::string text_of(const bitmap& set) {
  std::string text;
  for (int i = hwloc_bitmap_first(set.get()); i >= 0; i = hwloc_bitmap_next(set.get(), i)) {
    text += std::to_string(i) + " ";
  }
  return text;
}

std::string announced(const std::vector<std::string>& names) {
  const bitmap out{hwloc_bitmap_alloc()};
  for (const std::string& name : names) EXPECT_TRUE(add_announced(name, out.get()));
  return text_of(out);
}

TEST(weft_run_bound_jobs, every_set_of_processors_is_read_as_it_was_announced_and_fits_names_of_sockets) {
  for (const unsigned last : {1U, 63U, 223U, 224U, 511U, 512U, 2047U, 8191U, 65535U}) {
    for (const unsigned step : {1U, 2U, 7U, 64U}) {
      for (const unsigned first : {0U, 1U, last / 2}) {
        const bitmap set = range(first, last, step);
        const std::vector<std::string> names = announcements_of(1 << 22, set.get());
        for (const std::string& name : names) EXPECT_LT(name.size(), 108U);
        EXPECT_EQ(announced(names), text_of(set)) << first << " to " << last << " by " << step;
      }
    }
  }
  EXPECT_EQ(announcements_of(1 << 22, range(0, 511).get()).size(), 1U) << "a whole machine is one range";
  EXPECT_TRUE(announcements_of(1, range(1, 0).get()).empty());
}

TEST(weft_run_bound_jobs, a_job_with_more_processors_than_a_name_holds_is_seen_while_it_runs) {
  const bitmap set = range(2048, 3071, 2);
  const bitmap taken{hwloc_bitmap_alloc()};
  {
    const std::vector<descriptor> job = announce_binding(set.get());
    EXPECT_GT(job.size(), 1U);
    ASSERT_TRUE(find_bound_jobs(taken.get()));
    EXPECT_TRUE(hwloc_bitmap_isincluded(set.get(), taken.get()));
  }
  hwloc_bitmap_zero(taken.get());
  ASSERT_TRUE(find_bound_jobs(taken.get()));
  EXPECT_FALSE(hwloc_bitmap_intersects(set.get(), taken.get()));
}

TEST(weft_run_bound_jobs, strangers_names_add_nothing) {
  EXPECT_EQ(announced({"", "weft-run-bound-", "weft-run-bound-1", "weft-run-bound-1-", "weft-run-bound-1-moon",
                       "weft-run-bound-1-1,", "weft-run-bound-1-,1", "weft-run-bound-1-3-2", "weft-run-bound-1-3-",
                       "weft-run-bound-1--3", "weft-run-bound-1-1-2-3", "weft-run-bound-1-0xf", "weft-run-bound-1-1 ",
                       "weft-run-bound-1-65536", "weft-run-bound-1-0-4294967295",
                       "weft-run-bound-1-18446744073709551615", "weft-run-unbound-1-1"}),
            "");
}

TEST(weft_run_bound_jobs, a_job_chooses_after_the_one_that_chooses_now) {
  auto mine = choice_lock::wait_for(std::chrono::minutes{1});
  ASSERT_TRUE(mine);
  std::vector<std::future<bool>> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(std::async(std::launch::async, [] {
      return choice_lock::wait_for(std::chrono::minutes{1}).has_value();  // releases it at once
    }));
  }
  EXPECT_EQ(others.front().wait_for(std::chrono::milliseconds{20}), std::future_status::timeout);
  mine.reset();
  for (auto& each : others) EXPECT_TRUE(each.get());
}

TEST(weft_run_bound_jobs, a_lock_that_is_not_released_is_not_waited_for_without_bound) {
  const auto lock = choice_lock::wait_for(std::chrono::minutes{1});
  ASSERT_TRUE(lock);
  EXPECT_FALSE(choice_lock::wait_for(std::chrono::milliseconds{10}));
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
#include "boot/bootstrap.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "boot/backends.hpp"
#include "weft/error.hpp"

namespace {

using namespace std::chrono_literals;
using weft::errc;
using weft::boot::bootstrap;

std::string refusal(errc code, const std::function<void()>& call) {
  try {
    call();
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "accepted";
}

TEST(boot, alone_one_is_rank_0_of_1_and_meets_oneself) {
  const auto boot = weft::boot::make_single();
  EXPECT_EQ(boot->rank(), 0U);
  EXPECT_EQ(boot->size(), 1U);
  EXPECT_STREQ(boot->name(), "single");
  boot->put("a", std::string{"\0x", 2});
  EXPECT_NE(refusal(errc::boot_failed, [&] { (void)boot->get(0, "a"); }).find("'a'"), std::string::npos)
      << "a value is not there before the fence";
  boot->fence();
  EXPECT_EQ(boot->get(0, "a"), (std::string{"\0x", 2}));
}

TEST(boot, every_kind_refuses_the_same_mistakes) {
  std::vector<std::shared_ptr<bootstrap>> kinds = weft::boot::make_local_job(1);
  kinds.push_back(weft::boot::make_single());
  for (const auto& boot : kinds) {
    EXPECT_NE(refusal(errc::invalid_argument, [&] { boot->put("", "x"); }), "accepted");
    EXPECT_NE(refusal(errc::invalid_argument, [&] { boot->put("Upper", "x"); }), "accepted");
    EXPECT_NE(refusal(errc::invalid_argument, [&] { boot->put("a b", "x"); }), "accepted");
    EXPECT_NE(refusal(errc::invalid_argument, [&] { boot->put(std::string(49, 'k'), "x"); }), "accepted");
    EXPECT_NE(refusal(errc::invalid_argument, [&] { boot->put("k", std::string(4097, 'v')); }), "accepted");
    EXPECT_NE(refusal(errc::invalid_argument, [&] { (void)boot->get(1, "k"); }), "accepted");
    boot->put("k", "1");
    EXPECT_NE(refusal(errc::invalid_argument, [&] { boot->put("k", "2"); }), "accepted");
    boot->fence();
    EXPECT_NE(refusal(errc::invalid_argument, [&] { boot->put("k", "2"); }), "accepted");
    EXPECT_EQ(boot->get(0, "k"), "1");
  }
}

TEST(boot, ranks_as_threads_exchange_values) {
  constexpr std::uint32_t ranks = 4;
  const auto job = weft::boot::make_local_job(ranks);
  std::vector<std::jthread> threads;
  for (const auto& boot : job) {
    threads.emplace_back([&boot] {
      for (int round = 0; round < 50; ++round) {
        const std::string key = "round-" + std::to_string(round);
        boot->put(key, std::to_string(boot->rank() * 1000 + static_cast<unsigned>(round)));
        boot->fence();
        for (std::uint32_t r = 0; r < boot->size(); ++r) {
          EXPECT_EQ(boot->get(r, key), std::to_string(r * 1000 + static_cast<unsigned>(round)));
        }
      }
    });
  }
}

TEST(boot, a_fence_that_some_ranks_never_enter_names_them) {
  const auto job = weft::boot::make_local_job(5, 2s);
  std::latch both{2};
  std::vector<std::jthread> threads;
  for (const std::uint32_t r : {1U, 3U}) {
    threads.emplace_back([&, r] {
      both.arrive_and_wait();
      const std::string text = refusal(errc::boot_failed, [&] { job[r]->fence(); });
      EXPECT_NE(text.find("for ranks 0, 2, 4"), std::string::npos) << text;
    });
  }
  threads.clear();
  EXPECT_NE(refusal(errc::boot_failed, [&] { job[0]->fence(); }), "accepted") << "the job is broken for latecomers";
}

TEST(boot, a_job_of_no_ranks_is_refused) {
  EXPECT_NE(refusal(errc::invalid_argument, [] { (void)weft::boot::make_local_job(0); }), "accepted");
}

TEST(boot, lists_of_ranks_are_short) {
  using weft::boot::list_of_ranks;
  EXPECT_EQ(list_of_ranks({}), "");
  EXPECT_EQ(list_of_ranks({3}), "3");
  EXPECT_EQ(list_of_ranks({0, 1, 2, 5, 7, 8}), "0-2, 5, 7-8");
  std::vector<std::uint32_t> odd;
  for (std::uint32_t r = 1; r < 100; r += 2) odd.push_back(r);
  EXPECT_EQ(list_of_ranks(odd), "1, 3, 5, 7, 9, 11, 13, 15 and 42 more");
}

}  // namespace

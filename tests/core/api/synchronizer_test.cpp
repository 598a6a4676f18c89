// SPDX-License-Identifier: BSD-3-Clause
// The synchronizer: ready after so many signals, with all of their records, again and again.
#include "weft/synchronizer.hpp"
#include "support/waiting.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <thread>

#include "support/between_threads.hpp"
#include "support/records.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

using test::counting_owner;
using test::owned_record;
using answer = completion::answer;

TEST(synchronizer, is_ready_after_the_last_signal_and_answers_full_to_more) {
  test::local_job{1}.run([](runtime& rt) {
    counting_owner owner;
    std::array<std::byte, 100> bytes{};
    synchronizer three{rt, {.expected = 3}};
    EXPECT_EQ(three.expected(), 3U);
    for (std::uint64_t tag = 0; tag < 3; ++tag) {
      EXPECT_FALSE(three.is_ready());
      EXPECT_EQ(three.signal(owned_record(owner, bytes, tag)), answer::taken);
    }
    EXPECT_TRUE(three.is_ready());
    auto fourth = owned_record(owner, bytes, 3);
    EXPECT_EQ(three.signal(std::move(fourth)), answer::full);
    EXPECT_EQ(fourth.data().data(), bytes.data());  // untouched: still the caller's
    EXPECT_EQ(owner.released, 0U);
    for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(three.take(i)->tag(), i);
    EXPECT_EQ(owner.released, 3U);
    three.reset();
    EXPECT_FALSE(three.is_ready());
    EXPECT_EQ(three.signal(std::move(fourth)), answer::taken);
  });
}

TEST(synchronizer, gives_payloads_back_that_nobody_took) {
  test::local_job{1}.run([](runtime& rt) {
    counting_owner owner;
    std::array<std::byte, 100> bytes{};
    {
      synchronizer two{rt, {.expected = 2}};
      EXPECT_EQ(two.signal(owned_record(owner, bytes, 0)), answer::taken);
      EXPECT_EQ(two.signal(owned_record(owner, bytes, 1)), answer::taken);
      const auto kept = two.take(1);
      two.reset();
      EXPECT_EQ(owner.released, 1U);
      EXPECT_EQ(two.signal(owned_record(owner, bytes, 2)), answer::taken);
    }
    EXPECT_EQ(owner.released, 3U);
  });
}

TEST(synchronizer, takes_each_signal_of_many_threads_once) {
  test::local_job{1}.run([](runtime& rt) {
    constexpr std::uint32_t threads = 4, rounds = 300;
    synchronizer all{rt, {.expected = threads}};
    test::published<std::uint32_t> round;
    std::vector<std::thread> signallers;
    for (std::uint32_t t = 0; t < threads; ++t) {
      signallers.emplace_back([&, t] {
        for (std::uint32_t i = 0; i < rounds; ++i) {
          detail::raw_record raw;
          raw.tag = t;
          EXPECT_TRUE(test::eventually([&] { return round.value() >= i; }));
          EXPECT_EQ(all.signal(completion_record{raw}), answer::taken);
        }
      });
    }
    for (std::uint32_t i = 0; i < rounds; ++i) {
      EXPECT_TRUE(test::eventually([&] { return all.is_ready(); }));
      std::set<std::uint64_t> tags;
      for (std::uint32_t k = 0; k < threads; ++k) tags.insert(all.take(k)->tag());
      EXPECT_EQ(tags.size(), threads);
      all.reset();
      round.publish(i + 1);
    }
    for (std::thread& each : signallers) each.join();
  });
}

}  // namespace
}  // namespace weft

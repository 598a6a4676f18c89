// SPDX-License-Identifier: BSD-3-Clause
// The counter: every signal counts, failures too, and payloads go back unread.
#include "weft/counter.hpp"
#include "support/waiting.hpp"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "support/records.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

TEST(counter, counts_every_signal_and_failures_apart) {
  test::local_job{1}.run([](runtime& rt) {
    counter all{rt};
    EXPECT_EQ(all.value(), 0U);
    EXPECT_EQ(all.signal(completion_record{}), completion::answer::taken);
    EXPECT_EQ(all.signal(test::failed_record(errc::unknown_completion)), completion::answer::taken);
    EXPECT_EQ(all.value(), 2U);
    EXPECT_EQ(all.failed(), 1U);
    EXPECT_EQ(&all.runtime(), &rt);
    EXPECT_EQ(all.outstanding(), 0U);
  });
}

TEST(counter, gives_payloads_back) {
  test::local_job{1}.run([](runtime& rt) {
    test::counting_owner owner;
    std::array<std::byte, 60> bytes{};
    counter all{rt};
    EXPECT_EQ(all.signal(test::owned_record(owner, bytes, 1)), completion::answer::taken);
    EXPECT_EQ(owner.released, 1U);
    EXPECT_EQ(owner.last.data(), bytes.data());
    EXPECT_EQ(owner.last.size(), bytes.size());
  });
}

TEST(counter, misses_no_signal_of_many_threads_and_shows_what_came_before_it) {
  test::local_job{1}.run([](runtime& rt) {
    constexpr std::size_t threads = 4, each = 2000;
    counter all{rt};
    std::array<std::uint64_t, threads> written{};
    std::vector<std::thread> signallers;
    for (std::size_t t = 0; t < threads; ++t) {
      signallers.emplace_back([&, t] {
        for (std::size_t i = 0; i < each; ++i) {
          written[t] = i + 1;
          EXPECT_EQ(all.signal(completion_record{}), completion::answer::taken);
        }
      });
    }
    EXPECT_TRUE(test::eventually([&] { return all.value() >= threads * each; }));
    for (const std::uint64_t value : written) EXPECT_EQ(value, each);
    for (std::thread& thread : signallers) thread.join();
    EXPECT_EQ(all.value(), threads * each);
  });
}

}  // namespace
}  // namespace weft

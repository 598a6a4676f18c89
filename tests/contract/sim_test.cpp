// SPDX-License-Identifier: BSD-3-Clause
// The simulated network: its faults are counted, follow from its seed alone, and end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contract/job.hpp"
#include "weft/error.hpp"

namespace weft::contract {
namespace {

using net::any_device;
using net::copy_result;
using net::post_result;
using testing::HasSubstr;

[[nodiscard]] base::settings seeded(std::uint64_t seed) {
  base::settings out = small_settings();
  out.sim_seed = seed;
  return out;
}

// Posts `count` messages and answers the course of events: refusals as negative numbers, arrivals as tags.
[[nodiscard]] std::vector<int> history(const base::settings& settings, std::uint64_t count = 200) {
  test_job job{simulated(over_shm()), settings};
  const auto out = job.from().open(0), in = job.to().open(0);
  sink inbox;
  std::vector<int> happened;
  std::size_t listed = 0;
  const auto poll = [&] {
    in->poll(inbox, 64);
    for (; listed < inbox.messages.size(); ++listed)
      happened.push_back(static_cast<int>(inbox.messages[listed].header.tag));
  };
  for (std::uint64_t tag = 0; tag < count;) {
    const post_result answer = out->try_send_inline(1, any_device, {.kind = 1, .tag = tag}, nullptr, 0);
    if (answer == post_result::ok) {
      ++tag;
    } else {
      happened.push_back(answer == post_result::full ? -1 : -2);
    }
    if (tag % 4 == 0) poll();
  }
  for (int i = 0; i < 200; ++i) poll();
  EXPECT_EQ(inbox.messages.size(), count);
  return happened;
}

TEST(simulated_network, does_the_same_again_from_the_same_seed_and_something_else_from_another) {
  EXPECT_EQ(history(seeded(1)), history(seeded(1)));
  EXPECT_NE(history(seeded(1)), history(seeded(2)));
}

TEST(simulated_network, does_nothing_where_no_fault_is_wanted) {
  base::settings settings = seeded(1);
  settings.sim_delay_percent = settings.sim_refuse_percent = settings.sim_deny_percent = 0;
  test_job job{simulated(over_shm()), settings};
  const auto out = job.from().open(0), in = job.to().open(0);
  sink inbox;
  for (std::uint64_t tag = 0; tag < 500; ++tag) {
    ASSERT_EQ(out->try_send_inline(1, any_device, {.kind = 1, .tag = tag}, nullptr, 0), post_result::ok);
    for (int i = 0; i < 3; ++i) in->poll(inbox, 16);
    ASSERT_EQ(inbox.messages.size(), tag + 1);
  }
  const net::fault_counts counts = job.to().transport.counted().faults;
  EXPECT_EQ(counts.delayed + counts.reordered + counts.full + counts.busy + counts.unavailable + counts.unmapped, 0U);
}

TEST(simulated_network, counts_each_kind_of_fault) {
  std::vector<std::uint64_t> kinds(6);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    test_job job{simulated(over_shm()), seeded(seed)};
    const auto out = job.from().open(0), in = job.to().open(0);
    sink inbox;
    std::uint64_t word = 5, copy = 0;
    for (std::uint64_t tag = 0; tag < 200; ++tag) {
      static_cast<void>(out->try_send_inline(1, any_device, {.kind = 1, .tag = tag}, nullptr, 0));
      static_cast<void>(in->read_remote(0, &copy, &word, sizeof word));
      if (tag % 4 == 0) in->poll(inbox, 64);
    }
    const bool mapped = job.to().transport.sharing()->shared_memory(0) != nullptr;
    const net::fault_counts sent = job.from().transport.counted().faults, came = job.to().transport.counted().faults;
    EXPECT_EQ(mapped, came.unmapped == 0);
    EXPECT_EQ(sent.delayed + came.full + came.busy + sent.unavailable, 0U);  // each on the side where it happens
    const std::uint64_t counts[] = {came.delayed, came.reordered,   sent.full,
                                    sent.busy,    came.unavailable, came.unmapped};
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) kinds[kind] += counts[kind];
    EXPECT_EQ(came.failed_reads + came.failed_writes + came.gone_reads + came.gone_writes, 0U);  // none was chosen
  }
  for (const std::uint64_t kind : kinds) EXPECT_GT(kind, 0U);
}

TEST(simulated_network, refuses_nothing_twice_in_a_row) {
  base::settings settings = seeded(3);
  settings.sim_refuse_percent = 100;
  test_job job{simulated(over_self()), settings};
  const auto end = job.from().open(0);
  sink inbox;
  for (int i = 0; i < 100; ++i) {
    EXPECT_NE(end->try_send_inline(0, any_device, {.kind = 1}, nullptr, 0), post_result::ok);
    EXPECT_EQ(end->try_send_inline(0, any_device, {.kind = 1}, nullptr, 0), post_result::ok);
    while (inbox.messages.size() <= static_cast<std::size_t>(i)) end->poll(inbox, 16);
  }
}

TEST(simulated_network, holds_no_message_for_ever_and_not_many_at_a_time) {
  base::settings settings = seeded(4);
  settings.sim_delay_percent = 100;
  settings.sim_refuse_percent = 0;
  test_job job{simulated(over_shm()), settings};
  const auto out = job.from().open(0), in = job.to().open(0);
  sink nobody, inbox;
  nobody.room = 0;
  std::uint64_t posted = 0;
  for (int i = 0; i < 1000; ++i) {
    posted += out->try_send_inline(1, any_device, {.kind = 1, .tag = posted}, nullptr, 0) == post_result::ok;
    in->poll(nobody, 16);
  }
  EXPECT_LT(posted, 100U);
  for (int i = 0; i < 100; ++i) in->poll(inbox, 64);
  EXPECT_EQ(inbox.messages.size(), posted);
}

TEST(simulated_network, fails_the_copy_that_was_chosen_and_no_other) {
  base::settings settings = seeded(5);
  settings.sim_deny_percent = 0;
  for (const bool write : {false, true}) {
    for (const bool gone : {false, true}) {
      settings.sim_fail = std::string{write ? "write" : "read"} + ":3" + (gone ? ":gone" : "");
      test_job job{simulated(over_self()), settings};
      const auto end = job.from().open(0);
      std::uint64_t word = 1, copy = 0;
      for (int number = 1; number <= 5; ++number) {
        const copy_result read = end->read_remote(0, &copy, &word, sizeof word);
        const copy_result written = end->write_remote(0, &copy, &word, sizeof word);
        const copy_result wanted = gone ? copy_result::peer_gone : copy_result::bad_address;
        EXPECT_EQ(read, !write && number == 3 ? wanted : copy_result::done) << settings.sim_fail << number;
        EXPECT_EQ(written, write && number == 3 ? wanted : copy_result::done) << settings.sim_fail << number;
      }
      const net::fault_counts faults = job.from().transport.counted().faults;
      EXPECT_EQ(faults.failed_reads, !write && !gone ? 1U : 0U);
      EXPECT_EQ(faults.failed_writes, write && !gone ? 1U : 0U);
      EXPECT_EQ(faults.gone_reads, !write && gone ? 1U : 0U);
      EXPECT_EQ(faults.gone_writes, write && gone ? 1U : 0U);
    }
  }
}

TEST(simulated_network, refuses_a_failure_that_chooses_nothing) {
  for (const char* text :
       {"read", "read:", "read:0", "read:x", "read:1x", "send:3", ":3", "write:3:late", "write:-1"}) {
    base::settings settings = small_settings();
    settings.sim_fail = text;
    try {
      test_job job{simulated(over_self()), settings};
      ADD_FAILURE() << text;
    } catch (const error& problem) {
      EXPECT_EQ(problem.code(), errc::configuration);
      EXPECT_THAT(problem.what(), HasSubstr(std::string{"WEFT_SIM_FAIL='"} + text + "'"));
    }
  }
}

}  // namespace
}  // namespace weft::contract

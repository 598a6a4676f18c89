// SPDX-License-Identifier: BSD-3-Clause
// Ranks with different settings are told which ones, before they share anything.
#include "core/runtime/agreed_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "base/processors.hpp"
#include "boot/bootstrap.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

// What a job throws whose rank 1 has other options.
std::string refusal(const runtime_options& usual, const runtime_options& other) {
  try {
    test::local_job{3, [&](std::uint32_t rank) { return rank == 1 ? other : usual; }}.run(
        [](runtime&) { ADD_FAILURE(); });
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), errc::configuration);
    return thrown.what();
  }
  return "accepted";
}

TEST(agreed_settings, are_each_named_where_they_differ) {
  struct different {
    const char* variable;
    runtime_options usual, other;
    const char* words;
  };
  const std::vector<different> cases{
      {"WEFT_PACKET_COUNT", {.packet_count = 128}, {.packet_count = 256}, "is 128 at ranks 0, 2, 256 at rank 1"},
      {"WEFT_PACKET_BYTES", {.packet_bytes = 512}, {.packet_bytes = 1024}, "is 512 at ranks 0, 2, 1024 at rank 1"},
      {"WEFT_RING_CELLS", {.ring_cells = 16}, {.ring_cells = 64}, "is 16 at ranks 0, 2, 64 at rank 1"},
      {"WEFT_DEVICES_MAX", {.devices_max = 4}, {.devices_max = 5}, "is 4 at ranks 0, 2, 5 at rank 1"},
      {"WEFT_SHARED_BYTES",
       {.shared_bytes = 8U << 20},
       {.shared_bytes = 4U << 20},
       "is 8388608 at ranks 0, 2, 4194304 at"},
      {"WEFT_REGIONS_MAX", {.regions_max = 64}, {.regions_max = 128}, "is 64 at ranks 0, 2, 128 at rank 1"},
      {"WEFT_BIND", {.bind = false}, {.bind = true}, "is none at ranks 0, 2, auto at rank 1"},
      {"WEFT_CHECK", {.check = false}, {.check = true}, "is 0 at ranks 0, 2, 1 at rank 1"},
      {"WEFT_TRANSPORT", {.transport = "self,shm"}, {.transport = "shm"}, "is self,shm at ranks 0, 2, shm at rank 1"},
      {"WEFT_COLL", {}, {.coll = "barrier:tree"}, "is not set at ranks 0, 2, barrier:tree at rank 1"},
  };
  std::size_t rows = 0;
  for (const base::setting& row : base::setting_table()) rows += row.scope == base::setting_scope::job;
  EXPECT_EQ(cases.size(), rows);
  for (const different& each : cases) {
    const std::string text = refusal(each.usual, each.other);
    EXPECT_THAT(text, HasSubstr("the ranks of the job have different settings"));
    EXPECT_THAT(text, HasSubstr(each.variable));
    EXPECT_THAT(text, HasSubstr(each.words));
    EXPECT_THAT(text, HasSubstr("give all ranks the same"));
  }
}

TEST(agreed_settings, are_all_named_at_every_rank) {
  std::vector<std::string> texts;
  std::mutex mutex;
  const auto options = [](std::uint32_t rank) {
    return rank == 2 ? runtime_options{.packet_bytes = 512, .ring_cells = 32}
                     : runtime_options{.packet_bytes = 1024, .ring_cells = 64};
  };
  try {
    test::local_job{3, options}.run([&](runtime&) {});
  } catch (const error& thrown) {
    const std::scoped_lock lock{mutex};
    texts.emplace_back(thrown.what());
  }
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_THAT(texts[0],
              HasSubstr("WEFT_PACKET_BYTES (runtime_options::packet_bytes) is 1024 at ranks 0-1, 512 at rank 2; "
                        "WEFT_RING_CELLS (runtime_options::ring_cells) is 64 at ranks 0-1, 32 at rank 2"));
}

TEST(agreed_settings, that_agree_let_the_job_begin_also_after_one_that_did_not) {
  EXPECT_NE(refusal({.packet_bytes = 512}, {.packet_bytes = 1024}), "accepted");
  test::local_job{3, {.packet_bytes = 512}}.run([](runtime& rt) {
    EXPECT_EQ(rt.attributes().packet_bytes, 512U);
    rt.barrier();
  });
}

// The bytes come from another process.
TEST(agreed_settings, of_a_rank_that_publishes_nonsense_are_shown_and_bounded) {
  const std::string right = core::published_settings(base::settings{});
  EXPECT_EQ(core::differences({right, right, right}), "");
  EXPECT_EQ(core::differences({right}), "");
  EXPECT_THAT(core::differences({right, ""}),
              HasSubstr("is 8192 at rank 0, not given (by another version of Weft) at rank 1"));
  EXPECT_THAT(core::differences({right, "\n\n=\nWEFT_PACKET_BYTES=8192"}), HasSubstr("WEFT_PACKET_COUNT"));
  const std::string shown = core::differences({right, "WEFT_PACKET_BYTES=\x1b[2J\n"});
  EXPECT_THAT(shown, HasSubstr("8192 at rank 0, ?[2J at rank 1"));
  const std::string wild = "WEFT_PACKET_BYTES=" + std::string(4000, 'x') + "\nWEFT_RING_CELLS";
  EXPECT_LT(core::differences({right, wild}).size(), 2000U);
}

// Each rank publishes the number of its processors, a name of the set, and its machine.
TEST(agreed_settings, show_ranks_beyond_processors) {
  const auto are_beyond = [](std::vector<std::string> lines) {
    for (std::string& each : lines) each = "WEFT_BIND=none\nprocessors=" + each + "\n";
    return core::are_beyond_processors(lines);
  };
  EXPECT_FALSE(are_beyond({"1 a host", "1 b host"}));
  EXPECT_TRUE(are_beyond({"1 a host", "1 a host"}));
  EXPECT_FALSE(are_beyond({"1 a host", "1 a other"}));
  EXPECT_FALSE(are_beyond({"2 a host", "2 a host", "1 b host"}));
  EXPECT_TRUE(are_beyond({"2 a host", "1 b host", "2 a host", "2 a host"}));
  EXPECT_FALSE(are_beyond({"0 none host", "0 none host"}));
  EXPECT_FALSE(are_beyond({"", "", ""}));
  EXPECT_FALSE(are_beyond({"99999999999999999999999 a", "99999999999999999999999 a"}));
  EXPECT_FALSE(are_beyond({"-1 a", "-1 a"}));
  EXPECT_FALSE(core::are_beyond_processors({"", "nothing", std::string(3, '\0')}));
  const std::string mine = core::published_settings({});
  EXPECT_FALSE(core::are_beyond_processors({mine}));
  EXPECT_TRUE(core::are_beyond_processors(std::vector<std::string>(base::processor_set::size + 1, mine)));
}

}  // namespace
}  // namespace weft

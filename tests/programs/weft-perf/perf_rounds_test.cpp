// SPDX-License-Identifier: BSD-3-Clause
// What weft-perf makes of its rounds: labels, medians, shares, ratios.
#include <gtest/gtest.h>

#include "weft-perf/compare/compare.hpp"
#include "weft-perf/measure/lane.hpp"
#include "weft-perf/measure/spin_phase.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/point.hpp"
#include "weft-perf/report/rounds.hpp"

namespace {

using namespace weft::perf;

constexpr handover_bounds bounds{};

sample round_of(double value, double before, double after, double slowest = 1) {
  return {value, before, after, slowest};
}

TEST(PerfRounds, a_summary_has_median_and_quartiles) {
  const summary of_five = summarize({5, 1, 4, 2, 3});
  EXPECT_EQ(of_five.rounds, 5u);
  EXPECT_EQ(of_five.min, 1);
  EXPECT_EQ(of_five.q1, 2);
  EXPECT_EQ(of_five.median, 3);
  EXPECT_EQ(of_five.q3, 4);
  EXPECT_EQ(of_five.max, 5);
  EXPECT_EQ(summarize({1, 2}).median, 1.5);
  EXPECT_EQ(summarize({7}).q3, 7);
  EXPECT_EQ(summarize({}).rounds, 0u);
}

TEST(PerfRounds, a_round_is_labelled_by_the_hand_over_before_and_after_it) {
  EXPECT_EQ(label_of(round_of(1, 37, 38), bounds), "fast");
  EXPECT_EQ(label_of(round_of(1, 60, 65), bounds), "fast");
  EXPECT_EQ(label_of(round_of(1, 165, 165), bounds), "slow");
  EXPECT_EQ(label_of(round_of(1, 160, 183), bounds), "slow");
  EXPECT_EQ(label_of(round_of(1, 260, 290), bounds), "far");
  EXPECT_EQ(label_of(round_of(1, 37, 165), bounds), "mixed");
  EXPECT_EQ(label_of(round_of(1, 165, 37), bounds), "mixed");
  EXPECT_EQ(label_of(round_of(1, 60, 270), bounds), "mixed");
  EXPECT_EQ(label_of(round_of(1, 75, 85), bounds), "mixed");
  EXPECT_EQ(label_of(round_of(1, 210, 230), bounds), "mixed");
  EXPECT_EQ(label_of(round_of(1, 250, 600), bounds), "mixed");
  EXPECT_EQ(label_of(round_of(1, 60, 200), {.fast_below_ns = 70, .slow_below_ns = 70}), "mixed");
  EXPECT_EQ(label_of(round_of(1, 200, 200), {.fast_below_ns = 70, .slow_below_ns = 70}), "far");
  EXPECT_EQ(label_of(round_of(1, 60, 6e6), {.fast_below_ns = handover_bounds::all_fast_ns}), "any");
  EXPECT_EQ(label_of(round_of(1, 0, 60), {.fast_below_ns = handover_bounds::all_fast_ns}), "unknown");
  EXPECT_EQ(label_of(round_of(1, 0, 0), bounds), "unknown");
}

TEST(PerfRounds, rounds_of_one_label_are_together_and_mixed_ones_are_left_out) {
  const auto groups = by_label({round_of(10, 60, 60), round_of(40, 270, 280), round_of(99, 60, 270),
                                round_of(30, 165, 166), round_of(12, 62, 62)},
                               bounds);
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].label, "fast");
  EXPECT_EQ(groups[0].values().median, 11);
  EXPECT_EQ(groups[0].handover_ns(), 61);
  EXPECT_EQ(groups[1].label, "slow");
  EXPECT_EQ(groups[1].values().median, 30);
  EXPECT_EQ(groups[2].label, "far");
  EXPECT_EQ(groups[2].values().rounds, 1u);
}

TEST(PerfRounds, the_slowest_thread_is_held_against_the_median) {
  EXPECT_EQ(slowest_to_median({100, 50, 100, 120}), 0.5);
  EXPECT_EQ(slowest_to_median({100}), 1);
  EXPECT_EQ(slowest_to_median({}), 1);
}

TEST(PerfFigures, a_ratio_above_one_says_that_weft_is_ahead) {
  figure latency;
  latency.weft.median = 100;
  latency.peers["A"].median = 150;
  latency.peers["B"].median = 300;
  EXPECT_EQ(latency.best_peer(), "A");
  EXPECT_EQ(latency.ratio(), 1.5);
  figure rate = latency;
  rate.more_is_better = true;
  EXPECT_EQ(rate.best_peer(), "B");
  EXPECT_EQ(*rate.ratio(), 100.0 / 300);
  EXPECT_FALSE(figure{}.ratio());
}

// Rates of four threads: the fastest peers starve a thread, and the even one is a thousand times slower.
TEST(PerfFigures, a_ratio_is_to_the_fastest_peer_also_where_its_threads_are_uneven) {
  std::map<std::string, std::vector<sample>> samples{{"Weft", {round_of(1538e3, 175, 175, 0.75)}},
                                                     {"A", {round_of(179e3, 175, 175, 0.3)}},
                                                     {"A, yielding", {round_of(504e3, 175, 175, 0.1)}},
                                                     {"B", {round_of(558, 175, 175, 0.9)}}};
  figure like;
  like.claim = "mt_rate";
  like.unit = "msg/s";
  like.threads = 4;
  like.more_is_better = true;
  const auto figures = compared(samples, like, bounds);
  ASSERT_EQ(figures.size(), 1u);
  const figure& rate = figures[0];
  EXPECT_EQ(rate.best_peer(), "A, yielding");
  EXPECT_DOUBLE_EQ(*rate.ratio(), 1538.0 / 504);
  EXPECT_DOUBLE_EQ(rate.aim.paired.median, 1538.0 / 504) << "the same peer, round by round";
  EXPECT_EQ(rate.uneven_peers(), (std::vector<std::string>{"A", "A, yielding"}));
  const std::string line = to_json(rate);
  EXPECT_NE(line.find("\"uneven_peers\":[\"A\",\"A, yielding\"]"), std::string::npos) << line;
  EXPECT_NE(line.find(":0.1},\"best_peer\":\"A, yielding\""), std::string::npos) << line;
  EXPECT_NE(table_row(rate, true).find("A, yielding  (uneven threads: A; A, yielding)"), std::string::npos)
      << table_row(rate, true);
}

TEST(PerfFigures, even_peers_are_named_by_no_line_and_weft_that_is_uneven_does_not_count) {
  figure rate;
  rate.threads = 2;
  rate.more_is_better = true;
  rate.weft.median = 100;
  rate.peers["A"].median = 150;
  rate.peers["A"].slowest_to_median = 0.5;
  EXPECT_TRUE(rate.uneven_peers().empty());
  EXPECT_EQ(to_json(rate).find("uneven"), std::string::npos);
  EXPECT_EQ(table_row(rate, true).find("uneven"), std::string::npos);
  rate.weft.slowest_to_median = 0.49;
  EXPECT_FALSE(rate.counts());
}

TEST(PerfFigures, a_limit_is_reached_in_part) {
  figure latency;
  latency.weft.median = 100;
  EXPECT_FALSE(latency.fraction());
  latency.limit.best = 60;
  EXPECT_EQ(latency.fraction(), 0.6);
  latency.more_is_better = true;
  latency.limit.best = 200;
  EXPECT_EQ(latency.fraction(), 0.5);
}

TEST(PerfFigures, an_aim_is_met_by_the_median_of_paired_rounds_and_by_messages) {
  std::map<std::string, std::vector<sample>> samples;
  for (std::uint32_t i = 0; i < 3; ++i) {
    samples["Weft"].push_back(round_of(100, 60, 60));
    samples["A"].push_back(round_of(110 + 20 * i, 60, 60));
    samples["Weft, by ring"].push_back(round_of(1, 60, 60));
    samples["Weft"].back().round = samples["A"].back().round = i;
  }
  samples["A"].pop_back();
  figure like;
  like.aim = {.ratio = 1.2, .messages = 2};
  figure found = compared(samples, like, bounds).at(0);
  EXPECT_EQ(found.best_peer(), "A") << "an algorithm of Weft's is no peer";
  EXPECT_EQ(found.aim.paired.rounds, 2u);
  EXPECT_DOUBLE_EQ(found.aim.paired.median, 1.2);
  EXPECT_TRUE(found.meets_aim());
  found.aim.ratio = 1.3;
  EXPECT_FALSE(found.meets_aim());
  found.aim = {.messages = 2, .in_messages = 2.5};
  EXPECT_FALSE(found.meets_aim());
  EXPECT_TRUE(figure{}.meets_aim());
}

TEST(PerfFigures, only_rounds_of_one_label_are_compared) {
  const std::map<std::string, std::vector<sample>> samples{{"Weft", {round_of(100, 60, 60), round_of(400, 270, 270)}},
                                                           {"A", {round_of(150, 60, 60), round_of(1, 60, 270)}},
                                                           {"B", {round_of(900, 270, 270)}}};
  const auto figures = compared(samples, {}, bounds);
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].conditions.label, "fast");
  EXPECT_EQ(figures[0].ratio(), 1.5);
  EXPECT_EQ(figures[0].peers.size(), 1u);
  EXPECT_EQ(figures[1].best_peer(), "B");
}

// Long messages of two libraries on a machine that flips between 37 and 165 ns: the one is ahead in the fast state, the
// other in the slow one, and a round that flipped counts for neither.
TEST(PerfFigures, the_fast_and_the_slow_state_of_one_machine_are_compared_apart) {
  std::map<std::string, std::vector<sample>> samples{
      {"Weft", {round_of(10, 37, 37), round_of(8, 165, 164), round_of(10, 37, 36), round_of(1, 37, 165)}},
      {"A", {round_of(20, 37, 38), round_of(20, 36, 37), round_of(2, 165, 165), round_of(99, 165, 37)}}};
  for (auto& [name, rounds] : samples)
    for (std::uint32_t i = 0; i < rounds.size(); ++i) rounds[i].round = i;
  figure like;
  like.more_is_better = true;
  const auto figures = compared(samples, like, bounds);
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].conditions.label, "fast");
  EXPECT_EQ(figures[0].ratio(), 0.5);
  EXPECT_EQ(figures[0].aim.paired.rounds, 1u) << "only round 0 was fast for both";
  EXPECT_EQ(figures[1].conditions.label, "slow");
  EXPECT_EQ(figures[1].ratio(), 4);
  EXPECT_EQ(figures[1].aim.paired.rounds, 0u);
}

TEST(PerfPoint, its_text_says_all_that_is_needed_to_measure_it) {
  const point one{.kind = kind::put_rate,
                  .operation = operation::sendrecv,
                  .mode = mode::threads_shared,
                  .memory = memory::weft,
                  .bytes = 4096,
                  .threads = 4,
                  .window = 32,
                  .seconds = 0.25};
  EXPECT_EQ(one.text(), "put_rate:4096:4:32:250:sendrecv:threads-shared:weft");
  EXPECT_EQ(point::parse(one.text()).text(), one.text());
  const point all{.kind = kind::reduce_scatter, .bytes = 64, .uses_defaults = true, .group = {.algorithm = "ring"}};
  EXPECT_EQ(point::parse(all.text()).text(), all.text());
  EXPECT_EQ(point::parse(all.text()).group.algorithm, "ring");
  EXPECT_THROW((void)point::parse("walk:8:1:1:1:am:processes:weft"), weft::error);
  EXPECT_THROW((void)point::parse("latency:8"), weft::error);
}

TEST(PerfPoint, a_series_ends_with_the_one_exchange_that_says_so) {
  std::uint64_t calls = 0;
  std::uint64_t last = 0;
  const lane_result out = timed(0.001, [&](bool is_last) {
    ++calls;
    last += is_last ? 1 : 0;
  });
  EXPECT_EQ(last, 1u);
  EXPECT_EQ(out.count, static_cast<double>(calls));
  EXPECT_GE(out.seconds, 0.001);
}

// How many looks that find nothing until the phase is over.
std::uint32_t looks_left(spin_phase& mine) {
  for (std::uint32_t vain = 1; vain < 100000; ++vain) {
    if (mine.is_over(vain)) return vain;
  }
  return 0;
}

TEST(PerfTurns, a_thread_on_a_core_of_its_own_looks_for_long) {
  spin_phase mine{{}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(looks_left(mine), 4096u);
    for (int answers = 0; answers < 1000; ++answers) mine.met();
  }
}

TEST(PerfTurns, a_turn_ends_where_an_answer_stays_away_and_after_so_many) {
  const yield_rules rules{.looks = 64, .looks_after = 100, .answers = 10};
  spin_phase mine{rules};
  for (std::uint32_t answers = 1; answers < rules.answers; ++answers) {
    mine.met();
    EXPECT_FALSE(mine.is_over(rules.looks - 1));
  }
  mine.met();
  EXPECT_EQ(looks_left(mine), 1u);
  mine.met();
  EXPECT_EQ(looks_left(mine), rules.looks);
}

TEST(PerfTurns, an_answer_that_was_left_behind_is_no_partner) {
  const yield_rules rules{.looks = 1000, .looks_after = 10, .answers = 100};
  spin_phase mine{rules};
  mine.met();
  mine.met();
  EXPECT_EQ(looks_left(mine), rules.looks);
  for (int answers = 0; answers < 3; ++answers) mine.met();
  EXPECT_EQ(looks_left(mine), rules.looks_after);
}

// While one core's thread waits, the other core's may all look, and theirs is among them.
TEST(PerfTurns, who_waits_does_so_for_longer_than_many_seek) {
  EXPECT_GT(awaiting.looks, 16 * 2 * seeking.looks);
  EXPECT_EQ(awaiting.answers, seeking.answers) << "partners would not part together";
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// By which path weft-perf says that messages went, and what it makes of limits.
#include <gtest/gtest.h>

#include "weft-perf/compare/compare.hpp"
#include "weft-perf/compare/peers.hpp"
#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/limits/limit_rounds.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/paths.hpp"
#include "weft-perf/report/rounds.hpp"

namespace {

using namespace weft::perf;

constexpr handover_bounds bounds{};

path_mix paths_of(std::initializer_list<std::pair<path, double>> of) {
  path_mix out;
  for (const auto& [which, fraction] : of) out.set(which, fraction);
  return out;
}

sample fast_round(double value) { return {.value = value, .before_ns = 60, .after_ns = 60}; }

figure bandwidth_of(double value, const path_mix& by) {
  figure out;
  out.claim = "bandwidth";
  out.unit = "B/s";
  out.conditions.label = "fast";
  out.more_is_better = true;
  out.weft.median = value;
  out.weft.paths = by;
  return out;
}

constexpr std::size_t bytes = 65536;
const point bandwidth{.kind = kind::bandwidth, .operation = operation::sendrecv, .bytes = bytes};

TEST(PerfPaths, what_is_not_counted_went_inline_or_into_mapped_memory) {
  weft::device_counters sender;
  weft::device_counters receiver;
  sender.posts.active_messages = {100, 500};
  sender.posts.sends = {10, 500};
  EXPECT_EQ(path_mix{traffic(sender, 0)}.fraction(path::cell), 1);
  sender.message_paths.one_packet = {4, 300};
  sender.message_paths.many_packets = {1, 100};
  receiver.message_paths.copied = {1, 200};
  receiver.message_paths.copied_by_both = {2, 150};
  traffic all{sender, 0};
  all += traffic{receiver, 0};
  const path_mix by{all};
  EXPECT_DOUBLE_EQ(by.fraction(path::cell), 0.25);
  EXPECT_DOUBLE_EQ(by.fraction(path::packet), 0.3);
  EXPECT_DOUBLE_EQ(by.fraction(path::many_packets), 0.1);
  EXPECT_DOUBLE_EQ(by.fraction(path::cross_memory), 0.2);
  EXPECT_DOUBLE_EQ(by.fraction(path::cross_memory_shared), 0.15);
  EXPECT_EQ(by.main(), path::packet);

  weft::device_counters putting;
  putting.posts.puts = {10, 800};
  putting.posts.gets = {10, 200};
  putting.transfer_paths.copied = {1, 400};
  const path_mix of_puts{traffic(putting, 0)};
  EXPECT_DOUBLE_EQ(of_puts.fraction(path::mapped_memory), 0.6);
  EXPECT_DOUBLE_EQ(of_puts.fraction(path::cross_memory), 0.4);
  EXPECT_FALSE(path_mix{traffic{}}.are_known());
}

TEST(PerfPaths, only_what_was_counted_between_before_and_after_is_told) {
  weft::device_counters counted;
  counted.posts.sends = {10, 1000};
  counted.message_paths.one_packet = {10, 1000};
  const traffic before{counted, 0};
  counted.posts.sends = {20, 1080};
  traffic between{counted, 0};
  between -= before;
  EXPECT_EQ(path_mix{between}.fraction(path::cell), 1);
}

TEST(PerfPaths, bytes_over_a_fabric_are_told_by_the_runtime) {
  weft::device_counters counted;
  counted.posts.sends = {10, 80};
  EXPECT_EQ(path_mix(traffic(counted, 800)).main(), path::libfabric);
  EXPECT_EQ(path_mix(traffic(counted, 8)).main(), path::cell) << "a few bytes of a barrier";
}

TEST(PerfPaths, their_text_names_those_of_a_twentieth_and_more) {
  EXPECT_EQ(paths_of({{path::cell, 0.97}, {path::packet, 0.03}}).text(), "cell");
  EXPECT_EQ(paths_of({{path::cross_memory, 0.2}, {path::cross_memory_shared, 0.8}}).text(),
            "cross-memory copy by both 80 %, cross-memory copy 20 %");
  EXPECT_EQ(path_mix{}.text(), "");
}

TEST(PerfPaths, ranks_tell_them_behind_their_samples_and_peers_tell_none) {
  const path_mix by = paths_of({{path::cross_memory, 0.25}, {path::mapped_memory, 0.75}});
  const auto read = parse_samples("sample 0 5 60 61 1 limit=4.5 " + by.wire_text() + "\nsample 1 6 60 60 1\n", 2);
  ASSERT_TRUE(read[0] && read[1]);
  EXPECT_DOUBLE_EQ(read[0]->paths.fraction(path::cross_memory), 0.25);
  EXPECT_DOUBLE_EQ(read[0]->paths.fraction(path::mapped_memory), 0.75);
  EXPECT_FALSE(read[1]->paths.are_known());
  EXPECT_EQ(read[1]->value, 6);
  EXPECT_EQ(read[0]->limit_ns, 4.5);
  EXPECT_EQ(read[1]->limit_ns, 0);
}

TEST(PerfPaths, a_figure_has_the_mean_of_its_rounds) {
  sample one = fast_round(1);
  sample other = fast_round(1);
  one.paths = paths_of({{path::cross_memory, 1}});
  other.paths = paths_of({{path::cross_memory_shared, 1}});
  const auto figures = compared({{"Weft", {one, other, one, one}}}, {}, bounds);
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_DOUBLE_EQ(figures[0].weft.paths.fraction(path::cross_memory), 0.75);
  const std::string line = to_json(figures[0]);
  EXPECT_NE(line.find(R"("path":"cross-memory copy","paths":{"cross-memory copy":0.75)"), std::string::npos) << line;
  EXPECT_NE(table_row(figures[0], false).find("by cross-memory copy 75 %"), std::string::npos);
}

TEST(PerfLimits, a_limit_is_the_best_of_its_bursts) {
  best_burst best;
  EXPECT_EQ(best.rate(), 0);
  best.add(10, best_burst::seconds_min / 4);
  EXPECT_DOUBLE_EQ(best.rate(), 40 / best_burst::seconds_min) << "the only one, though it has not ended";
  best.add(10, best_burst::seconds_min);
  EXPECT_DOUBLE_EQ(best.rate(), 16 / best_burst::seconds_min) << "pieces add up to a burst";
  best.add(50, best_burst::seconds_min);
  best.add(1, best_burst::seconds_min * 100);
  best.add(1000, best_burst::seconds_min / 1000);
  EXPECT_DOUBLE_EQ(best.rate(), 50 / best_burst::seconds_min);
  EXPECT_DOUBLE_EQ(best.nanoseconds(), 1e9 / best.rate());
}

TEST(PerfLimits, a_limit_is_the_best_of_its_rounds) {
  figure rate = bandwidth_of(9, {});
  rate.bound_by("packets", summarize({1, 2, 8, 10, 9}));
  EXPECT_EQ(rate.limit.best, 10);
  EXPECT_EQ(rate.limit.spread, 1);
  EXPECT_EQ(rate.fraction(), 0.9);
  figure latency;
  latency.weft.median = 80;
  latency.bound_by("two rings", summarize({60, 40, 44, 80, 90}));
  EXPECT_EQ(latency.limit.best, 40);
  EXPECT_EQ(latency.limit.spread, 4);
  EXPECT_EQ(latency.limit.name, "two rings");
  figure unknown;
  unknown.bound_by("two rings", summarize({0, 0}));
  EXPECT_FALSE(unknown.limit.best);
}

TEST(PerfLimits, one_that_is_exceeded_by_more_than_its_spread_is_marked_as_wrong) {
  figure rate = bandwidth_of(11, {});
  EXPECT_FALSE(rate.is_limit_wrong());
  rate.bound_by("packets", summarize({1, 2, 8, 10, 9}));
  EXPECT_FALSE(rate.is_limit_wrong()) << "as much as its spread";
  EXPECT_NE(to_json(rate).find(R"("limit_is_wrong":false)"), std::string::npos);
  EXPECT_EQ(table_row(rate, false).find("wrong"), std::string::npos);
  rate.weft.median = 11.1;
  EXPECT_TRUE(rate.is_limit_wrong());
  EXPECT_NE(to_json(rate).find(R"("limit_is_wrong":true)"), std::string::npos);
  EXPECT_NE(table_row(rate, false).find("wrong limit: packets"), std::string::npos);

  figure latency;
  latency.weft.median = 37;
  latency.bound_by("two rings", summarize({40, 42, 44, 60, 80}));
  EXPECT_TRUE(latency.is_limit_wrong());
  latency.weft.median = 39;
  EXPECT_FALSE(latency.is_limit_wrong());
}

TEST(PerfLimits, the_end_of_a_comparison_names_each_wrong_one_in_a_line) {
  printer out{true, true};
  figure good = bandwidth_of(9e9, {});
  good.bytes = bytes;
  good.bound_by("packets", summarize({10e9}));
  figure wrong = good;
  wrong.weft.median = 20e9;
  testing::internal::CaptureStdout();
  out.print(good);
  out.print(wrong);
  testing::internal::GetCapturedStdout();
  testing::internal::CaptureStderr();
  out.name_wrong_limits();
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "weft-perf: bandwidth of 64 KiB, fast: the limit 'packets' is wrong: 10 GB/s, but 20 GB/s was measured\n");
}

TEST(PerfLimits, each_path_has_the_limit_that_belongs_to_it) {
  limit_rounds limits;
  limits.add("packets", bytes, fast_round(5));
  limits.add("cross-memory copy", bytes, fast_round(10));
  limits.add("cross-memory copy by both", bytes, fast_round(20));
  limits.add("memcpy repeated", bytes, fast_round(40));
  limits.add("packets", 4096, fast_round(1000));
  limits.add("packets", bytes, {.value = 3000, .before_ns = 270, .after_ns = 270});
  const auto limit_by = [&](const point& of, const path_mix& by) {
    figure out = bandwidth_of(1, by);
    limits.set_limit(of, out, bounds);
    return out.limit.best.value_or(0);
  };
  EXPECT_EQ(limit_by(bandwidth, paths_of({{path::packet, 1}})), 5);
  EXPECT_EQ(limit_by(bandwidth, paths_of({{path::many_packets, 1}})), 5);
  EXPECT_EQ(limit_by(bandwidth, paths_of({{path::cross_memory, 1}})), 10);
  EXPECT_EQ(limit_by(bandwidth, paths_of({{path::cross_memory_shared, 1}})), 20);
  EXPECT_EQ(limit_by(bandwidth, paths_of({{path::cross_memory, 0.9}, {path::cross_memory_shared, 0.1}})), 20)
      << "of several paths the fastest one's";
  EXPECT_EQ(limit_by(bandwidth, paths_of({{path::cross_memory, 0.97}, {path::cross_memory_shared, 0.03}})), 10);
  EXPECT_EQ(limit_by(bandwidth, paths_of({{path::libfabric, 1}})), 0);
  EXPECT_EQ(limit_by(bandwidth, {}), 0);
  point puts = bandwidth;
  puts.kind = kind::put_rate;
  EXPECT_EQ(limit_by(puts, paths_of({{path::mapped_memory, 1}})), 40);
  point many = bandwidth;
  many.threads = 2;
  EXPECT_EQ(limit_by(many, paths_of({{path::packet, 1}})), 0);
}

TEST(PerfLimits, latencies_are_bounded_by_two_rings_visible_puts_by_two_lines_and_rates_by_cells) {
  limit_rounds limits;
  limits.add("cells", 64, fast_round(50e6));
  const auto bounded = [&](const point& of) {
    figure out;
    out.conditions.label = "fast";
    out.weft.median = 160;
    out.conditions.handover = summarize({60, 62});
    out.conditions.exchange_limit = summarize({130, 140});
    out.weft.paths = paths_of({{path::cell, 1}});
    limits.set_limit(of, out, bounds);
    return out;
  };
  const figure latency = bounded({.kind = kind::latency});
  EXPECT_EQ(latency.limit.best, 130) << "not the hand-over, as a line that both sides write is no way to send";
  EXPECT_EQ(latency.limit.name, "two rings");
  EXPECT_NE(table_row(latency, false).find("1.23 times two rings"), std::string::npos) << table_row(latency, false);
  EXPECT_EQ(bounded({.kind = kind::put_visible}).limit.name, "two lines");
  EXPECT_FALSE(bounded({.kind = kind::latency, .mode = mode::threads_dedicated, .threads = 2}).limit.best);
  EXPECT_FALSE(bounded({.kind = kind::put}).limit.best);
  figure rate = bandwidth_of(20e6, paths_of({{path::cell, 1}}));
  limits.set_limit({.kind = kind::stream}, rate, bounds);
  EXPECT_EQ(rate.limit.best, 50e6);
  figure in_packets = bandwidth_of(20e6, paths_of({{path::packet, 1}}));
  limits.set_limit({.kind = kind::rate}, in_packets, bounds);
  EXPECT_FALSE(in_packets.limit.best);
}

}  // namespace

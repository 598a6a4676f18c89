// SPDX-License-Identifier: BSD-3-Clause
#include "dt/run.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

#include <weft/test/local_job.hpp>

#include "dt/graph.hpp"

namespace {

using namespace weft_dt;

constexpr graph_kind all_kinds[] = {graph_kind::black_hole, graph_kind::white_hole, graph_kind::shuffle};

void run_all(graph_class size, std::uint32_t ranks) {
  weft::test::local_job{ranks}.run([&](weft::runtime& rt) {
    for (const graph_kind kind : all_kinds) {
      for (const std::uint32_t workers : {1U, 2U}) {
        std::uint32_t told = 0, all_told = 0;
        const run_result found =
            run_graph(rt, {.kind = kind, .size = size, .workers = workers}, [&](std::uint32_t done, std::uint32_t all) {
              EXPECT_EQ(done, ++told);
              all_told = all;
            });
        EXPECT_EQ(found.checksum, checksum_of(kind, size)) << ranks << " ranks, " << workers << " workers";
        EXPECT_EQ(told, all_told);
        EXPECT_LE(found.bytes_between_ranks, found.bytes);
        EXPECT_EQ(found.bytes_between_ranks == 0, ranks == 1);
      }
    }
  });
}

TEST(dt_run, class_s_has_its_checksums_on_one_to_eight_ranks) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) run_all(graph_class::s, ranks);
}

TEST(dt_run, class_w_has_its_checksums_on_one_to_eight_ranks) {
  for (std::uint32_t ranks = 1; ranks <= 8; ++ranks) run_all(graph_class::w, ranks);
}

TEST(dt_run, a_rank_without_nodes_takes_part) { run_all(graph_class::s, 13); }

TEST(dt_run, nodes_do_their_arithmetic_without_messages) {
  for (const std::uint32_t ranks : {1U, 3U}) {
    weft::test::local_job{ranks}.run([&](weft::runtime& rt) {
      for (const graph_kind kind : all_kinds) {
        std::uint32_t told = 0, all_told = 0;
        const run_result found =
            run_graph(rt, {.kind = kind, .workers = 2, .is_alone = true}, [&](std::uint32_t done, std::uint32_t all) {
              told = done;
              all_told = all;
            });
        EXPECT_EQ(told, all_told);
        EXPECT_GT(found.seconds, 0);
        EXPECT_EQ(found.bytes, 0U);
      }
    });
  }
}

TEST(dt_run, other_arguments_are_found_at_each_rank) {
  weft::test::local_job{4}.run([](weft::runtime& rt) {
    EXPECT_EQ(find_other_arguments(rt, {}, -1), std::nullopt);
    const bool is_other = rt.rank() >= 2;
    EXPECT_EQ(find_other_arguments(rt, {.size = is_other ? graph_class::a : graph_class::s}, -1), 2U);
    EXPECT_EQ(find_other_arguments(rt, {}, rt.rank() == 3 ? 2 : -1), 3U);
    EXPECT_EQ(find_other_arguments(rt, {.is_alone = rt.rank() == 0}, -1), 1U);
  });
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
#include "dt/arrays.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "dt/graph.hpp"

namespace {

using namespace weft_dt;

constexpr graph_kind all_kinds[] = {graph_kind::black_hole, graph_kind::white_hole, graph_kind::shuffle};

// One node after the other, without fibers and messages.
std::int64_t checksum_without_fibers(graph_kind kind, graph_class size) {
  const graph all{kind, size};
  const std::vector<std::size_t> lengths = array_lengths(all, size);
  array_store store{size};
  std::vector<feature_array> made(all.nodes().size());
  std::int64_t checksum = 0;
  for (std::uint32_t id = 0; id < made.size(); ++id) {
    const node& each = all.nodes()[id];
    if (each.inputs.empty()) {
      made[id] = store.get(lengths[id]);
      fill_source(made[id].values(), id);
    } else if (!each.outputs.empty()) {
      made[id] = empty_result(store, size);
      for (const std::uint32_t number : each.inputs)
        filter(store, made[id], made[all.edges()[number].from].values(), id);
      divide(made[id].values(), each.inputs.size());
      EXPECT_EQ(made[id].length(), lengths[id]) << id;
      EXPECT_LE(made[id].length(), store.length_max()) << id;
    } else {
      std::int64_t sum = 0;
      for (const std::uint32_t number : each.inputs) sum += add_up(made[all.edges()[number].from].values(), id);
      checksum += sink_checksum(sum, each.inputs.size(), id);
    }
  }
  return checksum;
}

TEST(dt_arrays, arithmetic_alone_has_the_published_checksums) {
  for (const graph_kind kind : all_kinds) {
    for (const graph_class size : {graph_class::s, graph_class::w, graph_class::a}) {
      EXPECT_EQ(checksum_without_fibers(kind, size), checksum_of(kind, size))
          << static_cast<int>(kind) << ' ' << static_cast<int>(size);
    }
  }
}

TEST(dt_arrays, lengths_of_sources_are_within_their_bounds) {
  for (const graph_class size : {graph_class::s, graph_class::w, graph_class::a, graph_class::b}) {
    const array_store store{size};
    for (std::uint32_t id = 0; id < size_of(size).sources; ++id) {
      const std::size_t length = source_length(size, id);
      EXPECT_EQ(length % fields, 0U);
      EXPECT_GE(length, (size_of(size).samples - size_of(size).deviation) * fields);
      EXPECT_LE(length, store.length_max());
    }
  }
}

TEST(dt_arrays, a_longer_input_stretches_the_result_and_a_shorter_one_is_stretched) {
  array_store store{graph_class::s};
  std::vector<double> input(16, 2.0);
  feature_array result = store.get(8);
  std::ranges::fill(result.values(), 0.0);
  filter(store, result, input, 0);
  EXPECT_EQ(result.length(), 16U);
  EXPECT_EQ(result.values()[4], 1.0);   // half of the input
  EXPECT_EQ(result.values()[8], 1.0);   //
  EXPECT_EQ(result.values()[12], 0.0);  // the last sample is not filtered
  filter(store, result, std::vector<double>(8, 2.0), 0);
  EXPECT_EQ(result.length(), 16U);
}

TEST(dt_arrays, memory_of_arrays_is_used_again) {
  array_store store{graph_class::s};
  const double* first = nullptr;
  {
    feature_array one = store.get(4);
    first = one.values().data();
    feature_array two = std::move(one);
    EXPECT_EQ(two.values().data(), first);
    EXPECT_NE(store.get(4).values().data(), first);
  }
  EXPECT_EQ(store.get(store.length_max()).values().data(), first);
}

}  // namespace

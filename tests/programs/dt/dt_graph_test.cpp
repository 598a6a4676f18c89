// SPDX-License-Identifier: BSD-3-Clause
#include "dt/graph.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace {

using namespace weft_dt;

using ids = std::vector<std::uint32_t>;

constexpr graph_kind all_kinds[] = {graph_kind::black_hole, graph_kind::white_hole, graph_kind::shuffle};
constexpr graph_class all_classes[] = {graph_class::s, graph_class::w, graph_class::a, graph_class::b};

ids before(const graph& all, std::uint32_t id) {
  ids out;
  for (const std::uint32_t number : all.nodes()[id].inputs) out.push_back(all.edges()[number].from);
  return out;
}
ids after(const graph& all, std::uint32_t id) {
  ids out;
  for (const std::uint32_t number : all.nodes()[id].outputs) out.push_back(all.edges()[number].to);
  return out;
}

TEST(dt_graph, has_the_nodes_of_its_class) {
  const std::map<graph_class, std::pair<std::size_t, std::size_t>> known{
      {graph_class::s, {5, 12}}, {graph_class::w, {11, 32}}, {graph_class::a, {21, 80}}, {graph_class::b, {43, 192}}};
  for (const auto& [size, nodes] : known) {
    EXPECT_EQ(graph(graph_kind::black_hole, size).nodes().size(), nodes.first);
    EXPECT_EQ(graph(graph_kind::white_hole, size).nodes().size(), nodes.first);
    EXPECT_EQ(graph(graph_kind::shuffle, size).nodes().size(), nodes.second);
  }
}

TEST(dt_graph, black_hole_feeds_one_sink_and_a_white_hole_is_its_mirror) {
  const graph black{graph_kind::black_hole, graph_class::w};
  EXPECT_EQ(before(black, 8), (ids{0, 1, 2, 3}));
  EXPECT_EQ(before(black, 9), (ids{4, 5, 6, 7}));
  EXPECT_EQ(before(black, 10), (ids{8, 9}));
  EXPECT_TRUE(black.nodes()[10].outputs.empty());
  const graph white{graph_kind::white_hole, graph_class::w};
  EXPECT_TRUE(white.nodes()[0].inputs.empty());
  EXPECT_EQ(after(white, 0), (ids{2, 1}));
  EXPECT_EQ(after(white, 1), (ids{6, 5, 4, 3}));
  EXPECT_EQ(before(white, 3), (ids{1}));
  EXPECT_EQ(before(white, 10), (ids{2}));
}

TEST(dt_graph, shuffle_exchanges_by_one_bit_of_the_number_in_each_layer) {
  const graph all{graph_kind::shuffle, graph_class::s};
  EXPECT_EQ(before(all, 4), (ids{0, 1}));
  EXPECT_EQ(before(all, 5), (ids{0, 1}));
  EXPECT_EQ(before(all, 7), (ids{2, 3}));
  EXPECT_EQ(before(all, 8), (ids{4, 6}));
  EXPECT_EQ(before(all, 11), (ids{5, 7}));
  EXPECT_TRUE(all.nodes()[11].outputs.empty());
}

// A node sends and receives one edge after the other, and a long message waits for its receive: nodes never wait for
// each other in a circle if the numbers of edges rise along each node's calls, or fall.
TEST(dt_graph, edges_of_a_node_are_in_an_order_that_all_nodes_keep) {
  for (const graph_kind kind : all_kinds) {
    for (const graph_class size : all_classes) {
      const graph all{kind, size};
      for (const node& each : all.nodes()) {
        ids calls = each.inputs;
        calls.insert(calls.end(), each.outputs.begin(), each.outputs.end());
        if (kind == graph_kind::white_hole) {
          EXPECT_LE(each.inputs.size(), 1U);  // the graph is a tree, and each edge waits for one before it alone
        } else {
          EXPECT_TRUE(std::is_sorted(calls.begin(), calls.end()));
        }
      }
    }
  }
}

TEST(dt_graph, each_rank_has_its_part_of_each_layer) {
  for (const graph_kind kind : all_kinds) {
    for (std::uint32_t ranks = 1; ranks <= 20; ++ranks) {
      const graph all{kind, graph_class::a};
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes;  // of layer and rank
      std::uint32_t layer = 0;
      for (std::uint32_t id = 0; id < all.nodes().size(); ++id) {
        const node& each = all.nodes()[id];
        if (each.position == 0) ++layer;
        ASSERT_LT(all.rank_of(id, ranks), ranks);
        const std::uint32_t count = ++nodes[{layer, all.rank_of(id, ranks)}];
        EXPECT_LE(count, (each.width + ranks - 1) / ranks);
      }
    }
  }
}

}  // namespace

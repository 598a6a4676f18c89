// SPDX-License-Identifier: BSD-3-Clause
// Algorithms on two levels: their costs, the messages between nodes, and the groups for which they are chosen.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "coll/args/node_map.hpp"
#include "coll/choose/choose.hpp"
#include "coll/schedule/counts.hpp"
#include "coll/some_nodes.hpp"
#include "support/random_seed.hpp"

namespace weft::coll {
namespace {

using numbers = std::vector<std::uint32_t>;

numbers members(const node_map& map, std::uint32_t node) {
  const auto all = map.members_of(node);
  return {all.begin(), all.end()};
}

TEST(coll_nodes, are_numbered_by_their_lowest_members) {
  const node_map some{numbers{9, 4, 9, 4, 7}};
  EXPECT_EQ(some.nodes(), 3U);
  EXPECT_EQ(some.node_of(3), 1U);
  EXPECT_EQ(members(some, 0), (numbers{0, 2}));
  EXPECT_EQ(members(some, 1), (numbers{1, 3}));
  EXPECT_EQ(members(some, 2), (numbers{4}));
  EXPECT_EQ(some.members_min(), 1U);
  EXPECT_EQ(some.members_max(), 2U);
  EXPECT_FALSE(some.are_in_order());
  EXPECT_TRUE((node_map{numbers{9, 9, 4, 7, 7}}.are_in_order()));
}

TEST(coll_nodes, have_two_levels_unless_all_members_are_on_one_or_each_is_alone) {
  EXPECT_FALSE((node_map{numbers{}}.has_two_levels()));
  EXPECT_FALSE((node_map{numbers{3}}.has_two_levels()));
  EXPECT_FALSE((node_map{numbers{3, 3, 3}}.has_two_levels()));
  EXPECT_FALSE((node_map{numbers{3, 1, 2}}.has_two_levels()));
  EXPECT_TRUE((node_map{numbers{3, 1, 3}}.has_two_levels()));
}

std::string_view chosen(const collective_args& args) { return choose(args, {}, {}).algorithm->name; }

TEST(coll_two_levels, are_chosen_for_groups_on_several_nodes) {
  const node_map in_order = test::nodes_of(6, 2), mixed{numbers{0, 1, 0, 1, 0, 1}}, single = test::nodes_of(6, 6);
  for (const operation each :
       {operation::barrier, operation::broadcast, operation::reduce, operation::allreduce, operation::allgather}) {
    for (const std::uint64_t bytes : {8ULL, 1ULL << 20}) {
      collective_args args{.operation = each, .size = 6, .block_bytes = bytes, .element_bytes = 8, .nodes = &in_order};
      EXPECT_EQ(chosen(args), "two-level") << name_of(each);
      args.is_commutative = false;
      EXPECT_EQ(chosen(args), "two-level") << name_of(each);
      // Blocks of a node that do not lie together, and operands that are not in the order of nodes.
      args.nodes = &mixed;
      const bool needs_order = each == operation::reduce || each == operation::allreduce;
      EXPECT_EQ(chosen(args) != "two-level", needs_order || each == operation::allgather) << name_of(each);
      args.is_commutative = true;
      EXPECT_EQ(chosen(args) != "two-level", each == operation::allgather) << name_of(each);
      args.nodes = &single;
      EXPECT_NE(chosen(args), "two-level") << name_of(each);
      args.nodes = nullptr;
      EXPECT_NE(chosen(args), "two-level") << name_of(each);
    }
  }
}

const algorithm& two_level(operation which) {
  for (const algorithm& each : algorithms())
    if (each.operation == which && each.name == "two-level") return each;
  throw std::runtime_error{"there is no such algorithm"};
}

// A phase of an operation: whether it is between nodes, its own operation, and the bytes of a block in it.
struct expected_phase {
  bool is_between;
  operation which;
  std::uint64_t block_bytes;
};

std::vector<expected_phase> phases_of(operation which, std::uint64_t m, std::uint64_t n, std::uint64_t q) {
  switch (which) {
    case operation::broadcast: return {{true, operation::broadcast, m}, {false, operation::broadcast, m}};
    case operation::reduce: return {{false, operation::reduce, m}, {true, operation::reduce, m}};
    case operation::allreduce:
      return {{false, operation::reduce, m}, {true, operation::allreduce, m}, {false, operation::broadcast, m}};
    default:
      return {{false, operation::gather, m}, {true, operation::allgather, q * m}, {false, operation::broadcast, n * m}};
  }
}

// Bytes and messages between nodes, in the schedules themselves.
counts between_nodes(const collective_args& args) {
  counts out;
  collective_args mine = args;
  for (mine.rank = 0; mine.rank < args.size; ++mine.rank) {
    schedule steps;
    two_level(args.operation).function(steps, mine);
    for (const step& each : steps.steps()) {
      if (each.action != action::send || args.nodes->node_of(each.peer) == args.nodes->node_of(mine.rank)) continue;
      ++out.messages;
      out.bytes += each.from.bytes;
    }
  }
  return out;
}

TEST(coll_two_levels, have_a_barrier_whose_signals_go_up_and_down_the_nodes) {
  for (const std::uint32_t nodes : {2U, 3U, 4U, 7U, 8U, 16U, 128U}) {
    for (const std::uint32_t q : {2U, 3U, 4U, 8U}) {
      const node_map map = test::nodes_of(nodes * q, q);
      const collective_args args{.operation = operation::barrier, .size = nodes * q, .nodes = &map};
      const collective_args leaders{.operation = operation::barrier, .size = nodes};
      const counts counted = count(two_level(args.operation), args),
                   between = count(*choose(leaders, {}, {}).algorithm, leaders);
      EXPECT_EQ(counted.wrong, "");
      EXPECT_EQ(counted.rounds, 2 * static_cast<std::uint32_t>(std::bit_width(q - 1)) + between.rounds);
      EXPECT_EQ(counted.messages, 2 * nodes * (q - 1) + between.messages);
      EXPECT_EQ(between_nodes(args).messages, between.messages);
    }
  }
}

// `q` ranks on each of N nodes.
void expect_costs_of_phases(operation which, std::uint32_t nodes, std::uint32_t q, std::uint64_t m) {
  const node_map map = test::nodes_of(nodes * q, q);
  const collective_args args{
      .operation = which, .size = nodes * q, .block_bytes = m, .element_bytes = 8, .nodes = &map};
  SCOPED_TRACE(testing::Message() << name_of(which) << " of " << m << " bytes, " << nodes << " nodes of " << q);
  counts expected;
  counts expected_between;
  for (const expected_phase& each : phases_of(which, m, args.size, q)) {
    const collective_args inner{.operation = each.which,
                                .size = each.is_between ? nodes : q,
                                .block_bytes = each.block_bytes,
                                .element_bytes = 8};
    const counts single = count(*choose(inner, {}, {}).algorithm, inner);
    const std::uint32_t times = each.is_between ? 1 : nodes;
    expected.rounds += single.rounds;
    expected.messages += times * single.messages;
    expected.bytes += times * single.bytes;
    if (each.is_between) expected_between = single;
  }
  const counts counted = count(two_level(which), args);
  EXPECT_EQ(counted.wrong, "");
  EXPECT_EQ(counted.rounds, expected.rounds);
  EXPECT_EQ(counted.messages, expected.messages);
  EXPECT_EQ(counted.bytes, expected.bytes);
  const counts between = between_nodes(args);
  EXPECT_EQ(between.messages, expected_between.messages);
  EXPECT_EQ(between.bytes, expected_between.bytes);
}

TEST(coll_two_levels, cost_what_their_phases_cost_one_after_the_other) {
  for (const operation which : {operation::broadcast, operation::reduce, operation::allreduce, operation::allgather}) {
    for (const std::uint64_t m : {8ULL, 4096ULL, 1ULL << 20}) {
      for (const std::uint32_t nodes : {2U, 3U, 4U, 7U, 8U, 16U}) {
        for (const std::uint32_t q : {2U, 3U, 4U, 8U}) expect_costs_of_phases(which, nodes, q, m);
      }
      if (!weft::test::under_sanitizer) {
        expect_costs_of_phases(which, 16, 64, m);
        expect_costs_of_phases(which, 128, 8, m);
      }
    }
  }
}

TEST(coll_two_levels, send_no_more_between_nodes_where_nodes_have_more_ranks) {
  for (const operation which : {operation::broadcast, operation::reduce, operation::allreduce}) {
    const node_map few = test::nodes_of(8, 2), many = test::nodes_of(64, 16);
    collective_args args{.operation = which, .size = 8, .block_bytes = 1 << 20, .element_bytes = 8, .nodes = &few};
    const counts with_few = between_nodes(args);
    args.size = 64;
    args.nodes = &many;
    const counts with_many = between_nodes(args);
    EXPECT_EQ(with_few.bytes, with_many.bytes) << name_of(which);
    EXPECT_EQ(with_few.messages, with_many.messages) << name_of(which);
    EXPECT_GE(with_few.bytes, 3 * args.block_bytes) << name_of(which);
  }
}

}  // namespace
}  // namespace weft::coll

// SPDX-License-Identifier: BSD-3-Clause
// The ids of communicators' engines.
#include "mpi/objects/context_ids.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "mpi/communicator/make.hpp"
#include "mpi/ranks.hpp"
#include "weft/matching_engine.hpp"

namespace weft::mpi {
namespace {

constexpr context_stream one = 1;

TEST(mpi_context_ids, of_all_ranks_differ_and_leave_the_predefined_ones_out) {
  std::set<std::uint32_t> seen{context_of_world, context_of_self, context_of_agreements};
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    context_ids ids{rank, 5};
    for (int count = 0; count < 1000; ++count) {
      const std::uint32_t id = ids.take(one);
      EXPECT_GE(id, first_context);
      EXPECT_LT(id, matching_engine_ids_max);
      EXPECT_TRUE(seen.insert(id).second) << id;
    }
  }
}

TEST(mpi_context_ids, of_neighbouring_ranks_begin_with_other_low_bits_as_do_the_predefined_ones) {
  constexpr std::uint32_t low_bits = 63;  // the least table of engines has so many entries, and one
  std::set<std::uint32_t> seen{context_of_world & low_bits, context_of_self & low_bits,
                               context_of_agreements & low_bits};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    context_ids ids{rank, 3};
    for (int count = 0; count < 10; ++count) EXPECT_TRUE(seen.insert(ids.take(one) & low_bits).second);
  }
}

TEST(mpi_context_ids, are_given_again_only_if_nobody_has_used_them) {
  context_ids ids{2, 3};
  const std::uint32_t a = ids.take(one), b = ids.take(one), c = ids.take(one);
  ids.release(c, one);
  EXPECT_EQ(ids.take(one), c);
  ids.release(a, one);
  std::set<std::uint32_t> later{b, c};
  for (int count = 0; count < 100; ++count) EXPECT_TRUE(later.insert(ids.take(one)).second);
  EXPECT_TRUE(later.contains(a)) << "at the end of the stream's block";
}

TEST(mpi_context_ids, are_all_given_whatever_the_streams) {
  constexpr std::uint32_t ranks = 1U << 20, own = 1024;
  for (const context_stream streams : {1U, 3U, 50U, 5000U}) {
    context_ids ids{7, ranks};
    std::set<std::uint32_t> seen;
    for (std::uint32_t count = 0; count < own; ++count) {
      const std::uint32_t id = ids.take(count % streams);
      EXPECT_GE(id, first_context + 7 * own);
      EXPECT_LT(id, first_context + 8 * own);
      EXPECT_TRUE(seen.insert(id).second) << id;
    }
    EXPECT_EQ(ids.take(one), no_context);
  }
}

// The intervals of used ids at a member that is in the communicators of one stream alone.
std::size_t intervals(context_ids& ids, context_stream streams, int rounds) {
  std::vector<std::uint32_t> before(streams), out(streams);
  for (int round = 0; round < rounds; ++round) {
    for (context_stream stream = 0; stream < streams; ++stream) {
      const std::uint32_t id = ids.take(stream);
      if (id != before[stream] + 1) ++out[stream];
      before[stream] = id;
    }
  }
  return *std::ranges::max_element(out);
}

TEST(mpi_context_ids, of_members_that_take_turns_leave_few_gaps) {
  for (const context_stream streams : {2U, 10U, 500U}) {
    context_ids ids{0, 2};
    EXPECT_LE(intervals(ids, streams, 10'000), 12U) << streams;
  }
}

TEST(mpi_context_ids, end_and_then_making_a_communicator_is_an_error) {
  context_ids ids{(1U << 26) - 1, 1U << 26};  // so many ranks that each has 16
  for (int count = 0; count < 16; ++count) EXPECT_NE(ids.take(one), no_context);
  EXPECT_EQ(ids.take(one), no_context);
  test::run_ranks(1, [](test::numbers_of_rank) {
    rank_state& rank = *current_rank();
    EXPECT_THROW(make_communicator(rank, rank.world, {.context = no_context, .local = rank.world.local}), error);
    EXPECT_EQ(rank.communicators.count(), 0U);
  });
}

}  // namespace
}  // namespace weft::mpi

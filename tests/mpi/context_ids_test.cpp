// SPDX-License-Identifier: BSD-3-Clause
// The ids of communicators' engines.
#include "mpi/objects/context_ids.hpp"

#include <memory>
#include <set>

#include "mpi/communicator/make.hpp"
#include "mpi/ranks.hpp"
#include "weft/matching_engine.hpp"

namespace weft::mpi {
namespace {

TEST(mpi_context_ids, of_all_ranks_differ_and_leave_the_predefined_ones_out) {
  std::set<std::uint32_t> seen{context_of_world, context_of_self, context_of_agreements};
  for (std::uint32_t rank = 0; rank < 5; ++rank) {
    context_ids ids{rank, 5};
    for (int count = 0; count < 1000; ++count) {
      const std::uint32_t id = ids.take();
      EXPECT_GE(id, first_context);
      EXPECT_LT(id, matching_engine_ids_max);
      EXPECT_TRUE(seen.insert(id).second) << id;
    }
  }
}

TEST(mpi_context_ids, are_given_again_only_if_nobody_has_used_them) {
  context_ids ids{2, 3};
  const std::uint32_t a = ids.take(), b = ids.take(), c = ids.take();
  ids.give_back(c);
  EXPECT_EQ(ids.take(), c);
  ids.give_back(a);
  EXPECT_EQ(ids.take(), a);
  const std::uint32_t d = ids.take();
  EXPECT_EQ(std::set({a, b, c, d}).size(), 4U);
}

TEST(mpi_context_ids, end_and_then_making_a_communicator_is_an_error) {
  context_ids ids{(1U << 26) - 1, 1U << 26};  // so many ranks that each has 16
  for (int count = 0; count < 16; ++count) EXPECT_NE(ids.take(), no_context);
  EXPECT_EQ(ids.take(), no_context);
  test::run_ranks(1, [](test::numbers_of_rank) {
    rank_state& rank = *current_rank();
    EXPECT_THROW(make_communicator(rank, rank.world, {.context = no_context, .local = rank.world.local}), error);
    EXPECT_EQ(rank.communicators.count(), 0U);
  });
}

}  // namespace
}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Every operation from and to every kind of memory: between ranks that are threads, of a rank to itself, without direct
// copies, and over a simulated network.
#include <gtest/gtest.h>

#include "support/kinds_load.hpp"
#include "support/random_seed.hpp"
#include "weft/test/local_job.hpp"

namespace weft {
namespace {

void move_everything(std::uint32_t ranks, const runtime_options& options, test::kinds_load load) {
  load.seed = test::random_seed() % 1000;
  if (test::under_sanitizer) {
    load.one_in *= 4;
    load.long_one_in *= 4;
  }
  test::local_job{ranks, options}.run([&](runtime& rt) {
    test::run_kinds(rt, load, [](const std::string& problem) { ADD_FAILURE() << problem; });
    EXPECT_EQ(rt.counters().messages_refused, 0U);
  });
}

TEST(kinds_of_memory, arrive_whole_between_ranks) { move_everything(2, {}, {.long_one_in = 3, .one_in = 2}); }

TEST(kinds_of_memory, arrive_whole_where_posts_look_at_addresses) {
  move_everything(2, {}, {.long_one_in = 20, .one_in = 3, .knows_addresses = true});
}

TEST(kinds_of_memory, arrive_whole_in_small_packets_without_direct_copies) {
  move_everything(2, {.packet_bytes = 2048, .shm_cma = false}, {.long_one_in = 20, .one_in = 2});
}

TEST(kinds_of_memory, arrive_whole_at_their_own_rank) { move_everything(1, {}, {.long_one_in = 5}); }

TEST(kinds_of_memory, arrive_whole_over_a_simulated_network) {
  move_everything(2, {.transport = "sim:shm,sim:self"}, {.long_one_in = 10, .one_in = 4});
}

}  // namespace
}  // namespace weft

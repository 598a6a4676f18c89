// Which ranks share memory, and where a peer's region lies here.
#include "core/runtime/nodes.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "boot/bootstrap.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

// The nodes of all ranks as each of them learns them, where rank i publishes `lowest[i]`.
std::vector<std::vector<std::uint32_t>> learned(const std::vector<std::uint32_t>& lowest) {
  const auto ranks = static_cast<std::uint32_t>(lowest.size());
  const auto job = boot::make_local_job(ranks);
  std::vector<std::vector<std::uint32_t>> out(ranks);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      core::nodes mine;
      mine.publish(*job[rank], "runtime0", lowest[rank]);
      job[rank]->fence();
      mine.learn(*job[rank]);
      for (std::uint32_t each = 0; each < ranks; ++each) out[rank].push_back(mine.of(each));
    });
  }
  for (std::thread& each : threads) each.join();
  return out;
}

TEST(nodes, are_numbered_in_the_order_of_their_lowest_ranks_by_all_ranks_alike) {
  using numbers = std::vector<std::uint32_t>;
  for (const auto& [lowest, expected] : std::vector<std::pair<numbers, numbers>>{
           {{0}, {0}},
           {{0, 0, 0}, {0, 0, 0}},
           {{0, 1, 2}, {0, 1, 2}},
           {{0, 0, 2, 2, 0, 5}, {0, 0, 1, 1, 0, 2}},
           {{0, 1, 0, 1}, {0, 1, 0, 1}},
           {{0, 0, 1}, {0, 0, 1}}}) {  // the last one: rank 1 is no lowest rank, whatever rank 2 says
    for (const numbers& each : learned(lowest)) EXPECT_EQ(each, expected);
  }
}

TEST(nodes, of_ranks_that_share_memory_are_one_and_elsewhere_each_is_its_own) {
  test::local_job{3}.run([](runtime& rt) {
    const bool is_shared = test::local_job::state_of(rt).transports().sharing() != nullptr;
    for (std::uint32_t rank = 0; rank < rt.size(); ++rank) EXPECT_EQ(rt.node_of(rank), is_shared ? 0 : rank);
    rt.barrier();
  });
  test::local_job{1}.run([](runtime& rt) { EXPECT_EQ(rt.node_of(0), 0U); });
}

// Rank 1's handle, at both ranks.
remote_region handle_of_rank_1(runtime& rt, const memory_region& mine) {
  device& dev = rt.default_device();
  counter done{rt};
  remote_region out = mine.handle();
  if (rt.rank() == 1) {
    static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{&out, 1}, done); }));
  } else {
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(1, std::span{&out, 1}, done); }));
    EXPECT_TRUE(test::eventually(dev, [&] { return done.value() == 1; }));
  }
  rt.barrier();
  return out;
}

TEST(mapped, finds_a_region_that_a_rank_of_the_node_has_allocated) {
  test::local_job{2}.run([](runtime& rt) {
    const memory_region region{rt, std::size_t{4096}};
    const remote_region theirs = handle_of_rank_1(rt, region);
    const std::span<std::byte> there = rt.mapped({theirs, 64}, 16);
    // A simulated network may deny it.
    const bool is_certain = rt.rank() == 1 || test::messages_wake_sleepers();
    if (is_certain) {
      ASSERT_EQ(there.size(), 16U);
    }
    if (rt.rank() == 1) {
      EXPECT_EQ(there.data(), region.memory().data() + 64);
    }
    if (rt.rank() == 0 && !there.empty()) {
      ASSERT_EQ(there.size(), 16U);
      std::memset(there.data(), 7, there.size());
      EXPECT_EQ(rt.mapped({theirs, 4096}, 0).size(), 0U);
      EXPECT_EQ(rt.mapped({theirs, 0}, 4096).data() + 64, there.data());
    }
    rt.barrier();
    if (rt.rank() == 1) {
      const auto expected = is_certain && test::messages_wake_sleepers() ? std::byte{7} : region.memory()[64];
      EXPECT_EQ(region.memory()[64], expected);
      EXPECT_EQ(region.memory()[80], std::byte{0});
    }
    rt.barrier();
  });
}

TEST(mapped, is_empty_for_memory_of_another_ranks_user) {
  test::local_job{2}.run([](runtime& rt) {
    std::array<std::byte, 64> memory{};
    const memory_region region{rt, std::span{memory}};
    const remote_region theirs = handle_of_rank_1(rt, region);
    const std::span<std::byte> there = rt.mapped({theirs, 8}, 16);
    if (rt.rank() == 1) {
      EXPECT_EQ(there.data(), memory.data() + 8);
      EXPECT_EQ(there.size(), 16U);
    } else {
      EXPECT_TRUE(there.empty());
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// Which ranks share memory, and where a peer's region lies here.
#include "core/runtime/nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "boot/bootstrap.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using numbers = std::vector<std::uint32_t>;
using values = std::map<std::pair<std::uint32_t, std::string>, std::string>;

// One rank's end of a bootstrap, whose values a test sees.
class open_bootstrap final : public boot::bootstrap {
 public:
  open_bootstrap(values& all, std::uint32_t rank, std::uint32_t size) : all_{all}, rank_{rank}, size_{size} {}

  [[nodiscard]] std::uint32_t rank() const noexcept override { return rank_; }
  [[nodiscard]] std::uint32_t size() const noexcept override { return size_; }
  [[nodiscard]] const char* name() const noexcept override { return "open"; }
  void put(std::string_view key, std::string_view bytes) override {
    EXPECT_LE(bytes.size(), boot::value_bytes_max);
    all_[{rank_, std::string{key}}] = bytes;
  }
  [[nodiscard]] std::string get(std::uint32_t rank, std::string_view key) override {
    ++gets;
    const auto found = all_.find({rank, std::string{key}});
    if (found == all_.end()) throw error{errc::boot_failed, "there is no such value"};
    return found->second;
  }
  void fence() override {}

  std::size_t gets = 0;

 private:
  values& all_;
  std::uint32_t rank_;
  std::uint32_t size_;
};

// Ranks that share memory have equal numbers in `nodes`.
class job_of_nodes {
 public:
  explicit job_of_nodes(numbers nodes) : nodes_{std::move(nodes)}, learned_(nodes_.size()) {
    std::map<std::uint32_t, numbers> members;
    for (std::uint32_t rank = 0; rank < size(); ++rank) members[nodes_[rank]].push_back(rank);
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
      open_bootstrap boot{published, rank, size()};
      learned_[rank].publish(boot, "runtime0", members[nodes_[rank]]);
    }
  }

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  // What rank `at` knows, and how many values it has read for that.
  std::pair<numbers, std::size_t> learn(std::uint32_t at) {
    open_bootstrap boot{published, at, size()};
    learned_[at].learn(boot);
    numbers out;
    for (std::uint32_t rank = 0; rank < size(); ++rank) out.push_back(learned_[at].node_of(rank));
    return {out, boot.gets};
  }

  values published;

 private:
  numbers nodes_;
  std::vector<core::nodes> learned_;
};

TEST(nodes, are_numbered_in_the_order_of_their_lowest_ranks_by_all_ranks_alike) {
  for (const auto& [nodes, expected] :
       std::vector<std::pair<numbers, numbers>>{{{7}, {0}},
                                                {{7, 7, 7}, {0, 0, 0}},
                                                {{7, 8, 9}, {0, 1, 2}},
                                                {{9, 9, 3, 3, 9, 1}, {0, 0, 1, 1, 0, 2}},
                                                {{3, 1, 3, 1}, {0, 1, 0, 1}}}) {
    job_of_nodes job{nodes};
    for (std::uint32_t rank = 0; rank < job.size(); ++rank) {
      const auto [learned, gets] = job.learn(rank);
      EXPECT_EQ(learned, expected);
      EXPECT_EQ(gets, 1 + *std::ranges::max_element(expected)) << "a value for each node";
    }
  }
}

TEST(nodes, of_more_ranks_than_a_value_holds_are_read_from_several) {
  numbers nodes(5000), expected(5000);
  for (std::uint32_t rank = 0; rank < 5000; ++rank) expected[rank] = nodes[rank] = rank % 10 == 1 ? 1 : 0;
  job_of_nodes job{nodes};
  const auto [learned, gets] = job.learn(4999);
  EXPECT_EQ(learned, expected);
  EXPECT_LE(gets, 6U);
}

// Values of another version, or of a rank that is wrong, are an error with its number.
TEST(nodes, that_no_rank_can_have_published_are_refused) {
  const auto words = [](const numbers& of) {
    return std::string{reinterpret_cast<const char*>(of.data()), of.size() * sizeof of[0]};
  };
  for (const std::string& wrong :
       {std::string{}, std::string{"abc"}, words({1}), words({1, 0, 0}), words({2, 0, 0}), words({1, 1}),
        words({2, 0, 3}), words({3, 0, 1, ~0U}), words({~0U, 0}), words({4, 0})}) {
    job_of_nodes job{{5, 5, 6}};
    job.published.begin()->second = wrong;
    EXPECT_THROW(static_cast<void>(job.learn(2)), error) << wrong.size();
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

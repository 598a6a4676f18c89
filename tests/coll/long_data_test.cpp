// SPDX-License-Identifier: BSD-3-Clause
// Long data within a node, by the algorithms that the rules choose: each reader copies each byte once, from where it
// lies, and nothing of it goes in packets.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "coll/choose/choose.hpp"
#include "coll/schedule/blocks.hpp"
#include "coll/schedule/schedule.hpp"
#include "support/waiting.hpp"
#include "weft/collectives.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint64_t mib = 1 << 20;

// Bytes of messages of this rank's, by how they were moved.
struct moved_bytes {
  std::uint64_t copied = 0;
  std::uint64_t in_packets = 0;
};

moved_bytes moved(const device& dev) {
  const path_counters paths = dev.counters().message_paths;
  return {paths.copied.bytes + paths.copied_by_both.bytes, paths.one_packet.bytes + paths.many_packets.bytes};
}

// Runs it at all ranks, and adds up how bytes were moved.
moved_bytes moved_by_all(
    std::uint32_t ranks,
    const std::function<collective(std::vector<std::byte>& input, std::vector<std::byte>& out)>& make) {
  std::vector<moved_bytes> of_ranks(ranks);
  test::local_job{ranks, runtime_options{.transport = "self,shm"}}.run([&](runtime& rt) {
    group all = rt.world();
    std::vector<std::byte> input, out;
    const collective made = make(input, out);
    collective::barrier().run(all);
    const moved_bytes before = moved(rt.default_device());
    made.run(all);
    collective::barrier().run(all);
    const moved_bytes after = moved(rt.default_device());
    of_ranks[rt.rank()] = {after.copied - before.copied, after.in_packets - before.in_packets};
  });
  moved_bytes sum;
  for (const moved_bytes& each : of_ranks) {
    sum.copied += each.copied;
    sum.in_packets += each.in_packets;
  }
  return sum;
}

class long_data : public testing::TestWithParam<std::uint32_t> {
 protected:
  void SetUp() override {
    bool can_copy = true;
    test::local_job{2, runtime_options{.transport = "self,shm"}}.run([&](runtime& rt) {
      if (rt.rank() == 0) can_copy = rt.explain(1, mib).find("no direct copies") == std::string::npos;
      rt.barrier();
    });
    if (!can_copy) GTEST_SKIP() << "no direct copies here";
  }
};

TEST_P(long_data, of_a_broadcast_is_read_once_by_each_member_and_not_sent_in_packets) {
  const std::uint64_t n = GetParam();
  const moved_bytes counted = moved_by_all(GetParam(), [&](auto&, auto& out) {
    out.resize(mib);
    return collective::broadcast(out, GetParam() - 1);
  });
  EXPECT_EQ(counted.copied, (n - 1) * mib);
  EXPECT_EQ(counted.in_packets, 0U);
}

TEST_P(long_data, of_an_allgather_is_read_once_by_each_member_and_not_sent_in_packets) {
  const std::uint64_t n = GetParam();
  const moved_bytes counted = moved_by_all(GetParam(), [&](auto& input, auto& out) {
    input.resize(mib);
    out.resize(n * mib);
    return collective::allgather(input, out);
  });
  EXPECT_EQ(counted.copied, n * (n - 1) * mib);
  EXPECT_EQ(counted.in_packets, 0U);
}

TEST_P(long_data, of_an_alltoall_is_read_once_by_each_member_and_not_sent_in_packets) {
  const std::uint64_t n = GetParam();
  const moved_bytes counted = moved_by_all(GetParam(), [&](auto& input, auto& out) {
    input.resize(n * mib);
    out.resize(n * mib);
    return collective::alltoall(input, out);
  });
  EXPECT_EQ(counted.copied, n * (n - 1) * mib);
  EXPECT_EQ(counted.in_packets, 0U);
}

INSTANTIATE_TEST_SUITE_P(members, long_data, testing::Values(2, 3, 4, 5, 8), testing::PrintToStringParamName{});

// Every message is sent from a user's buffer and received into one; a rank copies its own block at most.
TEST(long_data_in_schedules, is_never_held_in_between) {
  using coll::location;
  using coll::operation;
  for (const operation which :
       {operation::broadcast, operation::gather, operation::scatter, operation::allgather, operation::alltoall}) {
    for (std::uint32_t size = 2; size < 20; ++size) {
      std::vector<std::uint64_t> bytes(size, mib), offsets(size);
      for (std::uint32_t i = 0; i < size; ++i) offsets[i] = (size - 1 - i) * mib;
      for (const bool has_lists : {false, true}) {
        coll::collective_args args{.operation = which, .size = size, .root = size / 2, .block_bytes = mib};
        if (has_lists && which == operation::broadcast) continue;
        if (has_lists) {
          args.block_bytes = 0;
          args.root_has_list = which == operation::gather || which == operation::scatter;
          const coll::block_list list{bytes, offsets};
          if (which != operation::gather && which != operation::allgather) args.in_blocks = list;
          if (which != operation::scatter) args.out_blocks = list;
        }
        const coll::choice chosen = coll::choose(args, {}, {});
        for (args.rank = 0; args.rank < size; ++args.rank) {
          coll::schedule steps;
          chosen.algorithm->function(steps, args);
          SCOPED_TRACE(coll::text_of(args) + ": " + std::string{chosen.algorithm->name});
          std::uint64_t copied = 0;
          for (const coll::step& each : steps.steps()) {
            EXPECT_TRUE(each.action != coll::action::send || each.from.location != location::scratch);
            EXPECT_TRUE(each.action != coll::action::receive || each.into.location == location::output);
            if (each.action == coll::action::copy) copied += each.into.bytes;
          }
          EXPECT_LE(copied, mib);
          EXPECT_EQ(steps.scratch_bytes(), 0U);
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft

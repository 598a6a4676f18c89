// SPDX-License-Identifier: BSD-3-Clause
// Runtimes of one process with settings of their own, and a runtime of one thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

runtime_options small_options() {
  return {.packet_count = 128,
          .packet_bytes = 1024,
          .ring_cells = 16,
          .devices_max = 3,
          .shared_bytes = std::size_t{8} << 20,
          .regions_max = 64,
          .operations_max = 5,
          .receives_max = 6,
          .matching_buckets = 32,
          .queue_capacity = 7,
          .foreign_packets_max = 8,
          .unexpected_bytes_max = 9,
          .unexpected_sends_max = 10,
          .unexpected_packets_max = 11,
          .progress_policy = progress_policy::random};
}

void expect_small(const runtime& rt) {
  const runtime_attributes& is = rt.attributes();
  EXPECT_EQ(is.packet_count, 128U);
  EXPECT_EQ(is.packet_bytes, 1024U);
  EXPECT_EQ(is.ring_cells, 16U);
  EXPECT_EQ(is.devices_max, 3U);
  EXPECT_EQ(is.shared_bytes, 8U << 20);
  EXPECT_EQ(is.regions_max, 64U);
  EXPECT_EQ(is.operations_max, 5U);
  EXPECT_EQ(is.receives_max, 6U);
  EXPECT_EQ(is.matching_buckets, 32U);
  EXPECT_EQ(is.queue_capacity, 7U);
  EXPECT_EQ(is.foreign_packets_max, 8U);
  EXPECT_EQ(is.unexpected_bytes_max, 9U);
  EXPECT_EQ(is.unexpected_sends_max, 10U);
  EXPECT_EQ(is.unexpected_packets_max, 11U);
  EXPECT_EQ(is.progress_policy, progress_policy::random);
}

// Sends messages of each protocol to the next rank and receives those of the rank before.
void exchange(runtime& rt) {
  device& dev = rt.default_device();
  counter sent{rt}, received{rt};
  std::uint64_t expected = 0, posted = 0;
  for (const std::size_t bytes : {8, 200, 2000, 20000}) {
    const std::vector<std::byte> out(bytes, std::byte{7});
    std::vector<std::byte> in(bytes);
    const std::uint32_t next = (rt.rank() + 1) % rt.size(), before = (rt.rank() + rt.size() - 1) % rt.size();
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(before, in, received, {.tag = bytes}); }));
    posted += test::post(dev, [&] { return dev.post_send(next, out, sent, {.tag = bytes}); }).is_posted();
    ++expected;
    ASSERT_TRUE(test::eventually(dev, [&] { return received.value() == expected && sent.value() == posted; }));
    EXPECT_EQ(in, out);
  }
}

TEST(runtime_options, of_two_runtimes_at_once_leave_each_its_own) {
  test::local_job{2}.run([](runtime& usual) {
    const std::uint32_t usual_bytes = usual.attributes().packet_bytes;
    test::local_job{2, small_options()}.run([](runtime& small) {
      expect_small(small);
      EXPECT_EQ(small.default_device().policy(), progress_policy::random);
      EXPECT_EQ(device{small}.policy(), progress_policy::random);
      EXPECT_EQ(completion_queue{small}.capacity(), 7U);
      exchange(small);
      small.barrier();
    });
    EXPECT_EQ(usual.attributes().packet_bytes, usual_bytes);
    exchange(usual);
    usual.barrier();
  });
}

TEST(runtime_options, may_differ_between_ranks_where_they_are_a_ranks_own) {
  const auto own = [](std::uint32_t rank) {
    runtime_options out{.default_device = {.shared = rank == 0}, .operations_max = 4 + rank, .receives_max = 2 + rank};
    out.matching_buckets = 16U << rank;
    out.shm_cma = rank != 0;
    return out;
  };
  test::local_job{3, own}.run([](runtime& rt) {
    EXPECT_EQ(rt.attributes().operations_max, 4 + rt.rank());
    EXPECT_EQ(rt.attributes().matching_buckets, 16U << rt.rank());
    EXPECT_EQ(rt.default_device().is_shared(), rt.rank() == 0);
    // With direct copies or without, if a message to another rank does not go over a fabric.
    const std::string text = rt.explain((rt.rank() + 1) % 3, 100'000);
    if (text.find("transport shm") != text.npos) {
      EXPECT_EQ(text.find("no direct copies") != text.npos, rt.rank() == 0) << text;
    }
    exchange(rt);
    rt.barrier();
  });
}

TEST(runtime_options, print_the_counters_of_one_runtime) {
  test::local_job{1}.run([](runtime& silent) {
    testing::internal::CaptureStderr();
    { const device unprinted{silent}; }
    test::local_job{1, {.print_counters = true}}.run([](runtime& rt) { exchange(rt); });
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_THAT(text, HasSubstr("device 0"));
    EXPECT_EQ(text.find("device 1"), text.npos) << text;
  });
}

TEST(runtime_options, choose_transports) {
  test::local_job{2, {.transport = "sim:self,sim:shm", .sim_seed = 77, .sim_delay_percent = 60}}.run([](runtime& rt) {
    EXPECT_THAT(rt.explain(1 - rt.rank(), 8), HasSubstr("transport sim:shm (WEFT_TRANSPORT=sim:self,sim:shm)"));
    for (int i = 0; i < 4; ++i) exchange(rt);
    EXPECT_GT(rt.counters().faults_delayed, 0U);
    rt.barrier();
  });
}

TEST(runtime_options, of_a_transport_that_is_not_there_are_named_as_a_member) {
  try {
    test::local_job{1, {.transport = "carrier-pigeon"}}.run([](runtime&) { ADD_FAILURE(); });
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), errc::configuration);
    EXPECT_THAT(thrown.what(), HasSubstr("runtime_options::transport='carrier-pigeon' names 'carrier-pigeon'"));
  }
  try {
    test::local_job{2, {.transport = "sim:shm", .sim_fail = "sometimes"}}.run([](runtime&) { ADD_FAILURE(); });
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), errc::configuration);
    EXPECT_THAT(thrown.what(), HasSubstr("runtime_options::sim_fail='sometimes' chooses no operation"));
  }
}

// All that a thread may do with its runtime, from the calls that use the default device below the surface.
TEST(runtime_of_one_thread, makes_and_ends_all_objects) {
  test::local_job{2, {.default_device = {.shared = false}}}.run([](runtime& rt) {
    EXPECT_FALSE(rt.default_device().is_shared());
    for (int round = 0; round < 3; ++round) {
      device second{rt, {.shared = false}};
      device third{rt};
      exchange(rt);
      counter sent{rt}, inbox{rt};
      matching_engine own{rt, {.ordered = true}};
      const registration mail = rt.register_completion(inbox, {.id = static_cast<std::uint32_t>(round)});
      rt.barrier();
      const std::array<std::byte, 300> bytes{};
      std::uint64_t posted = 0;
      for (device* dev : {&second, &third, &rt.default_device()}) {
        for (int i = 0; i < 10; ++i) {
          const remote_completion to{static_cast<std::uint32_t>(round)};
          for (const std::uint32_t peer : {rt.rank(), 1 - rt.rank()}) {
            posted += test::post(second, [&] {
                        second.progress(), third.progress(), rt.default_device().progress();
                        return dev->post_am(peer, to, bytes, sent);
                      }).is_posted();
          }
        }
      }
      EXPECT_TRUE(test::eventually(second, [&] {
        third.progress();
        rt.default_device().progress();
        return inbox.value() == 60 && sent.value() == posted;
      }));
      second.flush();
      rt.barrier();
    }
  });
}

TEST(runtime_of_one_thread, sleeps_at_either_device) {
  test::local_job{2, {.default_device = {.shared = false}}}.run([](runtime& rt) {
    device& standard = rt.default_device();
    device own{rt, {.shared = false}};
    counter sent{rt}, received{rt};
    std::uint64_t word = 0, expected = 0;
    for (std::uint64_t round = 0; round < 6; ++round) {
      if (round % 2 == rt.rank()) {
        rt.barrier();
        const std::span<const std::byte> bytes = std::as_bytes(std::span{&round, 1});
        const auto send = [&] { return standard.post_send(1 - rt.rank(), bytes, sent, {.tag = round}); };
        EXPECT_TRUE(test::post(standard, send).is_done());
      } else {
        device& through = round < 2 ? standard : own;
        const auto receive = [&] {
          return through.post_recv(1 - rt.rank(), {&word, sizeof word}, received, {.tag = round});
        };
        static_cast<void>(test::post(through, receive));
        rt.barrier();
        EXPECT_TRUE(through.wait(received, ++expected, {.mode = wait_mode::park}));
        EXPECT_EQ(word, round);
      }
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft

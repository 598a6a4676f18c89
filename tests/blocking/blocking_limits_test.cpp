// SPDX-License-Identifier: BSD-3-Clause
// Limits, lists and probes of blocking operations, in fibers and in threads.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/blocking_device.hpp"
#include "weft/fiber.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;

const wait_limits short_time{.timeout = 1ms};
const wait_limits long_time{.timeout = test::patience};

// Runs functions in fibers, or in threads.
class blocking_limits : public ::testing::TestWithParam<bool> {
 protected:
  void run(runtime& rt, const std::vector<std::function<void()>>& all) const {
    if (GetParam()) {
      const std::array<device*, 1> served{&rt.default_device()};
      fiber_scheduler fibers{{.devices = served}};
      std::vector<fiber> spawned;
      for (const auto& each : all) spawned.push_back(fibers.spawn([&each] { each(); }));
      for (fiber& each : spawned) each.join();
    } else {
      std::vector<std::jthread> threads;
      for (const auto& each : all) threads.emplace_back([&each] { each(); });
    }
  }
};

TEST_P(blocking_limits, end_a_receive_that_nothing_matches) {
  test::local_job{1}.run([&](runtime& rt) {
    blocking_device waits{rt.default_device()};
    std::stop_source stop;
    run(rt,
        {[&] {
           std::uint64_t word = 0;
           EXPECT_FALSE(waits.recv_within(short_time, 0, {&word, sizeof word}).has_value());
           EXPECT_FALSE(waits.recv_within({.timeout = 0ns}, 0, {&word, sizeof word}).has_value());
           EXPECT_FALSE(waits.probe_within(short_time, 0).has_value());
           EXPECT_FALSE(waits.peek_within(short_time, 0).has_value());
           EXPECT_TRUE(stop.request_stop());
         },
         [&] {
           std::uint64_t word = 0;
           EXPECT_FALSE(waits.recv_within({.stop = stop.get_token()}, 0, {&word, sizeof word}, {.tag = 1}).has_value());
           EXPECT_FALSE(waits.probe_within({.stop = stop.get_token()}, 0, {.tag = 1}).has_value());
         }});
    // The receives that were given up take no message.
    run(rt, {[&] {
          std::uint64_t sent = 7, got = 0;
          waits.send(0, {&sent, sizeof sent});
          const std::optional<completion_record> record = waits.recv_within(long_time, 0, {&got, sizeof got});
          ASSERT_TRUE(record.has_value());
          EXPECT_EQ(record->bytes(), sizeof got);
          EXPECT_EQ(got, 7U);
        }});
  });
}

// Whether the limit or the message is first, each message is received once.
TEST_P(blocking_limits, lose_no_message) {
  constexpr std::uint64_t rounds = test::under_sanitizer ? 100 : 1000;
  test::local_job{2}.run([&](runtime& rt) {
    blocking_device waits{rt.default_device()};
    rt.barrier();
    const auto send = [&] {
      for (std::uint64_t i = 0; i < rounds; ++i) waits.send(1, {&i, sizeof i});
    };
    const auto receive = [&] {
      std::vector<bool> received(rounds);  // the default engine keeps no order
      for (std::uint64_t i = 0; i < rounds;) {
        std::uint64_t got = 0;
        const wait_limits soon{.timeout = std::chrono::microseconds{i % 20}};
        if (!waits.recv_within(soon, 0, {&got, sizeof got}).has_value()) continue;
        ASSERT_LT(got, rounds);
        EXPECT_FALSE(received[got]);
        received[got] = true;
        ++i;
      }
    };
    run(rt, {rt.rank() == 0 ? std::function<void()>{send} : std::function<void()>{receive}});
    rt.barrier();
  });
}

TEST_P(blocking_limits, end_a_receive_for_which_the_sender_has_to_agree) {
  test::local_job{2}.run([&](runtime& rt) {
    blocking_device waits{rt.default_device()};
    const matching_engine engine{rt, {.id = 3, .receiver_first = true}};
    rt.barrier();
    if (rt.rank() == 1) {
      run(rt, {[&] {
            std::uint64_t got = 0;
            EXPECT_FALSE(waits.recv_within(short_time, 0, {&got, sizeof got}, {.engine = 3}).has_value());
          }});
    }
    rt.barrier();
  });
}

TEST_P(blocking_limits, end_a_wait_of_a_device_at_a_request_to_stop) {
  test::local_job{1}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    const counter never{rt};
    std::stop_source stop;
    test::flag waits;
    run(rt, {[&] {
               waits.raise();
               EXPECT_FALSE(dev.wait(never, 1, {.stop = stop.get_token()}));
               EXPECT_FALSE(dev.wait(never, 1, {.mode = wait_mode::spin, .stop = stop.get_token()}));
             },
             [&] {
               EXPECT_TRUE(test::eventually([&] {
                 this_fiber::yield();
                 return waits.is_raised();
               }));
               EXPECT_TRUE(stop.request_stop());
             }});
  });
}

TEST_P(blocking_limits, leave_lists_and_probes_to_do_what_those_of_a_device_do) {
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device waits{dev};
    std::array<std::uint32_t, 4> memory{};
    const memory_region mine{rt, std::as_writable_bytes(std::span{memory})};
    counter arrived{rt};
    const remote_completion to{4};
    const registration registered = rt.register_completion(arrived, {.id = to.id});
    const remote_buffer handle = mine.at(0);
    rt.barrier();
    run(rt, {[&] {
          const std::uint32_t peer = 1 - rt.rank();
          const std::array<std::uint32_t, 4> words{1, 2, 3, 4};
          const std::array<const_buffer_ref, 2> out{const_buffer_ref{&words[0], 8}, const_buffer_ref{&words[2], 8}};
          std::array<std::uint32_t, 4> got{};
          const std::array<buffer_ref, 2> in{buffer_ref{&got[2], 8}, buffer_ref{&got[0], 8}};
          if (rt.rank() == 0) {
            waits.send(peer, out, {.tag = 1});
            waits.send(peer, out, {.tag = 2});
            waits.send(peer, {&handle, sizeof handle}, {.tag = 3});
            waits.am(peer, to, out);
            EXPECT_TRUE(dev.wait(arrived, 1, {.timeout = test::patience}));
            EXPECT_EQ(memory, words);
          } else {
            EXPECT_EQ(waits.recv(peer, in, {.tag = 1}).message_bytes(), 16U);
            EXPECT_EQ(got, (std::array<std::uint32_t, 4>{3, 4, 1, 2}));
            const message_envelope seen = waits.peek(peer, {.tag = 2});
            EXPECT_EQ(seen.source, peer);
            EXPECT_EQ(seen.tag, 2U);
            EXPECT_EQ(seen.bytes, 16U);
            matched_message found = waits.probe(peer, {.tag = 2});
            EXPECT_EQ(found.bytes(), 16U);
            EXPECT_EQ(waits.recv(found, {got.data(), sizeof got}).bytes(), 16U);
            EXPECT_EQ(got, words);
            EXPECT_THROW(static_cast<void>(waits.recv(found, {got.data(), sizeof got})), error);
            EXPECT_EQ(waits.peek_within(long_time, peer, {.tag = 3})->bytes, sizeof handle);
            std::optional<matched_message> third = waits.probe_within(long_time, peer, {.tag = 3});
            ASSERT_TRUE(third.has_value());
            remote_buffer theirs;
            static_cast<void>(waits.recv(*third, {&theirs, sizeof theirs}));
            waits.put(peer, out, theirs);
            dev.flush(peer);  // the message that follows may overtake the bytes otherwise
            waits.am(peer, to, out);
          }
        }});
    rt.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(of, blocking_limits, ::testing::Values(false, true),
                         [](const auto& is_fiber) { return is_fiber.param ? "fibers" : "threads"; });

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// Coroutines whose operations any of several threads completes, cancels and resumes.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/random_seed.hpp"
#include "support/waiting.hpp"
#include "weft/await.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint32_t talkers = 24;
const wait_options long_enough{.timeout = std::chrono::minutes{4}};

// The shared state of the coroutines of one rank.
struct rank {
  runtime* rt;
  run_loop* loop;
  event* begin;
  std::uint64_t seed;
  std::uint32_t rounds;
  test::tally<> wrong = {};
  test::tally<> received = {};
  test::tally<> cancelled = {};
};

std::vector<std::uint64_t> message_of(std::uint64_t seed, std::uint32_t talker, std::uint32_t round) {
  std::minstd_rand random{static_cast<std::uint32_t>(seed * 7919 + talker * 1000 + round + 1)};
  const std::size_t words = random() % 8 == 0 ? 3000 : 1 + random() % 60;
  return std::vector<std::uint64_t>(words, talker * 1'000'000 + round);
}

// Both ranks know the messages of the other one's talker of each number.
task<> talk(rank& at, std::uint32_t talker) {
  co_await *at.begin;
  const std::uint32_t peer = 1 - at.rt->rank();
  std::vector<std::uint64_t> in(4000);
  for (std::uint32_t round = 0; round < at.rounds; ++round) {
    const std::uint64_t tag = std::uint64_t{talker} << 32 | round;
    const bool sends_first = (round + at.rt->rank()) % 2 == 0;
    if (sends_first) {
      const auto sent = co_await at.loop->post_send(peer, message_of(at.seed, talker, round), {.tag = tag});
      at.wrong.add(sent.error() != errc::none);
    }
    const auto got = co_await at.loop->post_recv(peer, in, {.tag = tag});
    const std::vector<std::uint64_t> expected = message_of(at.seed, talker, round);
    at.wrong.add(got.bytes() != expected.size() * sizeof(std::uint64_t) || in[expected.size() - 1] != expected.back());
    at.received.add();
    if (!sends_first) {
      const auto sent = co_await at.loop->post_send(peer, message_of(at.seed, talker, round), {.tag = tag});
      at.wrong.add(sent.error() != errc::none);
    }
  }
}

// Receives from itself messages that different threads send and take back concurrently.
task<> change_its_mind(rank& at, std::uint32_t number) {
  const std::uint32_t me = at.rt->rank();
  for (std::uint32_t round = 0; round < at.rounds; ++round) {
    const std::uint64_t tag = std::uint64_t{1} << 60 | std::uint64_t{number} << 32 | round;
    std::stop_source stop;
    std::uint64_t in = 0;
    std::thread stopper;
    if (round % 8 == 0) {
      stopper = std::thread{[&stop] { stop.request_stop(); }};
    } else if (round % 8 == 1) {
      stop.request_stop();
    } else {
      const auto sent = co_await at.loop->post_send(me, std::array{tag}, {.tag = tag});
      at.wrong.add(sent.error() != errc::none);
    }
    const auto got = co_await at.loop->post_recv(me, std::span{&in, 1}, {.tag = tag}, stop.get_token());
    if (stopper.joinable()) stopper.join();
    const errc expected = round % 8 < 2 ? errc::cancelled : errc::none;
    at.wrong.add(got.error() != expected || (expected == errc::none && in != tag));
    at.cancelled.add(got.error() == errc::cancelled);
  }
}

void run_rank(runtime& rt, std::uint64_t seed, std::uint32_t rounds) {
  device& dev = rt.default_device();
  run_loop loop{dev};
  event begin{loop};
  rank at{.rt = &rt, .loop = &loop, .begin = &begin, .seed = seed, .rounds = rounds};
  for (std::uint32_t i = 0; i < talkers; ++i) loop.spawn(talk(at, i));
  for (std::uint32_t i = 0; i < 2; ++i) loop.spawn(change_its_mind(at, i));
  test::flag stop;
  std::vector<std::thread> threads;
  threads.emplace_back([&] {  // makes progress alone
    while (!stop.is_raised()) {
      if (!dev.progress()) std::this_thread::yield();
    }
  });
  threads.emplace_back([&] {  // runs coroutines as well
    while (!stop.is_raised()) {
      if (!loop.poll()) std::this_thread::yield();
    }
  });
  threads.emplace_back([&] { begin.set(); });
  EXPECT_TRUE(loop.run(long_enough));
  stop.raise();
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(at.wrong.value(), 0u);
  EXPECT_EQ(at.received.value(), std::uint64_t{talkers} * rounds);
  EXPECT_GE(at.cancelled.value(), std::uint64_t{rounds} / 8 * 2);
  rt.barrier();
}

TEST(await_stress, coroutines_of_two_ranks_talk_while_several_threads_make_progress) {
  const std::uint64_t seed = test::random_seed();
  const std::uint32_t rounds = test::messages_wake_sleepers() ? 100 : 10;
  test::local_job{2}.run([&](runtime& rt) { run_rank(rt, seed, rounds); });
}

}  // namespace
}  // namespace weft

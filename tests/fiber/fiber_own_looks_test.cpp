// SPDX-License-Identifier: BSD-3-Clause
// A worker that was given no devices looks itself for the message that its last fiber waits for, before it sleeps.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft::own_looks {
namespace {

constexpr std::uint64_t rounds = 20;

// Joins a fiber; where no thread has made progress for it, this one does.
void expect_end(device& dev, fiber& waits) {
  const bool has_ended = waits.join({.timeout = std::chrono::minutes{3}});
  EXPECT_TRUE(has_ended) << "the worker does not look";
  while (!has_ended && !waits.join({.timeout = {}})) dev.progress();
}

// Each message has a tag of its own: messages of one tag may overtake each other.
void exchange(runtime& rt, blocking_device& io, std::uint64_t number) {
  const std::uint64_t tag = number * rounds;
  const std::uint32_t peer = (rt.rank() + 1) % rt.size();
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::uint64_t word = round;
    io.send(peer, {&word, sizeof word}, {.tag = tag + round});
    word = ~round;
    static_cast<void>(io.recv(peer, {&word, sizeof word}, {.tag = tag + round}));
    EXPECT_EQ(word, round);
  }
}

// No other thread makes progress on the device.
TEST(fiber_own_looks, a_worker_receives_the_messages_of_its_fibers) {
  test::local_job{2}.run([](runtime& rt) {
    device dev{rt};
    rt.barrier();
    blocking_device io{dev};
    fiber_scheduler fibers{{.workers = 1}};
    fiber first = fibers.spawn([&] { exchange(rt, io, 1); });
    expect_end(dev, first);
    rt.barrier();
  });
}

TEST(fiber_own_looks, the_worker_of_a_device_wait_looks_as_well) {
  test::local_job{1}.run([](runtime& rt) {
    device dev{rt};
    completion_queue sent{rt};
    counter arrived{rt};
    const auto arrivals = rt.register_completion(arrived, {.id = 1});
    fiber_scheduler fibers{{.workers = 1}};
    fiber waits = fibers.spawn([&] { EXPECT_TRUE(dev.wait(arrived, 1)); });
    const status answer = test::post(rt.default_device(), [&] {
      return rt.default_device().post_am(0, {1}, const_buffer_ref{}, sent, {.device = dev.index()});
    });
    EXPECT_TRUE(answer.is_done());
    expect_end(dev, waits);
  });
}

// The worker must not look at a device whose fiber has gone on, and has ended it.
TEST(fiber_own_looks, a_device_may_end_after_its_fibers_wait) {
  test::local_job{1}.run([](runtime& rt) {
    fiber_scheduler fibers{{.workers = 2}};
    for (std::uint64_t round = 0; round < 50; ++round) {
      fiber one = fibers.spawn([&] {
        {
          device dev{rt};
          blocking_device io{dev};
          std::uint64_t word = round;
          io.send(0, {&word, sizeof word}, {.tag = round, .device = dev.index()});
          static_cast<void>(io.recv(0, {&word, sizeof word}, {.tag = round}));
        }
        if (round % 3 == 0) this_fiber::move_to(1);
        if (round % 3 == 1) this_fiber::sleep_for(std::chrono::microseconds{100});
      });
      one.join();
    }
  });
}

// A thread serves the device, and shares the processors with the worker.
TEST(fiber_own_looks, a_progress_thread_and_a_worker_serve_many_fibers) {
  test::local_job{2}.run([](runtime& rt) {
    for (const std::uint64_t count : {1, 3, 50}) {
      device dev{rt};
      rt.barrier();
      {
        progress_thread server{dev};
        blocking_device io{dev};
        fiber_scheduler fibers{{.workers = 1}};
        std::vector<fiber> all;
        for (std::uint64_t tag = 0; tag < count; ++tag)
          all.push_back(fibers.spawn([&, tag] { exchange(rt, io, tag); }));
        for (fiber& each : all) each.join();
      }
      rt.barrier();
    }
  });
}

}  // namespace
}  // namespace weft::own_looks

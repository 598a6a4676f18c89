// SPDX-License-Identifier: BSD-3-Clause
// Fibers that idle workers steal, and that send, receive and wait there: signals find a fiber at another worker than
// the one that has its stack.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint64_t message_rounds = test::under_sanitizer ? 5 : 50;

// One round trip after the other with the fiber of the other rank that has the same tag.
void talk(blocking_device& io, std::uint32_t rank, std::uint64_t tag) {
  for (std::uint64_t round = 0; round < message_rounds; ++round) {
    std::uint64_t word = tag << 32 | round;
    std::uint64_t heard = 0;
    if (rank == 0) io.send(1, {&word, sizeof word}, {.tag = tag});
    const completion_record got = io.recv(1 - rank, {&heard, sizeof heard}, {.tag = tag});
    if (rank == 1) io.send(0, {&word, sizeof word}, {.tag = tag});
    EXPECT_EQ(heard, word);
    EXPECT_EQ(got.tag(), tag);
  }
}

TEST(fiber_stolen_messages, reach_fibers_that_another_worker_has_begun) {
  constexpr std::uint64_t waves = 4;
  constexpr std::uint64_t of_a_wave = 40;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device io{dev};
    std::array<device*, 1> served{&dev};
    {
      fiber_scheduler fibers{{.workers = 2, .devices = served, .steal = true}};
      test::tally<std::uint64_t> begun;
      test::tally<std::uint64_t> stolen;
      for (std::uint64_t wave = 0; wave < waves; ++wave) {
        // While this runs, its worker begins nothing else: the other worker steals the fibers that were spawned for it.
        const auto spawn_a_wave = [&, wave] {
          const auto me = std::this_thread::get_id();
          std::vector<fiber> all;
          for (std::uint64_t i = 0; i < of_a_wave; ++i) {
            all.push_back(fibers.spawn([&, me, tag = wave * of_a_wave + i] {
              const auto where = std::this_thread::get_id();
              if (where != me) stolen.add();
              begun.add();
              talk(io, rt.rank(), tag);
              EXPECT_EQ(std::this_thread::get_id(), where) << "a fiber stays with the worker that began it";
            }));
          }
          EXPECT_TRUE(test::eventually([&] { return begun.value() == (wave + 1) * of_a_wave; }));
          for (fiber& each : all) each.join();
        };
        fibers.spawn(spawn_a_wave, {.worker = static_cast<std::uint32_t>(wave % 2)}).join();
      }
      EXPECT_EQ(stolen.value(), waves * of_a_wave);
      EXPECT_EQ(fibers.alive(), 0U);
    }
    rt.barrier();
  });
}

// Both workers begin, steal and wait at once, and fibers that wait have others join them.
TEST(fiber_stolen_messages, reach_all_of_many_fibers_that_spawn_others_between_two_messages) {
  constexpr std::uint64_t parents = test::under_sanitizer ? 20 : 100;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device io{dev};
    std::array<device*, 1> served{&dev};
    test::tally<std::uint64_t> ended;
    {
      fiber_scheduler fibers{{.workers = 3, .devices = served, .steal = true}};
      std::vector<fiber> all;
      for (std::uint64_t tag = 0; tag < parents; ++tag) {
        all.push_back(fibers.spawn([&, tag] {
          talk(io, rt.rank(), tag);
          fiber child = fibers.spawn([&, tag] {
            talk(io, rt.rank(), parents + tag);
            ended.add();
          });
          talk(io, rt.rank(), 2 * parents + tag);
          child.join();
        }));
      }
      for (fiber& each : all) each.join();
    }
    EXPECT_EQ(ended.value(), parents);
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft

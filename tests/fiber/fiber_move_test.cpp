// SPDX-License-Identifier: BSD-3-Clause
// Fibers that go on, or begin, at another worker than the one that has their stack.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_local.hpp"
#include "weft/fiber_sync.hpp"

namespace weft {
namespace {

TEST(fiber_move, goes_on_in_the_thread_of_the_other_worker_with_all_that_is_its_own) {
  fiber_scheduler fibers{{.workers = 3}};
  std::array<std::thread::id, 3> threads;
  for (std::uint32_t i = 0; i < 3; ++i) {
    fibers.spawn([&, i] { threads[i] = std::this_thread::get_id(); }, {.worker = i}).join();
  }
  fiber_local<int> mine;
  const auto travel = [&] {
    const fiber_ref before = this_fiber::self();
    *mine = 7;
    try {
      throw std::runtime_error{"kept"};
    } catch (const std::runtime_error& caught) {
      for (const std::uint32_t to : {1U, 1U, 2U, 0U, 2U, 1U, 0U}) {
        this_fiber::move_to(to);
        EXPECT_EQ(std::this_thread::get_id(), threads[to]);
        this_fiber::yield();
        EXPECT_EQ(std::this_thread::get_id(), threads[to]);
        EXPECT_EQ(std::string{caught.what()}, "kept");
        EXPECT_EQ(std::string{dynamic_cast<const std::runtime_error&>(caught).what()}, "kept");
      }
    }
    EXPECT_EQ(*mine, 7);
    EXPECT_TRUE(this_fiber::self() == before);
    EXPECT_THROW(this_fiber::move_to(3), error);
  };
  std::vector<fiber> all;
  for (int i = 0; i < 100; ++i) all.push_back(fibers.spawn(travel));
  for (fiber& each : all) each.join();
  EXPECT_THROW(this_fiber::move_to(0), error);
}

TEST(fiber_move, is_refused_where_the_other_worker_has_no_slot_left) {
  fiber_scheduler fibers{{.workers = 2, .fibers_per_worker = 2}};
  fiber_event over;
  std::vector<fiber> all;
  for (int i = 0; i < 2; ++i) all.push_back(fibers.spawn([&] { over.wait(); }, {.worker = 1}));
  fibers
      .spawn(
          [] {
            const auto me = std::this_thread::get_id();
            EXPECT_THROW(this_fiber::move_to(1), error);
            EXPECT_EQ(std::this_thread::get_id(), me);
          },
          {.worker = 0})
      .join();
  over.set();
}

// What a worker's own fibers have used once is for fibers of other workers as well, and the other way round.
TEST(fiber_move, uses_slots_that_are_free_whatever_had_them_before) {
  constexpr std::uint32_t most = 64;
  fiber_scheduler fibers{{.workers = 2, .fibers_per_worker = most}};
  const auto fill = [&](std::uint32_t own, std::uint32_t guests) {
    fiber_event over;
    test::tally<std::uint32_t> waiting;
    std::vector<fiber> all;
    for (std::uint32_t i = 0; i < own; ++i) {
      all.push_back(fibers.spawn(
          [&] {
            waiting.add();
            over.wait();
          },
          {.worker = 1}));
    }
    for (std::uint32_t i = 0; i < guests; ++i) {
      all.push_back(fibers.spawn(
          [&] {
            EXPECT_NO_THROW(this_fiber::move_to(1));
            waiting.add();
            over.wait();
            this_fiber::yield();
          },
          {.worker = 0}));
    }
    EXPECT_TRUE(test::eventually([&] { return waiting.value() == own + guests; }));
    const bool is_full = own + guests == most;
    fibers
        .spawn(
            [&] {
              if (is_full) {
                EXPECT_THROW(this_fiber::move_to(1), error);
              } else {
                EXPECT_NO_THROW(this_fiber::move_to(1));
              }
            },
            {.worker = 0})
        .detach();
    EXPECT_TRUE(test::eventually([&] { return fibers.alive() == own + guests; }));
    if (is_full) {
      EXPECT_THROW(static_cast<void>(fibers.spawn([] {}, {.worker = 1})), error);
    } else {
      fibers.spawn([] {}, {.worker = 1}).join();
    }
    over.set();
    for (fiber& each : all) each.join();
  };
  for (int round = 0; round < 3; ++round) {
    fill(most, 0);
    fill(0, most - 1);
    fill(10, most - 10);
    fill(most - 10, 10);
    fill(most, 0);
  }
}

// Signals go to where it was, is, or will be, and none is lost: it would wait for ever.
TEST(fiber_move, loses_no_signal) {
  constexpr std::uint64_t rounds = test::under_sanitizer ? 300 : 5000;
  constexpr std::uint32_t travellers = 8;
  fiber_scheduler fibers{{.workers = 3}};
  struct alignas(64) one {
    test::published<std::uint64_t> told;
    test::published<std::uint64_t> heard;
    fiber_ref ref;
  };
  std::array<one, travellers> all;
  std::vector<fiber> moving;
  for (std::uint32_t i = 0; i < travellers; ++i) {
    moving.push_back(fibers.spawn([&, i] {
      one& me = all[i];
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        if (round % 3 != 0) this_fiber::move_to(static_cast<std::uint32_t>((round + i) % 3));
        while (me.told.value() < round) this_fiber::wait();
        me.heard.publish(round);
      }
    }));
    all[i].ref = moving.back().ref();
  }
  const auto tell = [&](std::uint32_t from, auto pause) {
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      for (std::uint32_t i = from; i < travellers; i += 2) {
        while (all[i].heard.value() + 1 < round) pause();
        all[i].told.publish(round);
        all[i].ref.signal();
      }
    }
  };
  fiber by_fiber = fibers.spawn([&] { tell(0, [] { this_fiber::yield(); }); });
  tell(1, [] { std::this_thread::yield(); });
  by_fiber.join();
  for (fiber& each : moving) each.join();
}

TEST(fiber_steal, who_has_nothing_begins_what_another_has_no_time_for) {
  fiber_scheduler fibers{{.workers = 2, .steal = true}};
  test::tally<int> begun;
  constexpr int many = 50;
  // While this runs, its worker begins nothing else.
  fibers
      .spawn([&] {
        const auto me = std::this_thread::get_id();
        std::vector<fiber> all;
        for (int i = 0; i < many; ++i) {
          all.push_back(fibers.spawn([&, me] {
            EXPECT_NE(std::this_thread::get_id(), me);
            this_fiber::yield();
            EXPECT_NE(std::this_thread::get_id(), me);
            begun.add();
          }));
        }
        EXPECT_TRUE(test::eventually([&] { return begun.value() == many; }));
        for (fiber& each : all) each.join();
      })
      .join();
  EXPECT_EQ(fibers.alive(), 0U);
}

// Whether a thread of this process sleeps in the system.
bool is_asleep(pid_t thread) {
  std::ifstream file{"/proc/self/task/" + std::to_string(thread) + "/stat"};
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end, 3, ") S") == 0;
}

// A sleeping worker is woken for each of them: otherwise one would wait until another worker wakes up by itself, which
// takes so long that all rounds take longer than the bound.
TEST(fiber_steal, many_that_are_spawned_one_after_the_other_wake_as_many_workers) {
  constexpr int rounds = test::under_sanitizer ? 100 : 1000;
  fiber_scheduler fibers{{.workers = 4, .steal = true}};
  std::array<pid_t, 4> threads{};
  for (std::uint32_t i = 0; i < 4; ++i) fibers.spawn([&, i] { threads[i] = ::gettid(); }, {.worker = i}).join();
  const auto until = std::chrono::steady_clock::now() + test::patience;
  for (int round = 0; round < rounds && std::chrono::steady_clock::now() < until; ++round) {
    test::tally<int> begun;
    const auto wait_for_all = [&] { EXPECT_TRUE(test::eventually([&] { return begun.value() == 3; })); };
    // Its worker spawns all, and begins none of them.
    fibers
        .spawn(
            [&] {
              EXPECT_TRUE(test::eventually(
                  [&] { return is_asleep(threads[1]) && is_asleep(threads[2]) && is_asleep(threads[3]); }));
              std::vector<fiber> all;
              for (int i = 0; i < 3; ++i) {
                all.push_back(fibers.spawn([&] {
                  begun.add();
                  wait_for_all();
                }));
              }
              wait_for_all();
              for (fiber& each : all) each.join();
            },
            {.worker = 0})
        .join();
  }
  EXPECT_LT(std::chrono::steady_clock::now(), until);
}

// A worker without room is passed over, and has room again when a fiber of another one moves away.
TEST(fiber_steal, goes_to_a_worker_that_has_room) {
  fiber_scheduler fibers{{.workers = 3, .fibers_per_worker = 4, .steal = true}};
  fiber_event over;
  std::vector<fiber> all;
  for (int i = 0; i < 4; ++i) all.push_back(fibers.spawn([&] { over.wait(); }, {.worker = 1}));
  for (int round = 0; round < 200; ++round) {
    test::flag has_begun;
    fibers
        .spawn(
            [&] {
              const fiber next = fibers.spawn([&] { has_begun.raise(); });
              EXPECT_TRUE(test::eventually([&] { return has_begun.is_raised(); }));
            },
            {.worker = 0})
        .join();
  }
  over.set();
}

TEST(fiber_steal, leaves_those_that_were_given_to_a_worker) {
  fiber_scheduler fibers{{.workers = 2, .steal = true}};
  std::thread::id first;
  fibers.spawn([&] { first = std::this_thread::get_id(); }, {.worker = 0}).join();
  std::vector<fiber> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(fibers.spawn([&] { EXPECT_EQ(std::this_thread::get_id(), first); }, {.worker = 0}));
  }
  for (fiber& each : all) each.join();
}

TEST(fiber_steal, works_with_few_slots_and_many_fibers_that_spawn_others) {
  constexpr int many = test::under_sanitizer ? 200 : 3000;
  fiber_scheduler fibers{{.workers = 3, .fibers_per_worker = 8, .steal = true}};
  test::tally<int> ran;
  int refused = 0;
  for (int i = 0; i < many;) {
    try {
      fibers
          .spawn([&] {
            this_fiber::yield();
            ran.add();
          })
          .detach();
      ++i;
    } catch (const error&) {
      ++refused;
      std::this_thread::yield();
    }
  }
  EXPECT_TRUE(test::eventually([&] { return fibers.alive() == 0; }));
  EXPECT_EQ(ran.value(), many);
}

}  // namespace
}  // namespace weft

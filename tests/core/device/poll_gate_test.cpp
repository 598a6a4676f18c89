// SPDX-License-Identifier: BSD-3-Clause
// The gate of a device under pollers that leave it no moment: no thread that waits for it depends on seeing it free.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/device/poll_gate.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"

namespace weft::core {
namespace {

// Runs `call` in another thread, to its end.
template <class Call>
void elsewhere(const Call& call) {
  std::jthread{call}.join();
}

TEST(poll_gate, tells_that_a_poller_has_left_although_the_next_one_is_inside) {
  for (const bool shared : {false, true}) {
    poll_gate gate{shared};
    ASSERT_TRUE(gate.try_enter());
    elsewhere([&] {
      const std::uint64_t before = gate.passes();
      EXPECT_FALSE(gate.has_left_since(before));
    });
    const std::uint64_t before = gate.passes();
    EXPECT_TRUE(gate.has_left_since(before)) << "it is this thread itself";
    gate.leave();
    ASSERT_TRUE(gate.try_enter());
    elsewhere([&] { EXPECT_TRUE(gate.has_left_since(before)); });
    gate.leave();
    elsewhere([&] { EXPECT_TRUE(gate.has_left_since(gate.passes())); });
  }
}

TEST(poll_gate, is_handed_to_who_waits_for_a_turn) {
  poll_gate gate{true};
  ASSERT_TRUE(gate.try_enter());
  test::flag over;
  std::jthread waiting{[&] {
    const poll_gate::scoped_entry inside{gate};
    EXPECT_TRUE(gate.is_inside());
    over.raise();
  }};
  // This one enters again immediately after it has left. It finds the gate taken, or the other has been inside.
  EXPECT_TRUE(test::eventually([&] {
    gate.leave();
    return !gate.try_enter() || over.is_raised();
  }));
  waiting.join();
  EXPECT_TRUE(over.is_raised());
  const bool was_inside = gate.is_inside();
  if (was_inside) gate.leave();
  EXPECT_TRUE(gate.try_enter());
  gate.leave();
}

TEST(poll_gate, lets_several_in_one_after_the_other_beside_one_that_polls_all_the_time) {
  constexpr unsigned threads = 3, entries = 200;
  poll_gate gate{true};
  std::uint64_t nonatomic = 0;  // whose races a sanitizer sees
  test::tally<unsigned> going{threads};
  std::jthread poller{[&] {
    while (going.value() != 0) {
      if (!gate.try_enter()) continue;
      ++nonatomic;
      gate.leave();
    }
  }};
  {
    std::vector<std::jthread> waiting;
    for (unsigned i = 0; i < threads; ++i) {
      waiting.emplace_back([&] {
        for (unsigned n = 0; n < entries; ++n) {
          const poll_gate::scoped_entry inside{gate};
          ++nonatomic;
        }
        going.subtract();
      });
    }
  }
  poller.join();
  EXPECT_GE(nonatomic, threads * entries);
  EXPECT_TRUE(gate.try_enter());
}

// A thread that withdraws something sees the thread inside, or a thread that enters sees that it is gone: with each
// kind of fence.
TEST(poll_gate, hides_no_poller_from_who_withdraws_what_it_uses) {
  for (const bool by_kernel : {true, false}) {
    if (by_kernel && !kernel_fences_threads()) continue;
    for (const bool shared : {true, false}) {
      poll_gate gate{shared, by_kernel};
      std::atomic<bool> is_there{true};
      test::flag stop;
      std::uint64_t used = 0;  // by a thread inside that found it there, and by the one that has withdrawn it
      std::uint64_t found = 0;
      std::jthread poller{[&] {
        while (!stop.is_raised()) {
          if (!gate.try_enter()) continue;
          // [poll_gate_test.look] acquire <- [poll_gate_test.restore], and <-> [poll_gate_test.fence]: to enter is a
          // fence, too, so one of both sees the other's write.
          if (is_there.load(std::memory_order_acquire)) {
            ++used;
            ++found;
          }
          gate.leave();
        }
      }};
      constexpr std::uint64_t rounds = 2000;
      for (std::uint64_t i = 0; i < rounds; ++i) {
        // relaxed: the fence below orders it.
        is_there.store(false, std::memory_order_relaxed);
        if (by_kernel) {
          fence_all_threads();
        } else {
          // [poll_gate_test.fence] seq_cst <-> [poll_gate_test.look]: the poller finds nothing, or is seen inside.
          std::atomic_thread_fence(std::memory_order_seq_cst);
        }
        gate.wait_until_left();
        ++used;
        // [poll_gate_test.restore] release -> [poll_gate_test.look]: carries `used`.
        is_there.store(true, std::memory_order_release);
      }
      stop.raise();
      poller.join();
      EXPECT_EQ(used, rounds + found);
    }
  }
}

// The poller gives the gate to itself each time that it leaves, so that no look ever finds the gate free.
TEST(poll_gate, is_waited_for_by_passes) {
  basic_gate_word<> gate;
  const int poller_name = 0, waiting_name = 0;
  test::flag entered, stop;
  std::jthread poller{[&] {
    ASSERT_TRUE(gate.try_enter(&poller_name));
    entered.raise();
    while (!stop.is_raised()) {
      gate.ask(&poller_name);
      gate.leave();
    }
    gate.take_back();
    gate.leave();
  }};
  ASSERT_TRUE(test::eventually([&] { return entered.is_raised(); }));
  test::flag over;
  std::jthread waiting{[&] {
    for (int i = 0; i < 100; ++i) gate.wait_until_left(&waiting_name);
    over.raise();
  }};
  EXPECT_TRUE(test::eventually([&] { return over.is_raised(); }));
  EXPECT_FALSE(gate.is_free());
  stop.raise();
}

}  // namespace
}  // namespace weft::core

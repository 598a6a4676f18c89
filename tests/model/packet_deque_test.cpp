// SPDX-License-Identifier: BSD-3-Clause
// The deque of packets under the explorer: owner and thieves never lose a packet and never share one.
#include "core/memory/packet_deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <optional>
#include <span>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using deque = weft::core::basic_packet_deque<model_atomics>;

class model_packet_deque : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// Executions that fail leave their stacks as they are, so what allocates lives outside.
deque& fresh(std::uint32_t capacity) {
  static std::optional<deque> kept;
  return kept.emplace(capacity);
}

class owners {
 public:
  void take(std::uint32_t packet) {
    check(packet < owned_.size() && !owned_[packet], "a packet with two owners, or none that there is");
    owned_[packet] = true;
  }
  void give(std::uint32_t packet) { owned_[packet] = false; }
  unsigned count() const {
    unsigned sum = 0;
    for (const bool each : owned_) sum += each ? 1 : 0;
    return sum;
  }

 private:
  std::array<bool, 4> owned_{};
};

bool put(deque& to, owners& mine, std::uint32_t packet) {
  mine.give(packet);
  if (to.try_put({&packet, 1})) return true;
  mine.take(packet);
  return false;
}

std::size_t take(deque& from, owners& mine, std::size_t most) {
  std::array<std::uint32_t, 2> out;
  const std::size_t count = from.try_take(std::span{out}.first(most));
  for (std::size_t i = 0; i < count; ++i) mine.take(out[i]);
  return count;
}

// What is still inside, at the end.
void empty_out(deque& from, owners& all) {
  while (take(from, all, 1) != 0) {
  }
}

void owner_and_thief() {
  deque& packets = fresh(4);
  owners all;
  threads(
      [&] {
        for (std::uint32_t packet = 0; packet < 2; ++packet) {
          all.take(packet);
          while (!put(packets, all, packet)) await_change();
        }
        const std::array<std::uint32_t, 2> both{2, 3};
        while (!packets.try_put(both)) await_change();
        take(packets, all, 2);
        take(packets, all, 1);
      },
      [&] {
        std::array<std::uint32_t, 2> loot;
        for (int i = 0; i < 2; ++i) {
          const std::size_t count = packets.try_steal(loot);
          for (std::size_t j = 0; j < count; ++j) all.take(loot[j]);
        }
      });
  empty_out(packets, all);
  check(all.count() == 4, "a packet is lost");
}

void three_at_once() {
  deque& packets = fresh(4);
  owners all;
  for (std::uint32_t packet = 0; packet < 3; ++packet) check(put(packets, all, packet), "busy while alone");
  threads(
      [&] {
        std::uint32_t packet = 0;
        if (packets.try_take({&packet, 1}) == 0) return;
        all.take(packet);
        put(packets, all, packet);
      },
      [&] {
        std::array<std::uint32_t, 4> loot;
        const std::size_t count = packets.try_steal(loot);
        for (std::size_t i = 0; i < count; ++i) all.take(loot[i]);
      },
      [&] {
        all.take(3);
        put(packets, all, 3);
        std::uint32_t coldest = 0;
        if (packets.try_take_coldest(coldest)) all.take(coldest);
      });
  empty_out(packets, all);
  check(all.count() == 4, "a packet is lost");
}

const search brief{.executions_max = 4000, .random_executions_max = 2000, .deviations_max = 4};

TEST_F(model_packet_deque, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"owner and thief", owner_and_thief, brief},
                                      {"three at once", three_at_once, brief}};
  const planting_report report = plant_bugs(programs, {"/packet_deque.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace

// SPDX-License-Identifier: BSD-3-Clause
// The way back for packets under the explorer: each comes back once, read to the end, whichever thread returns it.
#include "net/shm/return_ring.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using ring = weft::net::shm::basic_return_ring<model_atomics>;

class model_return_ring : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// Three packets at most are lent, so four entries do.
struct lender {
  static constexpr std::uint32_t entries_count = 4;
  std::array<ring::entry, entries_count> entries;
  ring::position next_position{0};
  std::array<atomic<std::uint32_t>, 3> mailboxes;  // by packet: how often it was lent
  std::array<std::uint64_t, 3> packets{};
  std::array<std::uint32_t, 3> lent{};
  std::uint32_t taken = 0;

  void lend(std::uint32_t packet) {
    const std::uint64_t content = ++lent[packet];
    model_atomics::write_nonatomic(&packets[packet], &content, sizeof content);
    // [model_return_ring.lend] release -> [model_return_ring.receive]: carries the packet's content.
    mailboxes[packet].store(lent[packet], std::memory_order_release);
  }
  // By the peer: the packet as it was lent for the `time`-th time.
  void read_and_return(std::uint32_t packet, std::uint32_t time) {
    // [model_return_ring.receive] acquire <- [model_return_ring.lend]: the packet's content.
    while (mailboxes[packet].load(std::memory_order_acquire) != time) await_change();
    std::uint64_t content = 0;
    model_atomics::read_nonatomic(&content, &packets[packet], sizeof content);
    check(content == time, "another packet's bytes");
    ring::put(entries.data(), entries_count, next_position, packet);
  }
  std::uint32_t take() {
    std::uint32_t found = 0;
    while ((found = ring::take(entries.data(), entries_count, taken)) == 0) await_change();
    ++taken;
    check(found <= 3 && lent[found - 1] != 0, "a packet that was not lent");
    return found - 1;
  }
};

// One thread keeps its packet for long, while another's goes to and fro.
void one_keeps_its_packet() {
  lender owner;
  owner.lend(0);
  owner.lend(1);
  threads(
      [&] {
        unsigned rounds = 1;
        for (unsigned i = 0; i < 6; ++i) {
          if (owner.take() == 0) continue;
          if (rounds < 5) owner.lend(1);
          ++rounds;
        }
      },
      [&] {
        for (std::uint32_t time = 1; time <= 5; ++time) owner.read_and_return(1, time);
      },
      [&] { owner.read_and_return(0, 1); });
  check(owner.taken == 6 && ring::take(owner.entries.data(), 4, owner.taken) == 0, "a packet too many");
}

void all_at_once() {
  lender owner;
  for (std::uint32_t packet = 0; packet < 3; ++packet) owner.lend(packet);
  const auto twice = [&](std::uint32_t packet) {
    owner.read_and_return(packet, 1);
    owner.read_and_return(packet, 2);
  };
  threads(
      [&] {
        std::array<unsigned, 3> back{};
        for (unsigned i = 0; i < 6; ++i) {
          const std::uint32_t packet = owner.take();
          if (++back[packet] == 1) owner.lend(packet);
        }
        check(back[0] == 2 && back[1] == 2 && back[2] == 2, "a packet is lost");
      },
      [&] { twice(0); }, [&] { twice(1); }, [&] { twice(2); });
}

const search brief{.executions_max = 10000, .random_executions_max = 10000, .deviations_max = 4};

TEST_F(model_return_ring, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"one keeps its packet", one_keeps_its_packet, brief},
                                      {"all at once", all_at_once, brief}};
  const planting_report report = plant_bugs(programs, {"/return_ring.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace

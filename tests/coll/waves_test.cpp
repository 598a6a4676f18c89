// SPDX-License-Identifier: BSD-3-Clause
// The argument of terminations, simulated in one thread by a seed that is printed: messages take their time and
// overtake each other, members become active again, and read their counts in each wave one after the other, in any
// order.
#include "coll/termination/waves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/random_seed.hpp"

namespace weft::coll {
namespace {

struct member {
  std::uint64_t begun = 0;
  std::uint64_t done = 0;
  std::uint32_t active = 0;  // messages that it handles
  bool works_alone = true;   // at the beginning: it may send what no message has caused
  bool has_joined = false;   // the wave
};

class simulation {
 public:
  simulation(std::uint64_t seed, std::uint32_t members, std::uint32_t pieces)
      : random_{static_cast<std::uint32_t>(seed)}, members_(members), judge_{members}, pieces_{pieces} {
    begin_wave();
  }

  // False if the end came too early, or never.
  [[nodiscard]] bool run() {
    for (std::uint64_t steps = 0; steps < 1'000'000; ++steps) {
      member& one = members_[below(members_.size())];
      switch (below(5)) {
        case 0:
          if (one.works_alone || one.active != 0) send(one);
          break;
        case 1: deliver(); break;
        case 2:
          if (one.active != 0) --one.active, ++one.done;
          break;
        case 3:
          if (one.works_alone && below(4) == 0) one.works_alone = false;
          break;
        default:
          if (one.works_alone || one.has_joined) break;
          join(one);
          if (++joined_ < members_.size()) break;
          joined_ = 0;
          const verdict said = judge_.judge(sums_);
          if (said == verdict::ended) return is_over();
          if (said != verdict::go_on) return false;
          begin_wave();
      }
    }
    return false;
  }
  [[nodiscard]] std::uint64_t waves() const noexcept { return waves_; }

 private:
  [[nodiscard]] std::size_t below(std::size_t bound) { return random_() % bound; }
  [[nodiscard]] bool is_over() const {
    return messages_.empty() &&
           std::ranges::all_of(members_, [](const member& each) { return each.active == 0 && !each.works_alone; });
  }
  void send(member& from) {
    if (pieces_ == 0) return;
    --pieces_;
    ++from.begun;
    messages_.push_back(below(members_.size()));
  }
  void deliver() {
    if (messages_.empty()) return;
    std::swap(messages_[below(messages_.size())], messages_.back());
    ++members_[messages_.back()].active;
    messages_.pop_back();
  }
  void begin_wave() {
    sums_ = {};
    number_ = judge_.next_number();
    ++waves_;
    for (member& each : members_) each.has_joined = false;
  }
  void join(member& one) {
    one.has_joined = true;
    sums_.done += one.done;
    sums_.begun += one.begun;
    sums_.numbers += number_;
  }

  std::mt19937 random_;
  std::vector<member> members_;
  wave_judge judge_;
  std::uint32_t pieces_;               // that may still be begun
  std::vector<std::size_t> messages_;  // their targets
  wave sums_;
  std::uint64_t number_ = 0;
  std::size_t joined_ = 0;
  std::uint64_t waves_ = 0;
};

TEST(waves, end_when_nothing_is_left_and_not_before) {
  const std::uint64_t seed = test::random_seed();
  std::uint64_t waves = 0;
  for (std::uint32_t i = 0; i < 2000; ++i) {
    simulation one{seed + i, 2 + i % 5, i % 97};
    ASSERT_TRUE(one.run()) << "simulation " << i;
    waves += one.waves();
  }
  EXPECT_GT(waves, 4000U) << "hardly a wave met work";
}

TEST(waves, tell_a_count_that_is_wrong) {
  wave_judge judge{2};
  EXPECT_EQ(judge.next_number(), 1U);
  EXPECT_EQ(judge.judge({.done = 5, .begun = 4, .numbers = 2}), verdict::go_on) << "a sum is of no single moment";
  EXPECT_EQ(judge.next_number(), 2U);
  EXPECT_EQ(judge.judge({.done = 5, .begun = 4, .numbers = 4}), verdict::miscounted);
}

TEST(waves, tell_a_member_that_has_heard_of_a_failure) {
  wave_judge judge{3};
  EXPECT_EQ(judge.next_number(), 1U);
  EXPECT_EQ(judge.judge({.numbers = 2}), verdict::failed);
}

TEST(waves, need_one_for_an_end_without_work_and_one_for_the_same_end_again) {
  wave_judge judge{2};
  static_cast<void>(judge.next_number());
  EXPECT_EQ(judge.judge({.numbers = 2}), verdict::ended);
  static_cast<void>(judge.next_number());
  EXPECT_EQ(judge.judge({.done = 7, .begun = 7, .numbers = 4}), verdict::go_on);
  static_cast<void>(judge.next_number());
  EXPECT_EQ(judge.judge({.done = 7, .begun = 7, .numbers = 6}), verdict::ended);
  static_cast<void>(judge.next_number());
  EXPECT_EQ(judge.judge({.done = 7, .begun = 7, .numbers = 8}), verdict::ended);
}

}  // namespace
}  // namespace weft::coll

// SPDX-License-Identifier: BSD-3-Clause
// Which method long messages of a peer travel by: simulated machines, with simulated times.
#include "core/message/copy_choice.hpp"
#include "core/message/peer_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace weft::core {
namespace {

using enum copy_method;
using times = std::array<double, copy_methods>;  // ns for a KiB, by method

constexpr std::uint64_t packet = 8192, bytes = 64 << 10;
constexpr copy_method_set every_method = 0xf;
constexpr std::array all_methods{packets, one_side, both_short, both_long};

std::array<class_methods, peer_choice::classes> methods(copy_method_set allowed, copy_method first = both_long) {
  std::array<class_methods, peer_choice::classes> out;
  out.fill({allowed, first});
  return out;
}

// One peer whose messages arrive in windows: all of a window begin at once, and travel one after the other.
class machine {
 public:
  explicit machine(const times& takes, copy_method_set allowed = every_method, bool has_new_packets = false)
      : of{takes}, choice{methods(allowed, (allowed & set_of(both_long)) != 0 ? both_long : one_side)} {
    if (!has_new_packets) use_packets();
  }

  times of;
  peer_choice choice;
  std::uint64_t message_bytes = bytes;
  std::uint64_t pause = 1000;                           // between windows
  double noise = 0;                                     // of a message's time, to both sides
  bool ends_in_bursts = false;                          // all of a window end together
  std::function<double(copy_method)> delay;             // ns beside
  std::array<std::uint64_t, copy_methods> travelled{};  // messages by method
  double spent = 0;                                     // ns in which a message was under way
  std::vector<copy_method> history;

  void run(unsigned windows, unsigned window = 1) {
    const std::size_t index = peer_choice::class_of(message_bytes, packet);
    std::vector<timed_copy> begun(window);
    std::vector<double> takes(window);
    for (unsigned i = 0; i < windows; ++i) {
      now += static_cast<double>(pause);
      for (timed_copy& each : begun) {
        each = choice.begin(index, time());
        ++travelled[static_cast<std::size_t>(each.chosen.method)];
        history.push_back(each.chosen.method);
      }
      for (unsigned k = 0; k < window; ++k) takes[k] = time_of(begun[k].chosen.method);
      if (ends_in_bursts) {
        takes[0] = std::accumulate(takes.begin(), takes.end(), 0.0);
        std::fill(takes.begin() + 1, takes.end(), 0.01);
      }
      for (unsigned k = 0; k < window; ++k) {
        now += takes[k];
        spent += takes[k];
        choice.end(index, begun[k], message_bytes, time());
      }
    }
  }
  [[nodiscard]] class_choice known() {
    class_choice out;
    EXPECT_TRUE(choice.try_read(peer_choice::class_of(message_bytes, packet), out));
    return out;
  }
  [[nodiscard]] std::uint64_t all() const { return history.size(); }

 private:
  [[nodiscard]] std::uint64_t time() const { return static_cast<std::uint64_t>(now); }
  double time_of(copy_method method) {
    const double usual = of[static_cast<std::size_t>(method)] * static_cast<double>(message_bytes >> 10);
    const double extra = delay ? delay(method) : 0;
    return usual * (1 + noise * std::uniform_real_distribution{-1.0, 1.0}(random)) + extra;
  }
  void use_packets() {
    const timed_copy by_packets{{.method = packets}, 1};
    choice.end(peer_choice::classes - 1, by_packets, peer_choice::new_packet_bytes, 2);
  }

  double now = 100;
  std::minstd_rand random{7};
};

TEST(copy_choice, finds_the_fastest_method_in_sixty_messages) {
  for (const copy_method best : all_methods) {
    times of{100, 110, 120, 130};
    of[static_cast<std::size_t>(best)] = 50;
    machine here{of};
    here.run(60);
    EXPECT_FALSE(here.known().is_learning());
    EXPECT_EQ(here.known().settled(), best);
  }
}

TEST(copy_choice, finds_it_where_many_messages_are_under_way_together) {
  for (const bool ends_in_bursts : {false, true}) {
    for (const unsigned window : {2U, 5U, 16U, 64U, 200U}) {
      machine here{{40, 60, 55, 50}};
      here.ends_in_bursts = ends_in_bursts;
      here.noise = 0.1;
      here.run(20000 / window, window);
      EXPECT_FALSE(here.known().is_learning());
      EXPECT_EQ(here.known().settled(), packets) << "window " << window << ", bursts " << ends_in_bursts;
      EXPECT_GE(here.travelled[0] * 10, here.all() * 8);
    }
  }
}

TEST(copy_choice, takes_only_methods_that_are_allowed) {
  for (unsigned allowed = 1; allowed <= every_method; ++allowed) {
    const auto set = static_cast<copy_method_set>(allowed);
    const auto first = static_cast<copy_method>(std::countr_zero(allowed));
    peer_choice choice{methods(set, first)};
    std::uint64_t now = 1;
    for (int i = 0; i < 3000; ++i) {
      const timed_copy each = choice.begin(0, now);
      ASSERT_NE(set_of(each.chosen.method) & set, 0);
      now += 1000 + static_cast<std::uint64_t>(i % 7) * (static_cast<unsigned>(each.chosen.method) + 1U);
      choice.end(0, each, bytes, now);
    }
  }
}

TEST(copy_choice, is_not_decided_by_a_first_message_into_cold_memory) {
  for (const copy_method cold : all_methods) {
    machine here{{100, 110, 120, 130}};
    here.of[static_cast<std::size_t>(cold)] = 50;
    bool was_cold = false;
    here.delay = [&](copy_method method) { return method == cold && !std::exchange(was_cold, true) ? 1e7 : 0; };
    here.run(60);
    EXPECT_EQ(here.known().settled(), cold) << "though its first message took ten milliseconds";
  }
}

TEST(copy_choice, is_not_decided_for_ever_by_a_first_window_into_cold_memory) {
  for (const copy_method cold : all_methods) {
    machine here{{100, 110, 120, 130}};
    here.of[static_cast<std::size_t>(cold)] = 50;
    unsigned left = 64;
    here.delay = [&](copy_method method) { return method == cold && left > 0 && left-- > 0 ? 1e5 : 0; };
    here.run(20000, 16);
    EXPECT_EQ(here.known().settled(), cold) << "though its first messages took a tenth of a millisecond each";
  }
}

TEST(copy_choice, learns_with_few_messages_by_a_method_that_is_much_slower) {
  machine here{{1000, 50, 60, 70}};
  here.run(60);
  EXPECT_FALSE(here.known().is_learning());
  EXPECT_EQ(here.travelled[0], 4U);
}

TEST(copy_choice, is_not_decided_by_packets_that_are_used_for_the_first_time) {
  machine here{{40, 60, 70, 80}, every_method, true};
  std::uint64_t new_bytes = peer_choice::new_packet_bytes;
  here.delay = [&](copy_method method) {
    if (method != packets || new_bytes == 0) return 0.0;
    new_bytes -= bytes;
    return 1e5;
  };
  here.run(200);
  EXPECT_EQ(here.known().settled(), packets);
}

TEST(copy_choice, leaves_packets_soon_if_the_peer_computes_and_returns_later) {
  machine here{{40, 60, 70, 80}};
  here.run(500);
  ASSERT_EQ(here.known().settled(), packets);
  here.delay = [](copy_method method) { return method == packets ? 1e6 : 0.0; };
  here.travelled = {};
  here.run(2000);
  EXPECT_EQ(here.known().settled(), one_side);
  EXPECT_LE(here.travelled[0], 10U) << "each of them waited for a millisecond";
  here.delay = nullptr;
  here.run(100'000);
  EXPECT_EQ(here.known().settled(), packets) << "the peer does not compute any more";
}

TEST(copy_choice, is_not_decided_for_ever_by_ranks_that_shared_a_core) {
  machine here{{40, 60, 70, 80}};
  std::minstd_rand random{3};
  // A slice of the system's at times; packets need both ranks to run, and wait for one at each second message.
  here.delay = [&](copy_method method) { return random() % (method == packets ? 2 : 20) == 0 ? 4e6 : 0.0; };
  here.run(3000);
  EXPECT_NE(here.known().settled(), packets);
  here.delay = nullptr;
  here.run(100'000);
  EXPECT_EQ(here.known().settled(), packets);
}

TEST(copy_choice, is_not_changed_by_a_few_messages_that_are_held_up) {
  machine here{{40, 60, 70, 80}};
  std::minstd_rand random{5};
  here.delay = [&](copy_method) { return random() % 50 == 0 ? 4e6 : 0.0; };
  here.noise = 0.2;
  here.run(100'000);
  EXPECT_EQ(here.known().settled(), packets);
  EXPECT_GE(here.travelled[0] * 100, here.all() * 95);
}

TEST(copy_choice, follows_a_machine_that_changes) {
  machine here{{40, 60, 70, 80}};
  here.noise = 0.1;
  here.run(1000);
  ASSERT_EQ(here.known().settled(), packets);
  here.of = {120, 60, 70, 80};  // the settled method has become slower: that is noticed at once
  here.run(50);
  EXPECT_EQ(here.known().settled(), one_side);
  here.of = {120, 60, 50, 80};  // another one has become faster: it has to be explored
  here.run(20'000);
  EXPECT_EQ(here.known().settled(), both_short);
  here.of = {240, 120, 100, 80};
  here.run(20'000);
  EXPECT_EQ(here.known().settled(), both_long);
}

TEST(copy_choice, follows_a_machine_on_which_all_has_become_slower) {
  machine here{{40, 60, 70, 80}};
  here.run(1000);
  here.of = {400, 300, 200, 100};
  here.run(200);
  EXPECT_EQ(here.known().settled(), both_long);
}

TEST(copy_choice, explores_with_at_most_one_message_of_a_hundred) {
  for (const unsigned window : {1U, 3U, 16U, 64U, 300U}) {
    machine here{{40, 60, 70, 80}};
    here.noise = 0.05;
    while (here.known().is_learning()) here.run(1, window);
    const std::size_t learnt = here.all();
    here.run(200'000 / window, window);
    EXPECT_EQ(here.known().settled(), packets);
    std::size_t explored = 0;
    std::size_t worst = 0;
    // The window in which learning ended has begun before.
    for (std::size_t i = learnt; i < here.all(); ++i) {
      explored += here.history[i] != packets ? 1 : 0;
      worst = std::max(worst, explored * 100 > i - learnt ? explored * 100 - (i - learnt) : 0);
    }
    EXPECT_EQ(worst, 0U) << "window " << window;
    EXPECT_GE(explored, window > 100 ? 300U : 1000U) << "window " << window << ": it does explore";
  }
}

TEST(copy_choice, loses_a_hundredth_of_the_time_to_methods_that_are_much_slower) {
  machine here{{40, 4000, 2000, 1000}};
  here.run(1000);
  here.spent = 0;
  here.history.clear();
  here.run(100'000);
  const double best = 40.0 * (bytes >> 10) * static_cast<double>(here.all());
  EXPECT_LE(here.spent, 1.02 * best);
}

TEST(copy_choice, stays_within_a_tenth_of_the_best_in_noise) {
  for (const double noise : {0.1, 0.3, 0.5}) {
    machine here{{52, 50, 60, 55}};
    here.noise = noise;
    here.run(300);
    here.spent = 0;
    here.history.clear();
    here.run(50'000);
    EXPECT_LE(here.spent, 1.1 * 50.0 * (bytes >> 10) * static_cast<double>(here.all())) << "noise " << noise;
  }
}

TEST(copy_choice, may_be_asked_by_several_threads) {
  peer_choice choice{methods(every_method)};
  std::atomic<std::uint64_t> clock{1};
  const auto now = [&](std::uint64_t later = 0) {
    return clock.fetch_add(later, std::memory_order_relaxed) + later;  // [hint] a time
  };
  constexpr std::array<std::uint64_t, copy_methods> takes{9000, 3000, 6000, 7000};
  constexpr unsigned threads = 4;
  std::array<std::uint64_t, threads> by_best{};
  std::vector<std::jthread> running;
  const auto use = [&](unsigned self) {
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t start = now();
      const timed_copy mine = choice.begin(3, start);
      ASSERT_LT(static_cast<std::size_t>(mine.chosen.method), copy_methods);
      const std::uint64_t took = takes[static_cast<std::size_t>(mine.chosen.method)];
      // Not the time now: the system may stop a thread between the two calls, while others let the clock go on.
      choice.end(3, mine, bytes, start + took);
      now(took);
      by_best[self] += i >= 10'000 && mine.chosen.method == one_side ? 1 : 0;
    }
  };
  for (unsigned self = 0; self < threads; ++self) running.emplace_back(use, self);
  running.clear();
  const std::uint64_t best = std::accumulate(by_best.begin(), by_best.end(), std::uint64_t{0});
  EXPECT_GE(best, threads * 10'000 / 2);
}

TEST(copy_choice, is_not_harmed_by_times_that_go_backwards) {
  peer_choice choice{methods(every_method)};
  std::minstd_rand random{11};
  for (int i = 0; i < 50'000; ++i) {
    const std::uint64_t now = (std::uint64_t{random()} << 33) + random();
    const timed_copy each = choice.begin(0, now);
    ASSERT_LT(static_cast<std::size_t>(each.chosen.method), copy_methods);
    choice.end(0, each, i % 3 == 0 ? ~std::uint64_t{0} : bytes, random() % 2 == 0 ? ~std::uint64_t{0} : random());
  }
}

TEST(copy_choice, has_a_class_for_each_doubling_of_a_packet) {
  EXPECT_EQ(peer_choice::class_of(packet + 1, packet), 0U);
  EXPECT_EQ(peer_choice::class_of(2 * packet, packet), 0U);
  EXPECT_EQ(peer_choice::class_of(2 * packet + 1, packet), 1U);
  EXPECT_EQ(peer_choice::class_of(64 << 10, packet), 2U);
  EXPECT_EQ(peer_choice::class_of(1 << 20, packet), 6U);
  EXPECT_EQ(peer_choice::class_of(4 << 20, packet), 8U);
  EXPECT_EQ(peer_choice::class_of((4 << 20) + 1, packet), 9U);
  EXPECT_EQ(peer_choice::class_of(std::uint64_t{1} << 62, packet), 9U);
  EXPECT_EQ(peer_choice::class_of(1, packet), 0U);
}

}  // namespace
}  // namespace weft::core

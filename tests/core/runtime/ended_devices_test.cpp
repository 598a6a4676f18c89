// SPDX-License-Identifier: BSD-3-Clause
// What a rank that has ended had sent to a shared device that no thread polls: calls of progress on another device
// receive it, and then what waits for that rank ends. The rank is declared ended, and is still there.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace ended_devices_parts {
namespace {

constexpr std::uint64_t count = 30;
constexpr std::uint32_t ordered = 3;
constexpr std::uint64_t long_tag = 1000;

std::uint32_t engine_of(std::uint64_t tag) { return tag % 2 == 0 ? default_matching_engine : ordered; }
std::size_t words_of(std::uint64_t tag) { return tag % 3 == 0 ? 100 : 1; }

struct settings {
  bool in_order = true;
  bool shared = true;       // the devices that are not polled
  bool sends_long = false;  // also a message that its receiver fetches
  bool sleeps = false;
};

void declare_ended(runtime& rt, std::uint32_t rank, bool in_order) {
  test::local_job::state_of(rt).peer_ends().note({.rank = rank, .in_order = in_order});
}

bool all_completed(device& dev, completion_queue& over) {
  return test::eventually(dev, [&] {
    while (over.pop()) continue;
    return over.outstanding() == 0;
  });
}

// Rank 1: messages to device 1 and 2 of rank 0. All but the long one have left when it returns: none waits at its
// sender for a network that was full or busy.
void send_all(device& dev, completion_queue& over, const std::vector<std::uint64_t>& large, bool sends_long) {
  for (std::uint64_t tag = 0; tag < count; ++tag) {
    const std::vector<std::uint64_t> words(words_of(tag), tag);
    static_cast<void>(test::post(dev, [&] {
      return dev.post_send(0, words, over,
                           {.tag = tag, .engine = engine_of(tag), .device = static_cast<std::uint32_t>(1 + tag % 2)});
    }));
    EXPECT_TRUE(all_completed(dev, over));
  }
  if (!sends_long) return;
  static_cast<void>(test::post(dev, [&] { return dev.post_send(0, large, over, {.tag = long_tag, .device = 1}); }));
}

// Calls `at_first` at rank 0, with devices 1 and 2 that no thread polls, after rank 1 has sent all.
void with_devices_left_alone(const settings& with,
                             const std::function<void(runtime&, std::vector<std::unique_ptr<device>>&)>& at_first) {
  test::flag are_made, is_sent, is_over;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue over{rt};
    const std::vector<std::uint64_t> large(50'000, long_tag);
    std::vector<std::unique_ptr<device>> alone;
    const matching_engine engine{rt, {.id = ordered, .ordered = true}};
    if (rt.rank() == 0) {
      for (int i = 0; i < 2; ++i) {
        alone.push_back(std::make_unique<device>(rt, device_options{.shared = with.shared}));
      }
      are_made.raise();
      EXPECT_TRUE(test::eventually(dev, [&] { return is_sent.is_raised(); }));
      at_first(rt, alone);
      is_over.raise();
      return;
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return are_made.is_raised(); }));
    send_all(dev, over, large, with.sends_long);
    is_sent.raise();
    EXPECT_TRUE(test::eventually(dev, [&] { return is_over.is_raised(); }));
    declare_ended(rt, 0, false);
    EXPECT_TRUE(all_completed(dev, over));
  });
}

std::optional<completion_record> next_of(device& dev, completion_queue& over, bool sleeps) {
  std::optional<completion_record> got;
  const auto is_there = [&] { return (got = over.pop()).has_value(); };
  const bool found = sleeps ? dev.wait(over, is_there, {.timeout = test::patience}) : test::eventually(dev, is_there);
  EXPECT_TRUE(found);
  return got;
}

// Posts before the end is known, or after it.
void receive_all(runtime& rt, const settings& with) {
  device& dev = rt.default_device();
  completion_queue over{rt};
  std::vector<std::uint64_t> words(100);
  std::uint64_t never = 0;
  static_cast<void>(test::post(dev, [&] { return dev.post_recv(1, {&never, 8}, over, {.tag = 99}); }));
  declare_ended(rt, 1, with.in_order);
  const auto last = next_of(dev, over, with.sleeps);
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->error(), errc::peer_failed);
  EXPECT_EQ(last->tag(), 99U);
  // All that was sent before is here now.
  for (std::uint64_t tag = 0; tag < count; ++tag) {
    static_cast<void>(
        test::post(dev, [&] { return dev.post_recv(1, words, over, {.tag = tag, .engine = engine_of(tag)}); }));
    const auto got = next_of(dev, over, with.sleeps);
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->error(), errc::none) << tag;
    EXPECT_EQ(got->bytes(), words_of(tag) * sizeof(std::uint64_t));
    EXPECT_EQ(words[0], tag);
  }
}

TEST(ended_devices, receive_all_of_a_rank_that_left_though_no_thread_polls_them) {
  for (const bool sleeps : {false, true}) {
    const settings with{.sleeps = sleeps};
    with_devices_left_alone(with, [&](runtime& rt, auto& /*alone*/) { receive_all(rt, with); });
  }
}

TEST(ended_devices, receive_all_of_a_rank_that_died_though_no_thread_polls_them) {
  const settings with{.in_order = false};
  with_devices_left_alone(with, [&](runtime& rt, auto& /*alone*/) { receive_all(rt, with); });
}

TEST(ended_devices, complete_a_receive_that_fetches_its_message_though_no_thread_polls_them) {
  with_devices_left_alone({.sends_long = true}, [&](runtime& rt, auto& /*alone*/) {
    device& dev = rt.default_device();
    completion_queue over{rt};
    std::vector<std::uint64_t> large(50'000);
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(1, large, over, {.tag = long_tag}); }));
    declare_ended(rt, 1, true);
    const auto got = next_of(dev, over, false);
    ASSERT_TRUE(got.has_value());
    // The rank's memory can be read, or the rank is asked for the bytes, which it can't be any more.
    EXPECT_TRUE(got->error() == errc::none || got->error() == errc::peer_failed);
    if (got->error() == errc::none) {
      EXPECT_EQ(large.back(), long_tag);
    }
  });
}

TEST(ended_devices, of_one_thread_are_left_to_it) {
  with_devices_left_alone({.shared = false}, [&](runtime& rt, auto& alone) {
    device& dev = rt.default_device();
    completion_queue over{rt};
    std::uint64_t word = 0;
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(1, {&word, 8}, over, {.tag = 2}); }));
    declare_ended(rt, 1, true);
    for (int call = 0; call < 20'000; ++call) dev.progress();
    EXPECT_FALSE(over.pop().has_value());
    std::optional<completion_record> got;
    EXPECT_TRUE(test::eventually(dev, [&] {
      for (auto& each : alone) each->progress();
      return (got = over.pop()).has_value();
    }));
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->error(), errc::none);
    EXPECT_EQ(word, 2U);
  });
}

}  // namespace
}  // namespace ended_devices_parts
}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// The promises of every transport to the core: a message arrives whole, once, or nothing happened. No order, no time.
#include <algorithm>
#include <map>
#include <set>
#include <thread>

#include "contract/fixture.hpp"
#include "support/between_threads.hpp"

namespace weft::contract {
namespace {

using net::any_device;

class transport : public transport_fixture {};
INSTANTIATE_TEST_SUITE_P(least_sink, transport, testing::ValuesIn(every_transport(seen_sink::least)), name_of);
INSTANTIATE_TEST_SUITE_P(whole_sink, transport, testing::ValuesIn(every_transport(seen_sink::whole)), name_of);

TEST_P(transport, delivers_inline_messages_of_every_size_whole_and_once) {
  std::uint64_t tag = 0xfedc'ba98'0000'0000;
  for (std::size_t bytes = 0; bytes <= detail::inline_bytes_max; ++bytes, ++tag) {
    ASSERT_TRUE(posted(tag, bytes));
    ASSERT_TRUE(arrived(1));
    expect_whole(sink_.messages.front(), tag, bytes);
    sink_.messages.clear();
    EXPECT_EQ(poll(), 0U);
  }
  expect_quiet();
}

TEST_P(transport, delivers_packets_of_every_size_whole_and_once_and_takes_them_back) {
  for (std::size_t bytes = 0; bytes <= packet_bytes; ++bytes) {
    ASSERT_TRUE(poll_until([&] { return send(bytes, bytes) == post_result::ok; }));
    ASSERT_TRUE(arrived(1));
    expect_whole(sink_.messages.front(), bytes, bytes);
    EXPECT_NE(sink_.messages.front().owner, nullptr);
    sink_.messages.clear();
    EXPECT_EQ(poll(), 0U);
  }
  expect_no_packet_lost();
}

TEST_P(transport, refuses_when_there_is_no_room_and_then_nothing_has_happened) {
  constexpr std::uint64_t posts_max = 1'000'000;
  // The first contact may take a while, in which everything is refused.
  ASSERT_TRUE(posted(5, 5));
  ASSERT_TRUE(arrived(1));
  sink_.messages.clear();
  for (int round = 0; round < 3; ++round) {
    std::multiset<std::uint64_t> taken;
    std::uint64_t tag = 0;
    // Twice in a row: a refusal may be a whim.
    for (int refusals = 0; refusals < 2 && tag < posts_max; ++tag) {
      if (inject(tag, 8) == post_result::ok) {
        taken.insert(tag);
        refusals = 0;
      } else {
        ++refusals;
      }
    }
    EXPECT_LT(tag, posts_max);
    EXPECT_FALSE(taken.empty());
    for (int i = 0; i < 3; ++i, ++tag) {
      if (send(tag, 100) == post_result::ok) taken.insert(tag);
    }
    ASSERT_TRUE(arrived(taken.size()));
    EXPECT_EQ(tags_of(sink_), taken);
    for (const received& each : sink_.messages) {
      expect_whole(each, each.header.tag, each.owner == nullptr ? 8 : each.bytes.size());
    }
    sink_.messages.clear();
  }
  ASSERT_TRUE(posted(5, 5));
  EXPECT_TRUE(arrived(1));
  expect_no_packet_lost();
}

TEST_P(transport, hands_a_message_that_found_no_room_over_again) {
  const std::map<std::uint64_t, std::size_t> messages{{1, 8}, {2, 300}, {3, 40}, {4, packet_bytes}};
  for (int round = 0; round < 20; ++round) {
    sink_.room = 0;
    std::multiset<std::uint64_t> tags;
    for (const auto& [tag, bytes] : messages) {
      ASSERT_TRUE(posted(tag, bytes));
      tags.insert(tag);
    }
    for (std::size_t taken = 0; taken < messages.size(); ++taken) {
      sink_.room = 0;
      sink_.forget_refusals();
      // A refused message does not count as moved, and is delivered again.
      for (int i = 0; i < 3; ++i) EXPECT_EQ(poll(), 0U);
      ASSERT_TRUE(poll_until([&] { return sink_.refused > 1; }));
      EXPECT_EQ(sink_.messages.size(), taken);
      sink_.room = 1;
      ASSERT_TRUE(arrived(taken + 1));
      const received& last = sink_.messages.back();
      ASSERT_TRUE(messages.contains(last.header.tag));
      expect_whole(last, last.header.tag, messages.at(last.header.tag));
    }
    EXPECT_EQ(tags_of(sink_), tags);
    EXPECT_EQ(job().to().payloads_out(), 2) << "what the sink has is counted, and what it refused is not";
    sink_.room = 100;
    EXPECT_EQ(poll(), 0U);
    expect_no_packet_lost();
  }
}

TEST_P(transport, counts_no_payload_as_the_sinks_that_the_sink_has_not_taken) {
  sink_.room = 0;
  for (std::uint64_t tag = 0; tag < 3; ++tag) ASSERT_TRUE(posted(tag, 300));
  ASSERT_TRUE(poll_until([&] { return sink_.refused > 1; }));
  EXPECT_EQ(job().to().payloads_out(), 0);
  sink_.room = 100;
  ASSERT_TRUE(arrived(3));
  expect_no_packet_lost();
}

TEST_P(transport, hands_over_nothing_of_a_peer_after_a_message_that_found_no_room_in_the_same_poll) {
  for (std::uint64_t tag = 0; tag < 5; ++tag) ASSERT_TRUE(posted(tag, 8));
  for (int i = 0; i < 200; ++i) {
    sink_.room = 0;
    sink_.forget_refusals();
    EXPECT_EQ(in().poll(sink_, 64), 0U);
    EXPECT_LE(sink_.refused, 1U);
  }
  sink_.room = 100;
  EXPECT_TRUE(arrived(5));
}

TEST_P(transport, keeps_to_the_budget_of_a_poll) {
  sink_.room = 0;
  for (std::uint64_t tag = 0; tag < 6; ++tag) ASSERT_TRUE(posted(tag, 8));
  sink_.room = 100;
  ASSERT_TRUE(arrived_within_budget(6, 2));
  for (const received& each : sink_.messages) expect_whole(each, each.header.tag, 8);
  EXPECT_EQ(tags_of(sink_), (std::multiset<std::uint64_t>{0, 1, 2, 3, 4, 5}));
}

TEST_P(transport, carries_many_laps_of_small_and_large_messages) {
  constexpr std::uint64_t count = 5000;
  const auto bytes_of = [](std::uint64_t tag) { return static_cast<std::size_t>(tag * tag % (packet_bytes + 1)); };
  std::uint64_t posted = 0, arrived = 0;
  std::vector<bool> seen(count);
  unsigned burst = 0;
  ASSERT_TRUE(poll_until(
      [&] {
        ++burst;
        for (unsigned i = 0; i < burst % 11 && posted < count; ++i) {
          if (post(posted, bytes_of(posted)) != post_result::ok) break;
          ++posted;
        }
        for (const received& each : sink_.messages) {
          const std::uint64_t tag = each.header.tag;
          EXPECT_LT(tag, posted);
          if (tag >= posted) break;
          EXPECT_FALSE(seen[tag]) << tag;
          seen[tag] = true;
          expect_whole(each, tag, bytes_of(tag));
          ++arrived;
        }
        sink_.messages.clear();
        return arrived == count;
      },
      3));
  expect_quiet();
  expect_no_packet_lost();
}

TEST_P(transport, returns_packets_in_any_order_and_however_long_they_were_kept) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t tag = 0;
    ASSERT_TRUE(poll_until([&] {
      if (tag < packet_count && send(tag, 100 + tag) == post_result::ok) ++tag;
      return sink_.messages.size() == packet_count;
    }));
    EXPECT_EQ(tag, packet_count);
    // Every second one first, from the back.
    for (std::size_t i = sink_.messages.size(); i-- > 0;) {
      const received& each = sink_.messages[i];
      expect_whole(each, each.header.tag, 100 + each.header.tag);
      if (i % 2 == static_cast<std::size_t>(round % 2)) {
        received gone{std::move(sink_.messages[i])};
      }
    }
    expect_no_packet_lost();
  }
}

TEST_P(transport, delivers_to_the_device_that_is_named_or_to_another_where_that_is_not_there) {
  const auto second = open(job().to(), 1);
  sink others;
  ASSERT_TRUE(posted(1, 8, 1));
  ASSERT_TRUE(posted(2, 8, 0));
  ASSERT_TRUE(posted(3, 8, 57));
  ASSERT_TRUE(poll_until([&] {
    second->poll(others, 16);
    return sink_.messages.size() + others.messages.size() == 3;
  }));
  EXPECT_EQ(tags_of(others).count(1), 1U);
  EXPECT_EQ(tags_of(sink_).count(2), 1U);
  EXPECT_EQ(tags_of(sink_).count(3) + tags_of(others).count(3), 1U);
}

TEST_P(transport, delivers_what_is_under_way_to_a_device_that_goes_and_to_the_one_that_comes_after_it) {
  for (int round = 0; round < 5; ++round) {
    if (round > 0) in().release(1);
    auto second = open(job().to(), 1);
    sink others;
    ASSERT_TRUE(posted(1, 8, 1));
    ASSERT_TRUE(poll_until([&] {
      second->poll(others, 16);
      return others.messages.size() == 1;
    }));
    ASSERT_TRUE(posted(2, 8, 1));
    ASSERT_TRUE(posted(3, 200, 1));
    // Some of it may be in the hands of the device that goes.
    others.room = 0;
    second->poll(others, 16);
    job().to().transport.close(1);
    second.reset();
    EXPECT_EQ(poll(), 0U);
    in().adopt(1);
    ASSERT_TRUE(arrived(2));
    for (const received& each : sink_.messages) {
      expect_whole(each, each.header.tag, each.header.tag == 2 ? 8 : 200);
    }
    EXPECT_EQ(tags_of(sink_), (std::multiset<std::uint64_t>{2, 3}));
    sink_.messages.clear();
    // Named or not, it is gone: another one gets the message.
    ASSERT_TRUE(posted(4, 8, 1));
    EXPECT_TRUE(arrived(1));
    expect_no_packet_lost();
  }
}

// A shared endpoint, posted to by several threads while another polls: `busy` and `full` leave nothing behind.
TEST_P(transport, takes_posts_of_several_threads_each_once) {
  constexpr std::uint64_t threads = 3, each = 2000;
  test::flag given_up;
  std::vector<std::thread> posters;
  for (std::uint64_t t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < each && !given_up.is_raised();) {
        const std::uint64_t tag = t * each + i;
        const auto answer = i % 3 == 0 ? send(tag, 200) : inject(tag, 40);
        if (answer == post_result::ok) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    });
  }
  std::vector<bool> seen(threads * each);
  std::uint64_t arrived = 0;
  const bool all = poll_until(
      [&] {
        for (const received& message : sink_.messages) {
          const std::uint64_t tag = message.header.tag;
          EXPECT_LT(tag, threads * each);
          if (tag >= threads * each) return false;
          EXPECT_FALSE(seen[tag]) << tag;
          seen[tag] = true;
          expect_whole(message, tag, tag % each % 3 == 0 ? 200 : 40);
        }
        arrived += sink_.messages.size();
        sink_.messages.clear();
        return arrived == threads * each;
      },
      16);
  given_up.raise();
  for (std::thread& poster : posters) poster.join();
  EXPECT_TRUE(all) << arrived << " have arrived";
  expect_no_packet_lost();
}

}  // namespace
}  // namespace weft::contract

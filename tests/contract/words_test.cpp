// SPDX-License-Identifier: BSD-3-Clause
// Messages of one word, which most are: the loops that take them, with a sink that has all that a transport may call.
#include "contract/fixture.hpp"

namespace weft::contract {
namespace {

class words : public transport_fixture {
 protected:
  // A ring's first words come by another loop.
  void SetUp() override {
    transport_fixture::SetUp();
    if (!IsSkipped()) meet();
  }

  [[nodiscard]] bool takes_words() const { return promised().takes_words; }

  // The tag of the `number`-th word of a kind: 0 for active messages, 1 for sends that meet a receive.
  [[nodiscard]] static std::uint64_t word_tag(std::uint64_t number, std::uint64_t kind) { return number * 3 + kind; }

  void expect_word(std::uint64_t tag) {
    ASSERT_FALSE(sink_.messages.empty());
    expect_whole(sink_.messages.front(), tag, net::word_bytes);
    sink_.messages.pop_front();
  }

  [[nodiscard]] bool post_word(std::uint64_t tag) { return posted(tag, net::word_bytes); }

  void take_all() {
    sink_.words_left_every = 0;
    sink_.at_once_left_every = 0;
  }

  // All arrivals are whole, and none came before. Their tags are their numbers; `bytes_of` says how long they are.
  template <class BytesOf>
  void check_arrivals(std::vector<bool>& seen, const BytesOf& bytes_of) {
    for (const received& each : sink_.messages) {
      const std::uint64_t tag = each.header.tag;
      ASSERT_LT(tag, seen.size());
      EXPECT_FALSE(seen[tag]) << tag;
      seen[tag] = true;
      expect_whole(each, tag, bytes_of(tag));
    }
    sink_.messages.clear();
  }
};

INSTANTIATE_TEST_SUITE_P(whole_sink, words, testing::ValuesIn(every_transport(seen_sink::whole)), name_of);

TEST_P(words, are_taken_by_the_function_for_their_kind_where_the_transport_has_a_loop_for_them) {
  take_all();
  for (const std::uint64_t kind : {0U, 1U}) {
    for (std::uint64_t number = 0; number < 3 * ring_cells; ++number) {
      ASSERT_TRUE(post_word(word_tag(number, kind)));
      ASSERT_TRUE(arrived(1));
      expect_word(word_tag(number, kind));
    }
    EXPECT_EQ(sink_.words_of_kind[kind], takes_words() ? 3 * ring_cells : 0U);
  }
  EXPECT_EQ(sink_.shown_words, takes_words() ? 6 * ring_cells : 0U);
  expect_quiet();
}

TEST_P(words, that_the_first_function_does_not_take_come_to_the_next_one_and_then_to_on_message) {
  for (const std::uint64_t kind : {0U, 1U}) {
    sink_.words_left_every = 1;
    sink_.at_once_left_every = 0;
    sink_.shown_words = sink_.shown_at_once = 0;
    ASSERT_TRUE(post_word(kind));
    ASSERT_TRUE(arrived(1));
    EXPECT_EQ(sink_.messages.front().header.sequence, header_of(kind).sequence);
    expect_word(kind);
    sink_.at_once_left_every = 1;
    ASSERT_TRUE(post_word(kind + 3));
    ASSERT_TRUE(arrived(1));
    expect_word(kind + 3);
    EXPECT_EQ(sink_.shown_words, takes_words() ? 2U : 0U);
    EXPECT_EQ(sink_.shown_at_once, takes_words() ? 2U : 0U);
  }
  EXPECT_EQ(sink_.words, 0U);
  expect_quiet();
}

// Wherever it is refused, by the second function or by the last one.
TEST_P(words, that_find_no_room_come_again_and_every_refusal_is_noted) {
  for (const std::size_t left_every : {0U, 1U}) {
    for (const std::uint64_t kind : {0U, 1U}) {
      sink_.words_left_every = 0;
      sink_.at_once_left_every = left_every;
      sink_.room = 0;
      sink_.forget_refusals();
      for (std::uint64_t number = 0; number < 3; ++number) ASSERT_TRUE(post_word(word_tag(number, kind)));
      ASSERT_TRUE(poll_until([&] { return sink_.refused >= 3; }));
      EXPECT_TRUE(sink_.messages.empty());
      sink_.room = 2;
      ASSERT_TRUE(poll_until([&] { return sink_.messages.size() == 2 && sink_.refused >= 4; }));
      sink_.room = 100;
      ASSERT_TRUE(arrived(3));
      EXPECT_EQ(tags_of(sink_), (std::multiset<std::uint64_t>{kind, kind + 3, kind + 6}));
      for (const received& each : sink_.messages) expect_whole(each, each.header.tag, net::word_bytes);
      sink_.messages.clear();
    }
  }
  EXPECT_EQ(sink_.words > 0, takes_words());
}

TEST_P(words, wake_each_thread_that_awaits_them_once_and_before_the_next_word) {
  take_all();
  for (const std::size_t every : {1U, 3U}) {
    sink_.awaited_every = every;
    std::vector<bool> seen(2000);
    std::size_t posted = 0;
    ASSERT_TRUE(poll_until([&] {
      for (int i = 0; i < 5 && posted < seen.size(); ++i) {
        if (inject(posted, net::word_bytes) != post_result::ok) break;
        ++posted;
      }
      poll(3);
      check_arrivals(seen, [](std::uint64_t) { return net::word_bytes; });
      return std::ranges::count(seen, true) == static_cast<std::ptrdiff_t>(seen.size());
    }));
  }
  EXPECT_EQ(sink_.woken > 0, takes_words());
}

// In every order, over many laps of the ring, with what finds no room in between: each comes once and whole.
TEST_P(words, and_other_messages_arrive_each_once_and_whole_over_many_laps) {
  constexpr std::uint64_t count = 6000;
  const auto bytes_of = [](std::uint64_t tag) -> std::size_t {
    const std::uint64_t die = tag * 0x9e37'79b9'7f4a'7c15 >> 40;
    if (die % 4 != 0) return net::word_bytes;
    return die / 4 % 2 == 0 ? die / 8 % (detail::inline_bytes_max + 1) : die / 8 % (packet_bytes + 1);
  };
  std::vector<bool> seen(count);
  std::uint64_t posted = 0;
  unsigned round = 0;
  sink_.awaited_every = 7;
  ASSERT_TRUE(poll_until([&] {
    ++round;
    for (unsigned i = 0; i < round % 11 && posted < count; ++i, ++posted) {
      if (post(posted, bytes_of(posted)) != post_result::ok) break;
    }
    sink_.room = round % 5 == 0 ? round % 3 : 100;
    poll(1 + round % 9);
    sink_.room = 100;
    check_arrivals(seen, bytes_of);
    return std::ranges::count(seen, true) == static_cast<std::ptrdiff_t>(count);
  }));
  EXPECT_EQ(posted, count);
  EXPECT_EQ(sink_.words_of_kind[0] > 0, takes_words());
  EXPECT_EQ(sink_.words_of_kind[1] > 0, takes_words());
  EXPECT_EQ(sink_.awaited > 0, takes_words());
  EXPECT_GT(sink_.refused, 0U);
  expect_quiet();
  expect_no_packet_lost();
}

TEST_P(words, keep_to_the_budget_of_a_poll) {
  take_all();
  for (const std::uint64_t kind : {0U, 1U}) {
    sink_.room = 0;
    for (std::uint64_t number = 0; number < 6; ++number) ASSERT_TRUE(post_word(word_tag(number, kind)));
    sink_.room = 100;
    ASSERT_TRUE(arrived_within_budget(6, 2));
    sink_.messages.clear();
  }
}

// Each of the sender's devices may have a ring of its own to the same device.
TEST_P(words, of_several_devices_are_taken_in_the_same_poll) {
  const auto second = open(job().from(), 1), third = open(job().from(), 2);
  take_all();
  endpoint* const all[]{&out(), second.get(), third.get()};
  for (std::uint64_t round = 0; round < 50; ++round) {
    std::multiset<std::uint64_t> tags;
    for (std::uint64_t i = 0; i < 6; ++i) {
      const std::uint64_t tag = word_tag(round * 6 + i, (round + i / 3) % 2);
      ASSERT_TRUE(poll_until([&] { return inject_from(*all[i % 3], tag, net::word_bytes, 0) == post_result::ok; }));
      tags.insert(tag);
    }
    ASSERT_TRUE(poll_until([&] {
      for (endpoint* const each : all) EXPECT_EQ(each == &in() ? 0 : each->poll(none_, 1), 0U);
      return sink_.messages.size() == tags.size();
    }));
    EXPECT_EQ(tags_of(sink_), tags);
    sink_.messages.clear();
  }
}

// While words keep coming from one device, the first message of another one is found.
TEST_P(words, do_not_hide_the_first_message_of_another_device) {
  take_all();
  const auto second = open(job().from(), 1);
  constexpr std::uint64_t hidden = 1'000'000;
  bool is_posted = false;
  EXPECT_TRUE(test::eventually([&] {
    is_posted = is_posted || inject_from(*second, hidden, net::word_bytes, 0) == post_result::ok;
    // No poll is quiet: before each there is a word of the first device.
    static_cast<void>(inject(3, net::word_bytes));
    sink_.messages.clear();
    poll();
    EXPECT_EQ(second->poll(none_, 1), 0U);
    return tags_of(sink_).contains(hidden);
  }));
}

}  // namespace
}  // namespace weft::contract

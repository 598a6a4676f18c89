// What every transport promises the core: whole, once, or nothing happened.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "contract/job.hpp"

namespace weft::contract {
namespace {

using net::any_device;
using net::post_result;

template <class Job>
class transport : public testing::Test {
 protected:
  void SetUp() override {
    out_ = job_.from().open(0);
    in_ = Job::sender == Job::target ? nullptr : job_.to().open(0);
  }

  [[nodiscard]] endpoint& out() noexcept { return *out_; }
  [[nodiscard]] endpoint& in() noexcept { return in_ ? *in_ : *out_; }

  [[nodiscard]] static net::header header_of(std::uint64_t tag) {
    return {.kind = 3,
            .id = static_cast<std::uint32_t>(tag * 7),
            .sequence = static_cast<std::uint32_t>(tag * 5),
            .tag = tag};
  }

  [[nodiscard]] post_result inject(std::uint64_t tag, std::size_t bytes, std::uint32_t device = any_device) {
    const auto payload = pattern(bytes, tag);
    return out().try_inject(Job::target, device, header_of(tag), payload.data(), static_cast<std::uint32_t>(bytes));
  }

  // A packet that was posted, or came back to its pool because it was not.
  [[nodiscard]] post_result send(std::uint64_t tag, std::size_t bytes, std::uint32_t device = any_device) {
    packet_pool& packets = job_.from().packets;
    const std::uint32_t packet = packets.try_get();
    if (packet == net::packet_store::none) return post_result::full;
    const auto payload = pattern(bytes, tag);
    std::ranges::copy(payload, packets.data(packet));
    const auto answer = out().try_send(Job::target, device, header_of(tag), packet, static_cast<std::uint32_t>(bytes));
    if (answer != post_result::ok) {
      EXPECT_TRUE(std::ranges::equal(std::span{packets.data(packet), bytes}, payload));
      packets.put(packet);
    }
    return answer;
  }

  // Polls a few times: a transport may need some calls to find a way it has not used before.
  unsigned poll(unsigned budget = 64) {
    unsigned moved = 0;
    for (int i = 0; i < 4; ++i) moved += in().poll(sink_, budget);
    return moved;
  }

  static void expect_whole(const received& message, std::uint64_t tag, std::size_t bytes) {
    EXPECT_EQ(message.source, Job::sender);
    EXPECT_EQ(message.header.kind, 3U);
    EXPECT_EQ(message.header.id, static_cast<std::uint32_t>(tag * 7));
    EXPECT_EQ(message.header.sequence, static_cast<std::uint32_t>(tag * 5));
    EXPECT_EQ(message.header.tag, tag);
    EXPECT_EQ(message.bytes, pattern(bytes, tag));
  }

  void expect_no_packet_lost() {
    sink_.messages.clear();
    EXPECT_EQ(job_.from().packets.free_count(), packet_count);
    EXPECT_EQ(job_.to().packets.free_count(), packet_count);
    EXPECT_EQ(job_.to().transport.messages_refused(), 0U);
  }

  Job job_;
  std::unique_ptr<endpoint> out_, in_;
  sink sink_;
};

using every_transport = testing::Types<self_job, shm_job>;
TYPED_TEST_SUITE(transport, every_transport);

TYPED_TEST(transport, delivers_inline_messages_of_every_size_whole_and_once) {
  std::uint64_t tag = 0xfedc'ba98'0000'0000;
  for (std::size_t bytes = 0; bytes <= detail::inline_bytes_max; ++bytes, ++tag) {
    ASSERT_EQ(this->inject(tag, bytes), post_result::ok);
    ASSERT_EQ(this->poll(), 1U);
    ASSERT_EQ(this->sink_.messages.size(), 1U);
    this->expect_whole(this->sink_.messages.front(), tag, bytes);
    EXPECT_EQ(this->sink_.messages.front().owner, nullptr);
    this->sink_.messages.clear();
    EXPECT_EQ(this->poll(), 0U);
  }
}

TYPED_TEST(transport, delivers_packets_of_every_size_whole_and_once_and_takes_them_back) {
  for (std::size_t bytes = 0; bytes <= packet_bytes; ++bytes) {
    ASSERT_EQ(this->send(bytes, bytes), post_result::ok);
    ASSERT_EQ(this->poll(), 1U);
    ASSERT_EQ(this->sink_.messages.size(), 1U);
    this->expect_whole(this->sink_.messages.front(), bytes, bytes);
    EXPECT_NE(this->sink_.messages.front().owner, nullptr);
    this->sink_.messages.clear();
    EXPECT_EQ(this->poll(), 0U);
  }
  this->expect_no_packet_lost();
}

TYPED_TEST(transport, answers_full_when_there_is_no_room_and_then_nothing_has_happened) {
  for (int round = 0; round < 3; ++round) {
    std::uint64_t posted = 0;
    while (this->inject(posted, 8) == post_result::ok) ++posted;
    EXPECT_EQ(posted, ring_cells);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(this->inject(1000, 8), post_result::full);
      EXPECT_EQ(this->send(1000, 100), post_result::full);
    }
    EXPECT_EQ(this->job_.from().packets.free_count(), packet_count);
    EXPECT_EQ(this->poll(), posted);
    ASSERT_EQ(this->sink_.messages.size(), posted);
    for (std::uint64_t tag = 0; tag < posted; ++tag) this->expect_whole(this->sink_.messages[tag], tag, 8);
    this->sink_.messages.clear();
  }
  EXPECT_EQ(this->inject(5, 5), post_result::ok);
  EXPECT_EQ(this->poll(), 1U);
  this->expect_no_packet_lost();
}

TYPED_TEST(transport, hands_a_message_that_found_no_room_over_again_with_all_that_came_after_it) {
  const auto post_all = [&] {
    ASSERT_EQ(this->inject(1, 8), post_result::ok);
    ASSERT_EQ(this->send(2, 300), post_result::ok);
    ASSERT_EQ(this->inject(3, 40), post_result::ok);
    ASSERT_EQ(this->send(4, packet_bytes), post_result::ok);
  };
  constexpr std::size_t sizes[] = {8, 300, 40, packet_bytes};
  for (int round = 0; round < 20; ++round) {
    post_all();
    for (std::size_t taken = 0; taken < 4; ++taken) {
      this->sink_.room = 0;
      EXPECT_EQ(this->poll(), 0U);
      EXPECT_EQ(this->sink_.messages.size(), taken);
      this->sink_.room = 1;
      EXPECT_EQ(this->poll(), 1U);
      ASSERT_EQ(this->sink_.messages.size(), taken + 1);
      this->expect_whole(this->sink_.messages[taken], taken + 1, sizes[taken]);
    }
    EXPECT_GT(this->sink_.refused, 0U);
    this->sink_.room = 100;
    EXPECT_EQ(this->poll(), 0U);
    this->expect_no_packet_lost();
  }
}

TYPED_TEST(transport, keeps_to_the_budget_of_a_poll) {
  for (std::uint64_t tag = 0; tag < 6; ++tag) ASSERT_EQ(this->inject(tag, 8), post_result::ok);
  while (this->sink_.messages.empty()) ASSERT_LE(this->in().poll(this->sink_, 2), 2U);
  EXPECT_EQ(this->sink_.messages.size(), 2U);
  EXPECT_EQ(this->in().poll(this->sink_, 3), 3U);
  EXPECT_EQ(this->in().poll(this->sink_, 3), 1U);
  EXPECT_EQ(this->in().poll(this->sink_, 3), 0U);
  for (std::uint64_t tag = 0; tag < 6; ++tag) this->expect_whole(this->sink_.messages[tag], tag, 8);
}

TYPED_TEST(transport, carries_many_laps_of_small_and_large_messages) {
  constexpr std::uint64_t count = 5000;
  const auto bytes_of = [](std::uint64_t tag) { return static_cast<std::size_t>(tag * tag % (packet_bytes + 1)); };
  std::uint64_t posted = 0, arrived = 0;
  for (unsigned burst = 0; arrived < count; ++burst) {
    for (unsigned i = 0; i < burst % 11 && posted < count; ++i) {
      const std::size_t bytes = bytes_of(posted);
      if ((bytes <= detail::inline_bytes_max ? this->inject(posted, bytes) : this->send(posted, bytes)) !=
          post_result::ok) {
        break;
      }
      ++posted;
    }
    this->poll(3);
    for (const received& each : this->sink_.messages) this->expect_whole(each, arrived, bytes_of(arrived)), ++arrived;
    this->sink_.messages.clear();
    ASSERT_LE(arrived, posted);
  }
  this->expect_no_packet_lost();
}

TYPED_TEST(transport, returns_packets_in_any_order_and_however_long_they_were_kept) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t tag = 0;
    while (this->sink_.messages.size() < packet_count) {
      if (this->send(tag, 100 + tag) == post_result::ok) ++tag;
      this->poll();
    }
    EXPECT_EQ(tag, packet_count);
    EXPECT_EQ(this->send(tag, 100), post_result::full);  // no packet is left
    // Every second one first, from the back.
    for (std::size_t i = this->sink_.messages.size(); i-- > 0;) {
      this->expect_whole(this->sink_.messages[i], i, 100 + i);
      if (i % 2 == static_cast<std::size_t>(round % 2)) {
        received gone{std::move(this->sink_.messages[i])};
      }
    }
    EXPECT_EQ(this->job_.from().packets.free_count(), packet_count / 2);
    this->expect_no_packet_lost();
  }
}

TYPED_TEST(transport, delivers_to_the_device_that_is_named_or_to_another_where_that_is_not_there) {
  const auto second = this->job_.to().open(1);
  sink others;
  ASSERT_EQ(this->inject(1, 8, 1), post_result::ok);
  ASSERT_EQ(this->inject(2, 8, 0), post_result::ok);
  ASSERT_EQ(this->inject(3, 8, 57), post_result::ok);
  for (int i = 0; i < 4; ++i) second->poll(others, 16);
  this->poll();
  ASSERT_EQ(this->sink_.messages.size() + others.messages.size(), 3U);
  ASSERT_FALSE(others.messages.empty());
  this->expect_whole(others.messages.front(), 1, 8);
  ASSERT_FALSE(this->sink_.messages.empty());
  this->expect_whole(this->sink_.messages.front(), 2, 8);
}

TYPED_TEST(transport, delivers_what_is_under_way_to_a_device_that_goes_and_to_the_one_that_comes_after_it) {
  for (int round = 0; round < 5; ++round) {
    if (round > 0) this->in().release(1);
    auto second = this->job_.to().open(1);
    sink others;
    ASSERT_EQ(this->inject(1, 8, 1), post_result::ok);
    for (int i = 0; i < 4; ++i) second->poll(others, 16);
    ASSERT_EQ(others.messages.size(), 1U);
    ASSERT_EQ(this->inject(2, 8, 1), post_result::ok);
    ASSERT_EQ(this->send(3, 200, 1), post_result::ok);
    this->job_.to().transport.close(1);
    second.reset();
    EXPECT_EQ(this->poll(), 0U);
    this->in().adopt(1);
    EXPECT_EQ(this->poll(), 2U);
    ASSERT_EQ(this->sink_.messages.size(), 2U);
    this->expect_whole(this->sink_.messages[0], 2, 8);
    this->expect_whole(this->sink_.messages[1], 3, 200);
    this->sink_.messages.clear();
    // Named or not, it is gone: another one gets the message.
    ASSERT_EQ(this->inject(4, 8, 1), post_result::ok);
    EXPECT_EQ(this->poll(), 1U);
    this->expect_no_packet_lost();
  }
}

TYPED_TEST(transport, reads_what_the_peer_offers_or_says_that_it_cannot) {
  const auto there = pattern(70'000, 3);
  std::vector<std::byte> here(there.size());
  const auto answer = this->in().read_remote(TypeParam::sender, here.data(),
                                             reinterpret_cast<std::uint64_t>(there.data()), there.size());
  if (answer == net::copy_result::done) {
    EXPECT_EQ(here, there);
  } else {
    EXPECT_EQ(answer, net::copy_result::unavailable);
  }
}

TYPED_TEST(transport, writes_where_the_peer_wants_it_or_says_that_it_cannot) {
  const auto here = pattern(70'000, 4);
  std::vector<std::byte> there(here.size() + 1);
  const auto answer = this->out().write_remote(TypeParam::target, here.data(),
                                               reinterpret_cast<std::uint64_t>(there.data()), here.size());
  if (answer == net::copy_result::done) {
    EXPECT_TRUE(std::ranges::equal(here, std::span{there}.first(here.size())));
    EXPECT_EQ(there.back(), std::byte{});
  } else {
    EXPECT_EQ(answer, net::copy_result::unavailable);
  }
}

TYPED_TEST(transport, maps_shared_memory_where_it_says_that_it_shares_some) {
  net::transport& from = this->job_.from().transport;
  net::transport& to = this->job_.to().transport;
  std::byte* const own = from.shared_memory(TypeParam::sender);
  std::byte* const seen = to.shared_memory(TypeParam::sender);
  ASSERT_EQ(own == nullptr, from.shared_bytes() == 0);
  if (own == nullptr || seen == nullptr) return;
  ASSERT_EQ(from.shared_bytes(), to.shared_bytes());
  own[from.shared_bytes() - 1] = std::byte{7};
  EXPECT_EQ(seen[to.shared_bytes() - 1], std::byte{7});
}

// A shared endpoint, posted to by several threads while another polls: `busy` and `full` leave nothing behind.
TYPED_TEST(transport, takes_posts_of_several_threads_each_once) {
  constexpr std::uint64_t threads = 3, each = 2000;
  std::atomic<std::uint32_t> running{threads};
  std::vector<std::thread> posters;
  for (std::uint64_t t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < each;) {
        const std::uint64_t tag = t * each + i;
        const auto answer = i % 3 == 0 ? this->send(tag, 200) : this->inject(tag, 40);
        if (answer == post_result::ok) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
      running.fetch_sub(1);
    });
  }
  std::vector<std::uint64_t> next(threads);
  std::uint64_t arrived = 0;
  while (arrived < threads * each) {
    if (this->in().poll(this->sink_, 16) == 0) {
      // All have posted, and a last look finds nothing: something was lost.
      if (running.load() == 0 && this->poll() == 0) break;
      std::this_thread::yield();
    }
    for (const received& message : this->sink_.messages) {
      const std::uint64_t tag = message.header.tag;
      ASSERT_LT(tag, threads * each);
      this->expect_whole(message, tag, tag % each % 3 == 0 ? 200 : 40);
      EXPECT_EQ(tag % each, next[tag / each]++);  // one ring: in order
    }
    arrived += this->sink_.messages.size();
    this->sink_.messages.clear();
  }
  for (std::thread& poster : posters) poster.join();
  EXPECT_EQ(arrived, threads * each);
  this->expect_no_packet_lost();
}

}  // namespace
}  // namespace weft::contract

// What every transport promises the core: whole, once, or nothing happened. No order, and no time by which.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "contract/job.hpp"
#include "support/waiting.hpp"

namespace weft::contract {
namespace {

using net::any_device;
using net::post_result;

template <class Job>
class transport : public testing::Test {
 protected:
  void SetUp() override {
    if constexpr (requires { Job::absent(); }) {
      if (const std::string why = Job::absent(); !why.empty()) GTEST_SKIP() << why;
    }
    job_ = std::make_unique<Job>();
    out_ = job().from().open(0);
    in_ = Job::sender == Job::target ? nullptr : job().to().open(0);
  }

  [[nodiscard]] Job& job() noexcept { return *job_; }
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
    packet_pool& packets = job().from().packets;
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

  [[nodiscard]] post_result post(std::uint64_t tag, std::size_t bytes, std::uint32_t device = any_device) {
    return bytes <= detail::inline_bytes_max ? inject(tag, bytes, device) : send(tag, bytes, device);
  }

  // Polls both sides once. Nothing is ever on its way to the sender.
  unsigned poll(unsigned budget = 64) {
    const unsigned moved = in().poll(sink_, budget);
    if (in_) {
      EXPECT_EQ(out_->poll(none_, budget), 0U);
    }
    return moved;
  }

  // Polls until `done`; false if that takes far longer than it ever should.
  template <class Done>
  [[nodiscard]] bool poll_until(Done done, unsigned budget = 64) {
    const auto until = std::chrono::steady_clock::now() + weft::test::patience;
    while (!done()) {
      if (poll(budget) == 0) std::this_thread::yield();
      if (std::chrono::steady_clock::now() > until) return false;
    }
    return true;
  }

  [[nodiscard]] bool arrived(std::size_t count) {
    return poll_until([&] { return sink_.messages.size() >= count; }) && sink_.messages.size() == count;
  }

  // A transport may have reasons to refuse a post now, but not for ever while its messages are taken.
  [[nodiscard]] bool posted(std::uint64_t tag, std::size_t bytes, std::uint32_t device = any_device) {
    return poll_until([&] { return post(tag, bytes, device) == post_result::ok; });
  }

  // Nothing more comes, however often one looks.
  void expect_quiet() {
    for (int i = 0; i < 100; ++i) ASSERT_EQ(poll(), 0U);
  }

  static void expect_whole(const received& message, std::uint64_t tag, std::size_t bytes) {
    EXPECT_EQ(message.source, Job::sender);
    EXPECT_EQ(message.header.kind, 3U);
    EXPECT_EQ(message.header.id, static_cast<std::uint32_t>(tag * 7));
    EXPECT_EQ(message.header.sequence, static_cast<std::uint32_t>(tag * 5));
    EXPECT_EQ(message.header.tag, tag);
    EXPECT_EQ(message.bytes, pattern(bytes, tag));
  }

  [[nodiscard]] static std::multiset<std::uint64_t> tags_of(const sink& from) {
    std::multiset<std::uint64_t> out;
    for (const received& each : from.messages) out.insert(each.header.tag);
    return out;
  }

  void expect_no_packet_lost() {
    sink_.messages.clear();
    EXPECT_TRUE(poll_until([&] {
      return job().from().packets.free_count() == packet_count && job().to().packets.free_count() == packet_count;
    })) << job().from().packets.free_count()
        << " packets are with the sender, " << job().to().packets.free_count() << " with the target";
    EXPECT_EQ(job().to().transport.messages_refused(), 0U);
  }

  std::unique_ptr<Job> job_;
  std::unique_ptr<endpoint> out_, in_;
  sink sink_, none_;
};

using every_transport =
    testing::Types<self_job, shm_job, sim_self_job, sim_shm_job, ofi_job<name_net>, ofi_job<name_tcp>,
                   ofi_job<name_tcp_rxm>, ofi_job<name_udp_rxd>, ofi_job<name_shm>, sim_ofi_job>;
TYPED_TEST_SUITE(transport, every_transport);

TYPED_TEST(transport, delivers_inline_messages_of_every_size_whole_and_once) {
  std::uint64_t tag = 0xfedc'ba98'0000'0000;
  for (std::size_t bytes = 0; bytes <= detail::inline_bytes_max; ++bytes, ++tag) {
    ASSERT_TRUE(this->posted(tag, bytes));
    ASSERT_TRUE(this->arrived(1));
    this->expect_whole(this->sink_.messages.front(), tag, bytes);
    this->sink_.messages.clear();
    EXPECT_EQ(this->poll(), 0U);
  }
  this->expect_quiet();
}

TYPED_TEST(transport, delivers_packets_of_every_size_whole_and_once_and_takes_them_back) {
  for (std::size_t bytes = 0; bytes <= packet_bytes; ++bytes) {
    ASSERT_TRUE(this->poll_until([&] { return this->send(bytes, bytes) == post_result::ok; }));
    ASSERT_TRUE(this->arrived(1));
    this->expect_whole(this->sink_.messages.front(), bytes, bytes);
    EXPECT_NE(this->sink_.messages.front().owner, nullptr);
    this->sink_.messages.clear();
    EXPECT_EQ(this->poll(), 0U);
  }
  this->expect_no_packet_lost();
}

TYPED_TEST(transport, refuses_when_there_is_no_room_and_then_nothing_has_happened) {
  constexpr std::uint64_t posts_max = 1'000'000;
  // The first contact may take a while, in which everything is refused.
  ASSERT_TRUE(this->posted(5, 5));
  ASSERT_TRUE(this->arrived(1));
  this->sink_.messages.clear();
  for (int round = 0; round < 3; ++round) {
    std::multiset<std::uint64_t> taken;
    std::uint64_t tag = 0;
    // Twice in a row: a refusal may be a whim.
    for (int refusals = 0; refusals < 2 && tag < posts_max; ++tag) {
      if (this->inject(tag, 8) == post_result::ok) {
        taken.insert(tag);
        refusals = 0;
      } else {
        ++refusals;
      }
    }
    EXPECT_LT(tag, posts_max);
    EXPECT_FALSE(taken.empty());
    for (int i = 0; i < 3; ++i, ++tag) {
      if (this->send(tag, 100) == post_result::ok) taken.insert(tag);
    }
    ASSERT_TRUE(this->arrived(taken.size()));
    EXPECT_EQ(this->tags_of(this->sink_), taken);
    for (const received& each : this->sink_.messages) {
      this->expect_whole(each, each.header.tag, each.owner == nullptr ? 8 : each.bytes.size());
    }
    this->sink_.messages.clear();
  }
  ASSERT_TRUE(this->posted(5, 5));
  EXPECT_TRUE(this->arrived(1));
  this->expect_no_packet_lost();
}

TYPED_TEST(transport, hands_a_message_that_found_no_room_over_again) {
  const std::map<std::uint64_t, std::size_t> messages{{1, 8}, {2, 300}, {3, 40}, {4, packet_bytes}};
  for (int round = 0; round < 20; ++round) {
    this->sink_.room = 0;
    std::multiset<std::uint64_t> tags;
    for (const auto& [tag, bytes] : messages) {
      ASSERT_TRUE(this->posted(tag, bytes));
      tags.insert(tag);
    }
    for (std::size_t taken = 0; taken < messages.size(); ++taken) {
      this->sink_.room = 0;
      this->sink_.refused = 0;
      // What is refused does not count as moved, and comes again.
      for (int i = 0; i < 3; ++i) EXPECT_EQ(this->poll(), 0U);
      ASSERT_TRUE(this->poll_until([&] { return this->sink_.refused > 1; }));
      EXPECT_EQ(this->sink_.messages.size(), taken);
      this->sink_.room = 1;
      ASSERT_TRUE(this->arrived(taken + 1));
      const received& last = this->sink_.messages.back();
      ASSERT_TRUE(messages.contains(last.header.tag));
      this->expect_whole(last, last.header.tag, messages.at(last.header.tag));
    }
    EXPECT_EQ(this->tags_of(this->sink_), tags);
    this->sink_.room = 100;
    EXPECT_EQ(this->poll(), 0U);
    this->expect_no_packet_lost();
  }
}

TYPED_TEST(transport, hands_over_nothing_of_a_peer_after_a_message_that_found_no_room_in_the_same_poll) {
  for (std::uint64_t tag = 0; tag < 5; ++tag) ASSERT_TRUE(this->posted(tag, 8));
  for (int i = 0; i < 200; ++i) {
    this->sink_.room = 0;
    this->sink_.refused = 0;
    EXPECT_EQ(this->in().poll(this->sink_, 64), 0U);
    EXPECT_LE(this->sink_.refused, 1U);
  }
  this->sink_.room = 100;
  EXPECT_TRUE(this->arrived(5));
}

TYPED_TEST(transport, keeps_to_the_budget_of_a_poll) {
  this->sink_.room = 0;
  for (std::uint64_t tag = 0; tag < 6; ++tag) ASSERT_TRUE(this->posted(tag, 8));
  this->sink_.room = 100;
  ASSERT_TRUE(this->poll_until(
      [&] {
        const std::size_t before = this->sink_.messages.size();
        const unsigned moved = this->in().poll(this->sink_, 2);
        EXPECT_LE(moved, 2U);
        EXPECT_EQ(this->sink_.messages.size(), before + moved);
        return this->sink_.messages.size() == 6;
      },
      1));
  for (const received& each : this->sink_.messages) this->expect_whole(each, each.header.tag, 8);
  EXPECT_EQ(this->tags_of(this->sink_), (std::multiset<std::uint64_t>{0, 1, 2, 3, 4, 5}));
}

TYPED_TEST(transport, carries_many_laps_of_small_and_large_messages) {
  constexpr std::uint64_t count = 5000;
  const auto bytes_of = [](std::uint64_t tag) { return static_cast<std::size_t>(tag * tag % (packet_bytes + 1)); };
  std::uint64_t posted = 0, arrived = 0;
  std::vector<bool> seen(count);
  unsigned burst = 0;
  ASSERT_TRUE(this->poll_until(
      [&] {
        ++burst;
        for (unsigned i = 0; i < burst % 11 && posted < count; ++i) {
          if (this->post(posted, bytes_of(posted)) != post_result::ok) break;
          ++posted;
        }
        for (const received& each : this->sink_.messages) {
          const std::uint64_t tag = each.header.tag;
          EXPECT_LT(tag, posted);
          if (tag >= posted) break;
          EXPECT_FALSE(seen[tag]) << tag;
          seen[tag] = true;
          this->expect_whole(each, tag, bytes_of(tag));
          ++arrived;
        }
        this->sink_.messages.clear();
        return arrived == count;
      },
      3));
  this->expect_quiet();
  this->expect_no_packet_lost();
}

TYPED_TEST(transport, returns_packets_in_any_order_and_however_long_they_were_kept) {
  for (int round = 0; round < 10; ++round) {
    std::uint64_t tag = 0;
    ASSERT_TRUE(this->poll_until([&] {
      if (tag < packet_count && this->send(tag, 100 + tag) == post_result::ok) ++tag;
      return this->sink_.messages.size() == packet_count;
    }));
    EXPECT_EQ(tag, packet_count);
    // Every second one first, from the back.
    for (std::size_t i = this->sink_.messages.size(); i-- > 0;) {
      const received& each = this->sink_.messages[i];
      this->expect_whole(each, each.header.tag, 100 + each.header.tag);
      if (i % 2 == static_cast<std::size_t>(round % 2)) {
        received gone{std::move(this->sink_.messages[i])};
      }
    }
    this->expect_no_packet_lost();
  }
}

TYPED_TEST(transport, delivers_to_the_device_that_is_named_or_to_another_where_that_is_not_there) {
  const auto second = this->job().to().open(1);
  sink others;
  ASSERT_TRUE(this->posted(1, 8, 1));
  ASSERT_TRUE(this->posted(2, 8, 0));
  ASSERT_TRUE(this->posted(3, 8, 57));
  ASSERT_TRUE(this->poll_until([&] {
    second->poll(others, 16);
    return this->sink_.messages.size() + others.messages.size() == 3;
  }));
  EXPECT_EQ(this->tags_of(others).count(1), 1U);
  EXPECT_EQ(this->tags_of(this->sink_).count(2), 1U);
  EXPECT_EQ(this->tags_of(this->sink_).count(3) + this->tags_of(others).count(3), 1U);
}

TYPED_TEST(transport, delivers_what_is_under_way_to_a_device_that_goes_and_to_the_one_that_comes_after_it) {
  for (int round = 0; round < 5; ++round) {
    if (round > 0) this->in().release(1);
    auto second = this->job().to().open(1);
    sink others;
    ASSERT_TRUE(this->posted(1, 8, 1));
    ASSERT_TRUE(this->poll_until([&] {
      second->poll(others, 16);
      return others.messages.size() == 1;
    }));
    ASSERT_TRUE(this->posted(2, 8, 1));
    ASSERT_TRUE(this->posted(3, 200, 1));
    // Some of it may be in the hands of the device that goes.
    others.room = 0;
    second->poll(others, 16);
    this->job().to().transport.close(1);
    second.reset();
    EXPECT_EQ(this->poll(), 0U);
    this->in().adopt(1);
    ASSERT_TRUE(this->arrived(2));
    for (const received& each : this->sink_.messages) {
      this->expect_whole(each, each.header.tag, each.header.tag == 2 ? 8 : 200);
    }
    EXPECT_EQ(this->tags_of(this->sink_), (std::multiset<std::uint64_t>{2, 3}));
    this->sink_.messages.clear();
    // Named or not, it is gone: another one gets the message.
    ASSERT_TRUE(this->posted(4, 8, 1));
    EXPECT_TRUE(this->arrived(1));
    this->expect_no_packet_lost();
  }
}

TYPED_TEST(transport, reads_what_the_peer_offers_or_says_that_it_cannot) {
  const auto there = pattern(70'000, 3);
  for (int i = 0; i < 20; ++i) {
    std::vector<std::byte> here(there.size());
    const auto answer = this->in().read_remote(TypeParam::sender, here.data(),
                                               reinterpret_cast<std::uint64_t>(there.data()), there.size());
    if (answer == net::copy_result::done) {
      EXPECT_EQ(here, there);
    } else {
      EXPECT_EQ(answer, net::copy_result::unavailable);
    }
  }
}

TYPED_TEST(transport, writes_where_the_peer_wants_it_or_says_that_it_cannot) {
  const auto here = pattern(70'000, 4);
  for (int i = 0; i < 20; ++i) {
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
}

TYPED_TEST(transport, maps_shared_memory_where_it_says_that_it_shares_some) {
  net::transport& from = this->job().from().transport;
  net::transport& to = this->job().to().transport;
  std::byte* const own = from.shared_memory(TypeParam::sender);
  std::byte* const seen = to.shared_memory(TypeParam::sender);
  ASSERT_EQ(own == nullptr, from.shared_bytes() == 0);
  if (own == nullptr || seen == nullptr) return;
  ASSERT_EQ(from.shared_bytes(), to.shared_bytes());
  own[from.shared_bytes() - 1] = std::byte{7};
  EXPECT_EQ(seen[to.shared_bytes() - 1], std::byte{7});
}

TYPED_TEST(transport, reaches_whom_it_says_and_says_so_alike_on_both_sides) {
  EXPECT_TRUE(this->job().from().transport.reaches(TypeParam::target));
  EXPECT_EQ(this->job().from().transport.reaches_all(), this->job().to().transport.reaches_all());
}

// A shared endpoint, posted to by several threads while another polls: `busy` and `full` leave nothing behind.
TYPED_TEST(transport, takes_posts_of_several_threads_each_once) {
  constexpr std::uint64_t threads = 3, each = 2000;
  std::atomic<bool> given_up{false};
  std::vector<std::thread> posters;
  for (std::uint64_t t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < each && !given_up.load();) {
        const std::uint64_t tag = t * each + i;
        const auto answer = i % 3 == 0 ? this->send(tag, 200) : this->inject(tag, 40);
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
  const bool all = this->poll_until(
      [&] {
        for (const received& message : this->sink_.messages) {
          const std::uint64_t tag = message.header.tag;
          EXPECT_LT(tag, threads * each);
          if (tag >= threads * each) return false;
          EXPECT_FALSE(seen[tag]) << tag;
          seen[tag] = true;
          this->expect_whole(message, tag, tag % each % 3 == 0 ? 200 : 40);
        }
        arrived += this->sink_.messages.size();
        this->sink_.messages.clear();
        return arrived == threads * each;
      },
      16);
  given_up.store(true);
  for (std::thread& poster : posters) poster.join();
  EXPECT_TRUE(all) << arrived << " have arrived";
  this->expect_no_packet_lost();
}

}  // namespace
}  // namespace weft::contract

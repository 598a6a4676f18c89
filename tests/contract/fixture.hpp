// SPDX-License-Identifier: BSD-3-Clause
// The fixture of tests that every transport has to pass, and the list of transports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "contract/job.hpp"
#include "support/time_limit.hpp"
#include "support/waiting.hpp"

namespace weft::contract {

using net::post_result;

struct transport_case {
  contract::kind kind;
  seen_sink seen = seen_sink::least;
};
[[nodiscard]] inline std::string name_of(const testing::TestParamInfo<transport_case>& info) {
  return info.param.kind.name + (info.param.seen == seen_sink::whole ? "_words" : "");
}
inline void PrintTo(const transport_case& shown, std::ostream* out) { *out << shown.kind.name; }

/// Every transport, with a sink of this sort.
[[nodiscard]] inline std::vector<transport_case> every_transport(seen_sink seen) {
  std::vector<transport_case> out;
  for (const kind& each : every_kind()) out.push_back({each, seen});
  return out;
}

class transport_fixture : public testing::TestWithParam<transport_case> {
 protected:
  void SetUp() override {
    if (const std::string why = GetParam().kind.absent(); !why.empty()) GTEST_SKIP() << why;
    job_ = std::make_unique<test_job>(GetParam().kind);
    out_ = open(job().from(), 0);
    in_ = sender() == target() ? nullptr : open(job().to(), 0);
  }

  [[nodiscard]] const promises& promised() const { return GetParam().kind.promised; }
  [[nodiscard]] std::unique_ptr<endpoint> open(side& where, std::uint32_t slot) {
    return where.open(slot, GetParam().seen);
  }
  [[nodiscard]] test_job& job() noexcept { return *job_; }
  [[nodiscard]] std::uint32_t sender() const noexcept { return job_->sender(); }
  [[nodiscard]] std::uint32_t target() const noexcept { return job_->target(); }
  [[nodiscard]] endpoint& out() noexcept { return *out_; }
  [[nodiscard]] endpoint& in() noexcept { return in_ ? *in_ : *out_; }

  // Messages of 8 bytes are words where their kind is one of the first two.
  [[nodiscard]] static std::uint32_t kind_of(std::uint64_t tag) {
    constexpr std::uint32_t kinds[] = {sink::word_kinds[0].kind, sink::word_kinds[1].kind, 0xfedc};
    return kinds[tag % std::size(kinds)];
  }
  [[nodiscard]] static net::header header_of(std::uint64_t tag) {
    return {.kind = kind_of(tag),
            .id = static_cast<std::uint32_t>(tag * 7),
            .sequence = static_cast<std::uint32_t>(tag * 5),
            .tag = tag};
  }

  [[nodiscard]] post_result inject(std::uint64_t tag, std::size_t bytes, std::uint32_t device = net::any_device) {
    return inject_from(out(), tag, bytes, device);
  }
  [[nodiscard]] post_result inject_from(endpoint& from, std::uint64_t tag, std::size_t bytes,
                                        std::uint32_t device = net::any_device) {
    const auto payload = pattern(bytes, tag);
    return from.try_send_inline(target(), device, header_of(tag), payload.data(), static_cast<std::uint32_t>(bytes));
  }

  // A packet that was posted, or came back to its pool because it was not.
  [[nodiscard]] post_result send(std::uint64_t tag, std::size_t bytes, std::uint32_t device = net::any_device) {
    packet_pool& packets = job().from().packets;
    const std::uint32_t packet = packets.try_get();
    if (packet == net::packet_store::none) return post_result::full;
    const auto payload = pattern(bytes, tag);
    std::ranges::copy(payload, packets.data(packet));
    const auto answer = out().try_send(target(), device, header_of(tag), packet, static_cast<std::uint32_t>(bytes));
    if (answer != post_result::ok) {
      EXPECT_TRUE(std::ranges::equal(std::span{packets.data(packet), bytes}, payload));
      packets.put(packet);
    }
    return answer;
  }

  [[nodiscard]] post_result post(std::uint64_t tag, std::size_t bytes, std::uint32_t device = net::any_device) {
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
    weft::test::time_limit limit;
    while (!done()) {
      if (poll(budget) == 0) std::this_thread::yield();
      if (limit.is_over()) return false;
    }
    return true;
  }

  // Polls with this budget until so many messages are there; none of these polls may move more.
  [[nodiscard]] bool arrived_within_budget(std::size_t count, unsigned budget) {
    return poll_until(
        [&] {
          const std::size_t before = sink_.messages.size();
          const unsigned moved = in().poll(sink_, budget);
          EXPECT_LE(moved, budget);
          EXPECT_EQ(sink_.messages.size(), before + moved);
          return sink_.messages.size() == count;
        },
        1);
  }

  [[nodiscard]] bool arrived(std::size_t count) {
    return poll_until([&] { return sink_.messages.size() >= count; }) && sink_.messages.size() == count;
  }

  // A transport may have reasons to refuse a post now, but not for ever while its messages are taken.
  [[nodiscard]] bool posted(std::uint64_t tag, std::size_t bytes, std::uint32_t device = net::any_device) {
    return poll_until([&] { return post(tag, bytes, device) == post_result::ok; });
  }

  // Whatever a first contact needs has happened.
  void meet() {
    ASSERT_TRUE(posted(2, 5));
    ASSERT_TRUE(arrived(1));
    sink_.messages.clear();
  }

  // Nothing more comes, however often one looks.
  void expect_quiet() {
    for (int i = 0; i < 100; ++i) ASSERT_EQ(poll(), 0U);
  }

  void expect_whole(const received& message, std::uint64_t tag, std::size_t bytes) {
    EXPECT_EQ(message.source, sender());
    EXPECT_EQ(message.header.kind, kind_of(tag));
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
    EXPECT_EQ(job().to().payloads_out(), 0);
    EXPECT_TRUE(poll_until([&] {
      return job().from().packets.free_count() == packet_count && job().to().packets.free_count() == packet_count;
    })) << job().from().packets.free_count()
        << " packets are with the sender, " << job().to().packets.free_count() << " with the target";
    EXPECT_EQ(job().to().transport.counted().refused, 0U);
  }

  std::unique_ptr<test_job> job_;
  std::unique_ptr<endpoint> out_, in_;
  sink sink_, none_;
};

}  // namespace weft::contract

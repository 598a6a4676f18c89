// SPDX-License-Identifier: BSD-3-Clause
// Messages that no rank receives for a long time: they are taken up to a bound, then their senders are asked to keep
// the bytes; nothing else is held up, and nothing is lost.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "core/matching/kept_messages.hpp"
#include "core/matching/send_budget.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

using weft::test::eventually;
using weft::test::post;

constexpr std::size_t bytes = 1000;
constexpr std::uint64_t sends_max = 4000;  // fewer than there are packets
constexpr std::uint64_t after = 100;       // sent once the first was kept
constexpr std::uint64_t burst = 1500;      // more than may wait in packets

std::vector<std::byte> payload_of(std::uint64_t tag) {
  std::vector<std::byte> out(bytes, static_cast<std::byte>(tag * 7));
  std::memcpy(out.data(), &tag, sizeof tag);
  return out;
}

struct budget_case {
  const char* name;
  bool ordered;
  weft::runtime_options options;
};

class unexpected_budget : public testing::TestWithParam<budget_case> {};

TEST_P(unexpected_budget, sends_over_it_keep_their_bytes_and_all_arrive) {
  weft::test::local_job{2, GetParam().options}.run([&](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::matching_engine engine{rt, {.ordered = GetParam().ordered}};
    weft::completion_queue received{rt};
    weft::counter sent{rt};
    std::uint64_t number = 0;
    rt.barrier();
    if (rt.rank() == 0) {
      std::uint64_t kept = 0;
      std::vector<std::vector<std::byte>> payloads;
      payloads.reserve(sends_max + after);
      const auto send = [&] {
        payloads.push_back(payload_of(number));
        const auto answer =
            post(dev, [&] { return dev.post_send(1, payloads.back(), sent, {.tag = number, .engine = engine.id()}); });
        ++number;
        dev.progress();
        if (answer.is_posted()) ++kept;
      };
      while (kept == 0 && number < sends_max) send();
      EXPECT_GT(kept, 0U) << "every one of " << number << " messages that nobody receives was taken";
      for (std::uint64_t i = 0; i < after; ++i) send();
      EXPECT_GE(kept, after);
      EXPECT_EQ(sent.value(), 0U);

      // They do not hold up operations that need packets.
      weft::counter through{rt};
      const auto other = payload_of(number);
      const auto posted = post(dev, [&] { return dev.post_send(1, other, through, {.tag = sends_max * 2}); });
      static_cast<void>(posted);
      std::uint64_t count = number;
      static_cast<void>(post(dev, [&] {
        return dev.post_send(1, weft::const_buffer_ref{&count, sizeof count}, through, {.tag = sends_max * 2 + 1});
      }));
      EXPECT_TRUE(eventually(dev, [&] { return sent.value() == kept; }));
      EXPECT_TRUE(eventually(dev, [&] { return through.value() == posted.is_posted(); }));
      rt.barrier();

      // Once they are gone, packets are welcome again.
      bool welcome = false;
      for (std::uint64_t i = 0; i < sends_max && !welcome; ++i) {
        std::uint64_t is_last = 0;
        weft::counter local{rt};
        const auto answer = post(dev, [&] { return dev.post_send(1, other, local, {.tag = 5}); });
        welcome = answer.is_done();
        EXPECT_TRUE(eventually(dev, [&] { return local.value() == answer.is_posted(); }));
        is_last = welcome || i + 1 == sends_max;
        static_cast<void>(post(dev, [&] {
          return dev.post_send(1, weft::const_buffer_ref{&is_last, sizeof is_last}, local, {.tag = 6});
        }));
      }
      EXPECT_TRUE(welcome);
    } else {
      const auto receive = [&](std::uint64_t tag, std::uint32_t from, std::span<std::byte> into) {
        static_cast<void>(post(dev, [&] { return dev.post_recv(0, into, received, {.tag = tag, .engine = from}); }));
        std::optional<weft::completion_record> got;
        ASSERT_TRUE(eventually(dev, [&] { return (got = received.pop()).has_value(); }));
        EXPECT_EQ(got->error(), weft::errc::none);
        EXPECT_EQ(got->tag(), tag);
        EXPECT_EQ(got->bytes(), into.size());
      };
      std::array<std::byte, bytes> buffer;
      receive(sends_max * 2, weft::default_matching_engine, buffer);
      receive(sends_max * 2 + 1, weft::default_matching_engine, std::as_writable_bytes(std::span{&number, 1}));
      for (std::uint64_t tag = number; tag-- > 0;) {
        receive(tag, engine.id(), buffer);
        ASSERT_TRUE(std::ranges::equal(buffer, payload_of(tag))) << tag;
      }
      rt.barrier();
      for (std::uint64_t is_last = 0; is_last == 0;) {
        receive(5, weft::default_matching_engine, buffer);
        receive(6, weft::default_matching_engine, std::as_writable_bytes(std::span{&is_last, 1}));
      }
    }
    rt.barrier();
  });
}

class unexpected_burst : public testing::TestWithParam<bool> {};

// Both ranks send all of their messages before they receive one, and nothing but their sends makes progress.
TEST_P(unexpected_burst, is_taken_before_any_of_it_is_received) {
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    weft::device& dev = rt.default_device();
    weft::matching_engine engine{rt, {.ordered = GetParam()}};
    weft::counter sent{rt}, received{rt};
    const std::uint32_t peer = 1 - rt.rank();
    rt.barrier();
    std::uint64_t posted = 0;
    for (const std::size_t size : {std::size_t{41}, std::size_t{1000}, std::size_t{8192}}) {
      std::vector<std::byte> payload(size);
      const auto options = [&](std::uint64_t tag) {
        return weft::post_send_options{.tag = tag, .engine = engine.id()};
      };
      for (std::uint64_t tag = 0; tag < burst; ++tag) {
        std::memcpy(payload.data(), &tag, sizeof tag);
        if (post(dev, [&] { return dev.post_send(peer, payload, sent, options(tag)); }).is_posted()) ++posted;
      }
      EXPECT_EQ(posted, 0U) << "messages of " << size << " bytes wait for their receives";
      std::vector<std::byte> all(burst * size);
      for (std::uint64_t tag = burst; tag-- > 0;) {
        const weft::buffer_ref into{&all[tag * size], size};
        const std::uint64_t before = received.value();
        static_cast<void>(
            post(dev, [&] { return dev.post_recv(peer, into, received, {.tag = tag, .engine = engine.id()}); }));
        ASSERT_TRUE(eventually(dev, [&] { return received.value() != before; }));
        std::uint64_t arrived = burst;
        std::memcpy(&arrived, &all[tag * size], sizeof arrived);
        ASSERT_EQ(arrived, tag);
      }
    }
    EXPECT_TRUE(eventually(dev, [&] { return sent.value() == posted; }));
    EXPECT_EQ(received.failed(), 0U);
    rt.barrier();
  });
}

TEST(kept_messages, beyond_the_budget_are_told_of_once) {
  weft::core::kept_messages store{1000};
  const weft::base::id_table<> nobody_registered{16};
  const std::array<std::byte, 600> payload{};
  weft::net::arrival message{};
  message.source = 3;
  message.header.id = 7;
  message.payload = payload.data();
  message.bytes = payload.size();
  using answer = weft::core::kept_messages::answer;
  testing::internal::CaptureStderr();
  EXPECT_EQ(store.keep(message, nobody_registered), answer::kept);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(store.keep(message, nobody_registered), answer::no_room);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("from rank 3 for id 7 waits"), std::string::npos) << said;
  EXPECT_EQ(said.find("waits"), said.rfind("waits")) << said;
  EXPECT_TRUE(store.is_consistent());
}

TEST(send_budget, knows_of_a_rank_whose_packets_were_given_back_twice) {
  weft::core::send_budget budget{{.packets_max = 100, .copied_bytes_max = 1000, .packet_bytes = 100}, 3};
  budget.add(1);
  budget.take(1);
  EXPECT_TRUE(budget.is_consistent());
  budget.take(2);
  EXPECT_FALSE(budget.is_consistent());
  budget.add(2);
  budget.add_copy(0, 64);
  budget.take_copy(0, 64);
  EXPECT_TRUE(budget.is_consistent());
  budget.take_copy(0, 64);
  EXPECT_FALSE(budget.is_consistent());
}

constexpr std::size_t few_bytes = 300'000;

// A single packet says that senders are asked at once, as under `weft-run --sim`.
INSTANTIATE_TEST_SUITE_P(each_bound, unexpected_budget,
                         testing::Values(budget_case{"unordered_bytes", false, {.unexpected_bytes_max = few_bytes}},
                                         budget_case{"ordered_bytes", true, {.unexpected_bytes_max = few_bytes}},
                                         budget_case{"unordered_packets", false, {.unexpected_packets_max = 1}},
                                         budget_case{"ordered_packets", true, {.unexpected_packets_max = 1}}),
                         [](const auto& each) { return each.param.name; });
INSTANTIATE_TEST_SUITE_P(of_every_kind, unexpected_burst, testing::Bool(),
                         [](const auto& each) { return each.param ? "ordered" : "unordered"; });

}  // namespace

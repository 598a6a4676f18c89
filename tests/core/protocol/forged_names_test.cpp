// SPDX-License-Identifier: BSD-3-Clause
// A faulty peer names regions, engines and operations that are not there, or not its own, over the whole range of their
// names, in every kind of message that has such a name: nothing is written, matched or ended, no operation and no
// memory stays behind.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/message/wire.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/boundaries.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using core::wire;

// Messages of faulty ranks, to rank 0.
class forger {
 public:
  explicit forger(runtime& rt) : rt_{rt} {}

  // Whether the message is taken; else the transport would keep it, and offer it again.
  template <class Body>
  bool send(wire kind, std::uint32_t id, const Body& body, std::uint32_t sequence = 0, std::uint32_t source = 0,
            std::uint64_t tag = 7) {
    static_assert(sizeof body <= 40);
    std::array<std::byte, 40> payload{};
    std::memcpy(payload.data(), &body, sizeof body);
    const net::header header{.kind = static_cast<std::uint32_t>(kind), .id = id, .sequence = sequence, .tag = tag};
    return test::local_job::state_of(rt_).devices().standard().on_message(
        {source, header, payload.data(), sizeof body, nullptr});
  }

  // Sends the answers that this rank owes itself, which name no operation; then no operation is under way.
  [[nodiscard]] bool is_quiet() {
    return test::eventually(rt_.default_device(), [&] {
      bool out = rt_.default_device().counters().backlog.operations == 0;
      test::local_job::state_of(rt_).operations().arrivals().each([&](core::operation_state&) { out = false; });
      return out;
    });
  }

 private:
  runtime& rt_;
};

std::uint32_t atomic_of_8_bytes() { return 8U << 8; }

struct put_of_a_word {
  core::put_body head;
  std::uint64_t word;
};

// Names near the true one: neighbours, names that differ in one bit, and names with its index in the table.
std::vector<std::uint64_t> forged_names(const runtime& rt, std::uint64_t right) {
  std::vector<std::uint64_t> out{test::boundary_words.begin(), test::boundary_words.end()};
  for (unsigned bit = 0; bit < 64; ++bit) out.push_back(right ^ std::uint64_t{1} << bit);
  for (std::uint64_t i = 1; i < 4; ++i) {
    out.push_back(right + i * rt.attributes().regions_max);
    out.push_back(right - i * rt.attributes().regions_max);
  }
  std::erase(out, right);
  return out;
}

TEST(forged_names, of_regions_reach_no_memory_in_any_kind_of_message) {
  test::local_job{1}.run([](runtime& rt) {
    completion_queue signals{rt};
    const registration arrivals = rt.register_completion(signals, {.id = 1});
    std::array<std::uint64_t, 8> memory{};
    const memory_region users{rt, std::as_writable_bytes(std::span{memory})};
    const memory_region librarys{rt, std::size_t{4096}};
    forger peer{rt};
    const std::uint64_t rejected_before = rt.counters().messages_refused;
    std::uint64_t answers = 0;
    for (const memory_region* right : {&users, &librarys}) {
      for (const std::uint64_t name : forged_names(rt, right->handle().name)) {
        if (name == users.handle().name || name == librarys.handle().name) continue;
        for (const std::uint32_t id : {core::no_signal, 1U}) {
          EXPECT_TRUE(peer.send(wire::put, id, put_of_a_word{{name, 0, 1}, ~std::uint64_t{0}})) << name;
          EXPECT_TRUE(peer.send(wire::put_rts, id, core::put_rts_body{name, 0, 8, 1})) << name;
          EXPECT_TRUE(peer.send(wire::get, id, core::put_rts_body{name, 0, 8, 1})) << name;
          answers += 3;
        }
        const core::atomic_body add{name, 0, 1, 0, 1};
        EXPECT_TRUE(peer.send(wire::atomic, 0, add, atomic_of_8_bytes())) << name;
        ++answers;
        for (const wire kind : {wire::put_signal, wire::get_signal}) {
          EXPECT_TRUE(peer.send(kind, 1, core::signal_body{name, 0, 8})) << name;
          const std::optional<completion_record> signal = signals.pop();
          ASSERT_TRUE(signal.has_value());
          EXPECT_EQ(signal->data().data(), nullptr) << "memory of a region that is not there, for " << name;
        }
        ASSERT_TRUE(peer.is_quiet());
      }
    }
    EXPECT_FALSE(signals.pop().has_value()) << "a put or get of no region has signalled";
    EXPECT_EQ(memory, (std::array<std::uint64_t, 8>{}));
    for (const std::byte each : librarys.memory()) ASSERT_EQ(each, std::byte{});
    // Each request was answered, with an error that no operation here waits for.
    EXPECT_TRUE(test::eventually(rt.default_device(),
                                 [&] { return rt.counters().messages_refused == rejected_before + answers; }));
  });
}

TEST(forged_names, of_engines_match_nothing_in_any_kind_of_message) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine ordered{rt, {.id = 3, .ordered = true}};
    const matching_engine unordered{rt, {.id = 4}};
    const matching_engine first{rt, {.id = 5, .receiver_first = true}};
    { const matching_engine gone{rt, {.id = 6}}; }
    counter received{rt};
    std::array<std::uint64_t, 4> words{};
    std::vector<status> receives;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t engine = i == 0 ? default_matching_engine : 2 + i;
      receives.push_back(test::post(dev, [&] {
        return dev.post_recv(0, std::span{&words[i], 1}, received, {.tag = 7, .engine = engine});
      }));
    }
    std::vector<std::uint32_t> ids{0, 1, 2, 6, 7, 8};
    for (unsigned bit = 0; bit < 32; ++bit) {
      for (const std::uint32_t right : {default_matching_engine, 3U, 4U, 5U}) ids.push_back(right ^ 1U << bit);
    }
    for (const std::uint64_t each : test::boundary_words) ids.push_back(static_cast<std::uint32_t>(each));
    std::erase_if(ids, [](std::uint32_t id) { return id == default_matching_engine || (id >= 3 && id <= 5); });

    forger peer{rt};
    for (const std::uint32_t id : ids) {
      for (const std::uint32_t sequence : {0U, 1U, core::first_order_number, 0x7fff'ffffU, 0x8000'0000U, ~0U}) {
        // Messages for engines that are not made yet are kept, within a bound; then they stay with the transport.
        static_cast<void>(peer.send(wire::send, id, std::uint64_t{13}, sequence));
        static_cast<void>(peer.send(wire::send_rts, id, core::rts_body{0, 8, 1, 1}, sequence));
        static_cast<void>(peer.send(wire::ready_to_receive, id, core::ready_body{0, 8, 1}, sequence));
        static_cast<void>(peer.send(wire::withdraw_rtr, id, core::withdraw_rtr_body{receives[3].ticket()}, sequence));
      }
      for (const status& receive : receives) {
        static_cast<void>(peer.send(wire::withdraw_rts, id, core::withdraw_rts_body{receive.ticket(), 1}));
      }
      dev.progress();
    }
    ASSERT_TRUE(peer.is_quiet());
    EXPECT_EQ(received.value(), 0U);
    EXPECT_EQ(words, (std::array<std::uint64_t, 4>{}));
    // The true engines go on.
    counter sent{rt};
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint64_t word = 20 + i;
      const std::uint32_t engine = i == 0 ? default_matching_engine : 2 + i;
      static_cast<void>(test::post(dev, [&] {
        return dev.post_send(0, std::span{&word, 1}, sent, {.tag = 7, .engine = engine});
      }));
      EXPECT_TRUE(test::eventually(dev, [&] { return received.value() == i + 1 && sent.outstanding() == 0; })) << i;
    }
    EXPECT_EQ(words, (std::array<std::uint64_t, 4>{20, 21, 22, 23}));
    EXPECT_EQ(received.failed(), 0U);
  });
}

// Messages of `source` that would continue or end the operation that `ticket` names.
void continue_by(forger& peer, std::uint32_t source, std::uint64_t ticket) {
  constexpr std::uint64_t bytes = 8;
  for (const std::uint64_t error : {std::uint64_t{0}, std::uint64_t{5}, ~std::uint64_t{0}}) {
    EXPECT_TRUE(peer.send(wire::fin, 0, core::fin_body{ticket, error}, 0, source));
    EXPECT_TRUE(peer.send(wire::atomic_result, 0, core::atomic_result_body{ticket, 13, error}, 0, source));
    EXPECT_TRUE(peer.send(wire::written, 0, core::written_body{ticket, bytes, 0, error}, 0, source));
    EXPECT_TRUE(peer.send(wire::written, 0, core::written_body{ticket, bytes, 1, error}, 0, source));
  }
  const core::copy_invitation_body invitation{ticket, 4096, bytes, 0, 1};
  EXPECT_TRUE(peer.send(wire::rtr, 0, core::rtr_body{ticket, 1}, 0, source));
  EXPECT_TRUE(peer.send(wire::copy_invitation, 0, invitation, 0, source));
  EXPECT_TRUE(peer.send(wire::chunk, 0, std::uint64_t{13}, 0, source, ticket));
  EXPECT_TRUE(peer.send(wire::last_chunk, 0, std::uint64_t{13}, 0, source, ticket));
  for (const std::uint64_t is_begun : {0U, 1U}) {
    EXPECT_TRUE(peer.send(wire::withdraw_answer, 0, core::withdraw_answer_body{ticket, is_begun}, 0, source));
  }
}

TEST(forged_names, of_operations_continue_none_of_another_rank_or_number) {
  test::flag polls_no_more, may_poll;
  std::uint64_t there = 0;
  remote_region region_of_1;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine first{rt, {.id = 5, .receiver_first = true}};
    std::optional<memory_region> region;
    if (rt.rank() == 1) {
      region.emplace(rt, std::as_writable_bytes(std::span{&there, 1}));
      region_of_1 = region->handle();
    }
    rt.barrier();
    if (rt.rank() == 1) {
      polls_no_more.raise();
      EXPECT_TRUE(test::eventually([&] { return may_poll.is_raised(); }));
    } else {
      ASSERT_TRUE(test::eventually([&] { return polls_no_more.is_raised(); }));
      counter ended{rt};
      const std::vector<std::byte> bytes(100'000, std::byte{1});
      std::vector<std::byte> into(100'000);
      std::uint64_t word = 0, old = 99;
      const std::array<std::pair<std::uint32_t, status>, 3> posted{{
          {0, test::post(dev, [&] { return dev.post_send(0, bytes, ended, {.tag = 7}); })},
          {0, test::post(dev,
                         [&] {
                           return dev.post_recv(0, std::span{&word, 1}, ended, {.tag = 8, .engine = 5});
                         })},
          {1, test::post(dev,
                         [&] {
                           return dev.post_atomic<std::uint64_t>(1, atomic_op::fetch_add, 1, {region_of_1, 0}, ended,
                                                                 {.result = &old, .allow_done = false});
                         })},
      }};
      for (int i = 0; i < 1000; ++i) dev.progress();  // the messages to itself arrive
      forger peer{rt};
      const auto is_right = [&](std::uint64_t ticket) {
        return std::ranges::any_of(posted, [&](const auto& each) { return each.second.ticket() == ticket; });
      };
      for (const auto& [with, answer] : posted) {
        ASSERT_TRUE(answer.is_posted());
        continue_by(peer, 1 - with, answer.ticket());
        for (unsigned bit = 0; bit < 64; ++bit) {
          const std::uint64_t near = answer.ticket() ^ std::uint64_t{1} << bit;
          if (!is_right(near)) continue_by(peer, with, near);
        }
      }
      for (const std::uint64_t ticket : test::boundary_words) {
        for (const std::uint32_t source : {0U, 1U}) {
          if (!is_right(ticket)) continue_by(peer, source, ticket);
        }
      }
      for (int i = 0; i < 100; ++i) dev.progress();
      EXPECT_EQ(ended.value(), 0U) << "a forged message has ended an operation";
      EXPECT_EQ(old, 99U);
      EXPECT_EQ(word, 0U);
      // Each of them ends as if nothing had been.
      may_poll.raise();
      const std::uint64_t sent = 5;
      counter received{rt};
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, into, received, {.tag = 7}); }));
      static_cast<void>(test::post(dev, [&] {
        return dev.post_send(0, std::span{&sent, 1}, received, {.tag = 8, .engine = 5});
      }));
      EXPECT_TRUE(test::eventually(dev, [&] { return ended.value() == 3 && received.outstanding() == 0; }));
      EXPECT_EQ(ended.failed() + received.failed(), 0U);
      EXPECT_EQ(into, bytes);
      EXPECT_EQ(word, sent);
      EXPECT_EQ(old, 0U);
    }
    rt.barrier();
    if (rt.rank() == 1) {
      EXPECT_EQ(there, 1U);
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft

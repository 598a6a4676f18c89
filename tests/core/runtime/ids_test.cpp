// SPDX-License-Identifier: BSD-3-Clause
// Registrations and engines that have gone leave nothing behind but the knowledge that their ids were used.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(ids, of_registrations_that_come_and_go_leave_no_entries) {
  test::local_job{1}.run([](runtime& rt) {
    core::runtime_state& state = test::local_job::state_of(rt);
    counter inbox{rt}, sent{rt};
    const registration stays = rt.register_completion(inbox, {.id = 3});
    const std::size_t before = state.registrations().count();
    const std::uint32_t last = test::under_sanitizer ? 5'010 : 100'010;
    for (std::uint32_t id = 10; id < last; ++id) {
      const registration brief = rt.register_completion(inbox, {.id = id});
    }
    EXPECT_EQ(state.registrations().count(), before);
    EXPECT_LE(state.registrations().ids().bytes(), 4096U);
    // What is sent to one of them is dropped, and the one that stays gets its messages.
    static_cast<void>(test::post(rt.default_device(),
                                 [&] { return rt.default_device().post_am(0, {4'777}, const_buffer_ref{}, sent); }));
    static_cast<void>(
        test::post(rt.default_device(), [&] { return rt.default_device().post_am(0, {3}, const_buffer_ref{}, sent); }));
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return inbox.value() == 1; }));
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return rt.counters().messages_dropped == 1; }));
    EXPECT_THROW(static_cast<void>(rt.register_completion(inbox, {.id = 10})), error);
    EXPECT_THROW(static_cast<void>(rt.register_completion(inbox, {.id = 3})), error);
    EXPECT_EQ(state.registrations().count(), before) << "a refused one stays";
  });
}

TEST(ids, of_engines_that_come_and_go_leave_no_engines) {
  test::local_job{1}.run([](runtime& rt) {
    core::runtime_state& state = test::local_job::state_of(rt);
    device& dev = rt.default_device();
    counter done{rt};
    const std::size_t before = state.matching().engines().count();
    std::uint64_t word = 0;
    std::uint32_t last = 0;
    for (std::uint32_t round = 0; round < (test::under_sanitizer ? 1'000 : 10'000); ++round) {
      const matching_engine brief{rt, {.ordered = round % 2 == 0}};
      last = brief.id();
      if (round % 100 != 0) continue;
      const std::uint64_t goes = round + 1;
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{&word, 1}, done, {.engine = last}); }));
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{&goes, 1}, done, {.engine = last}); }));
      ASSERT_TRUE(test::eventually(dev, [&] { return word == goes; }));
    }
    EXPECT_EQ(state.matching().engines().count(), before);
    EXPECT_LE(state.matching().engines().ids().bytes(), 4096U);
    EXPECT_THROW(static_cast<void>(dev.post_recv(0, std::span{&word, 1}, done, {.engine = last})), error);
    while (done.outstanding() != 0) dev.progress();
  });
}

// As of communicators whose members never meet again.
TEST(ids, of_engines_with_gaps_take_a_bounded_memory) {
  constexpr std::uint32_t bound = core::engines::ended_intervals_max, count = test::under_sanitizer ? 1'000 : 3 * bound;
  constexpr std::size_t interval_bytes = 48, table_bytes = 8192;
  test::local_job{1}.run([](runtime& rt) {
    for (std::uint32_t i = 0; i < count; ++i) const matching_engine brief{rt, {.id = 2 * i}};
    const auto& ids = test::local_job::state_of(rt).matching().engines().ids();
    EXPECT_LE(ids.bytes(), 2 * bound * interval_bytes + table_bytes);
    EXPECT_EQ(ids.state(2 * (count - 1)), base::presence::withdrawn) << "the newest is known";
    EXPECT_EQ(ids.state(1), base::presence::unknown) << "a gap is none that was used";
  });
}

TEST(ids, of_registrations_that_have_gone_keep_what_records_need) {
  test::local_job{1}.run([](runtime& rt) {
    core::runtime_state& state = test::local_job::state_of(rt);
    device& dev = rt.default_device();
    completion_queue inbox{rt};
    counter sent{rt};
    const std::size_t before = state.registrations().count();
    const std::vector<std::byte> large(100'000, std::byte{7});
    std::vector<completion_record> records;
    for (std::uint32_t id = 0; id < 100; ++id) {
      const registration brief = rt.register_completion(inbox, {.id = id});
      if (id % 10 != 0) continue;
      static_cast<void>(test::post(dev, [&] { return dev.post_am(0, {id}, large, sent); }));
      ASSERT_TRUE(test::eventually(dev, [&] {
        if (auto got = inbox.pop()) records.push_back(std::move(*got));
        return records.size() == id / 10 + 1;
      }));
    }
    EXPECT_EQ(state.registrations().count(), before + records.size());
    for (const completion_record& each : records) EXPECT_EQ(each.data().back(), std::byte{7});
    records.clear();
    for (std::uint32_t id = 100; id < 200; ++id) {
      const registration brief = rt.register_completion(inbox, {.id = id});
    }
    EXPECT_LE(state.registrations().count(), before + 16);
    while (sent.outstanding() != 0) dev.progress();
  });
}

// Of every kind of message that signals: by then nothing may look at what the registration had.
TEST(ids, may_be_withdrawn_by_the_handler_that_they_call) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::vector<std::byte> bytes(100, std::byte{7}), written(100);
    const memory_region region{rt, std::span{written}};
    completion_queue handles{rt};
    counter sent{rt};
    std::optional<registration> brief;
    std::uint32_t came = 0;
    handler once{rt, [&](completion_record&&) {
                   brief.reset();
                   ++came;
                 }};
    const registration of_handles = rt.register_completion(handles, {.id = 1});
    const std::uint32_t peer = 1 - rt.rank();
    static_cast<void>(test::post_until_taken(dev, peer, {1}, std::span{&region.handle(), 1}, sent));
    std::optional<completion_record> got;
    ASSERT_TRUE(test::eventually(dev, [&] { return (got = handles.pop()).has_value(); }));
    remote_region there;
    std::memcpy(&there, got->data().data(), sizeof there);
    for (std::uint32_t id = 5; id < 9; ++id) {
      brief.emplace(rt.register_completion(once, {.id = id}));
      rt.barrier();
      const std::size_t size = id % 2 == 0 ? 8 : 100;
      const std::span<std::byte> payload = std::span{bytes}.first(size);
      static_cast<void>(test::post(dev, [&] {
        return id < 7 ? dev.post_put(peer, payload, {there, 0}, sent, {.signal = {id}})
                      : dev.post_am(peer, {id}, payload, sent);
      }));
      ASSERT_TRUE(test::eventually(dev, [&] { return came == id - 4; }));
      EXPECT_FALSE(brief.has_value());
      dev.flush();
      rt.barrier();
    }
  });
}

// Threads post to an engine, and cancel, while others come and go and their names leave the table.
TEST(ids, of_an_engine_are_found_while_others_come_and_go) {
  test::local_job{1}.run([](runtime& rt) {
    test::flag ends;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&, i] {
        device dev{rt};
        counter done{rt};
        const matching_engine stays{rt, {.ordered = i == 0}};
        std::uint64_t word = 0;
        while (!ends.is_raised()) {
          const status posted = dev.post_recv(0, std::span{&word, 1}, done, {.engine = stays.id()});
          if (!posted.is_posted()) continue;
          ASSERT_TRUE(test::eventually(dev, [&] { return dev.cancel(posted.ticket()) == cancel_result::cancelled; }));
        }
        EXPECT_TRUE(test::eventually(dev, [&] { return done.outstanding() == 0; }));
      });
    }
    for (int round = 0; round < (test::under_sanitizer ? 300 : 3'000); ++round)
      const matching_engine brief{rt, {.ordered = round % 2 == 0}};
    ends.raise();
    for (std::thread& each : threads) each.join();
  });
}

}  // namespace
}  // namespace weft

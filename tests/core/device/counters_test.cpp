// SPDX-License-Identifier: BSD-3-Clause
// What a device counts.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/device/device_counts.hpp"
#include "support/between_threads.hpp"
#include "support/fixed_pools.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

TEST(counters, tell_what_was_posted_and_what_has_arrived) {
  test::local_job{1}.run([](runtime& rt) {
    device dev{rt};
    completion_queue queue{rt};
    const registration mail = rt.register_completion(queue, {.id = 1});
    counter local{rt};
    std::array<char, 100> bytes{};
    std::array<char, 8> word{};
    EXPECT_TRUE(test::post(dev, [&] { return dev.post_am(0, {1}, std::span{word}, local); }).is_done());
    EXPECT_TRUE(test::post(dev, [&] { return dev.post_am(0, {1}, std::span{bytes}, local); }).is_done());
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{bytes}, local, {.tag = 7}); }));
    static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{word}, local, {.tag = 7}); }));
    const memory_region region{rt, 4096};
    static_cast<void>(test::post(dev, [&] { return dev.post_put(0, std::span{bytes}, {region.handle(), 0}, local); }));
    static_cast<void>(test::post(dev, [&] { return dev.post_get(0, std::span{word}, {region.handle(), 0}, local); }));
    static_cast<void>(test::post(dev, [&] {
      return dev.post_atomic<std::uint64_t>(0, atomic_op::fetch_add, 1, {region.handle(), 8}, local);
    }));
    std::uint32_t heard = 0;
    EXPECT_TRUE(test::eventually(dev, [&] {
      heard += queue.pop().has_value();
      return heard == 2 && local.value() >= 1;
    }));
    dev.flush();
    const device_counters counted = dev.counters();
    EXPECT_EQ(counted.posts.active_messages.operations, 2U);
    EXPECT_EQ(counted.posts.active_messages.bytes, 108U);
    EXPECT_EQ(counted.posts.receives.operations, 1U);
    EXPECT_EQ(counted.posts.receives.bytes, 100U);
    EXPECT_EQ(counted.posts.sends.operations, 1U);
    EXPECT_EQ(counted.posts.sends.bytes, 8U);
    EXPECT_EQ(counted.posts.puts.operations, 1U);
    EXPECT_EQ(counted.posts.puts.bytes, 100U);
    EXPECT_EQ(counted.posts.gets.operations, 1U);
    EXPECT_EQ(counted.posts.atomics.operations, 1U);
    // This device may have been given the messages, or the default one.
    const device_counters there = rt.default_device().counters();
    EXPECT_GE(counted.arrivals.messages + there.arrivals.messages, 3U);
    EXPECT_GE(counted.arrivals.bytes + there.arrivals.bytes, 116U);
    EXPECT_GE(counted.progress.calls, counted.progress.moved);
    EXPECT_EQ(counted.backlog.operations, 0U);
  });
}

// Two ranks that call progress only when it is their turn, so that it is known who copies.
TEST(copy_counters, tell_that_sender_and_receiver_copied_a_long_message_together) {
  test::tally<int> step;
  test::local_job{2, {.long_messages = long_messages::both}}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    counter local{rt};
    std::vector<std::byte> bytes(std::size_t{8} << 20, std::byte{1});
    const auto begin_step = [&](int wanted) { ASSERT_TRUE(test::eventually([&] { return step.value() == wanted; })); };
    const auto call_progress = [&] {
      for (int i = 0; i < 3; ++i) dev.progress();
      step.add();
    };
    rt.barrier();
    if (rt.rank() == 0) {
      static_cast<void>(test::post(dev, [&] { return dev.post_send(1, std::span{bytes}, local); }));
      step.add();
      begin_step(2);
      call_progress();
    } else {
      begin_step(1);
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{bytes}, local); }));
      call_progress();  // some pieces of the message, not all
      begin_step(3);
      EXPECT_EQ(local.value(), 0U);
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return local.value() == 1; }));
    const path_counters by = dev.counters().message_paths;
    EXPECT_EQ(by.copied_by_both.operations, rt.rank());
    EXPECT_EQ(by.copied_by_both.bytes, rt.rank() * bytes.size());
    EXPECT_EQ(by.copied.operations + by.one_packet.operations + by.many_packets.operations, 0U);
    rt.barrier();
  });
}

TEST(copy_counters, tell_by_which_path_messages_went) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue queue{rt};
    const registration mail = rt.register_completion(queue, {.id = 1});
    counter local{rt};
    std::vector<std::byte> bytes(std::size_t{64} << 10);
    // So short that a peer would not read them one by one.
    std::vector<const_buffer_ref> pieces;
    for (std::size_t at = bytes.size(); at > 0; at -= 1024) pieces.emplace_back(bytes.data() + at - 1024, 1024);
    static_cast<void>(test::post(dev, [&] { return dev.post_am(0, {1}, std::span{bytes}.first(8), local); }));
    EXPECT_EQ(dev.counters().message_paths.one_packet.operations, 0U);
    static_cast<void>(test::post(dev, [&] { return dev.post_am(0, {1}, std::span{bytes}.first(100), local); }));
    static_cast<void>(test::post(dev, [&] { return dev.post_am(0, {1}, std::span{bytes}, local); }));
    static_cast<void>(test::post(dev, [&] { return dev.post_am(0, {1}, const_buffer_list{pieces}, local); }));
    std::uint32_t heard = 0;
    EXPECT_TRUE(test::eventually(dev, [&] {
      heard += queue.pop().has_value();
      return heard == 4 && local.value() == 2;
    }));
    const device_counters counted = dev.counters();
    EXPECT_EQ(counted.message_paths.one_packet.operations, 1U);
    EXPECT_EQ(counted.message_paths.one_packet.bytes, 100U);
    EXPECT_EQ(counted.message_paths.copied.operations, 1U);
    EXPECT_EQ(counted.message_paths.copied.bytes, bytes.size());
    EXPECT_EQ(counted.message_paths.many_packets.operations, 1U) << "a list of short pieces is gathered";
    EXPECT_EQ(counted.message_paths.many_packets.bytes, bytes.size());
    EXPECT_EQ(counted.transfer_paths.copied.operations, 0U);
  });
}

TEST(copy_counters, tell_puts_into_mapped_memory_from_those_that_the_system_copies) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter local{rt};
    std::vector<std::byte> bytes(std::size_t{100'000});
    const memory_region mapped{rt, bytes.size()};
    const memory_region registered{rt, std::span{bytes}};
    std::array<remote_region, 2> mine{mapped.handle(), registered.handle()};
    std::array<remote_region, 2> theirs;
    completion_queue inbox{rt};
    const registration mail = rt.register_completion(inbox, {.id = 1});
    for (const remote_region& each : mine) {
      test::post_until_taken(dev, 1 - rt.rank(), {1}, std::span{&each, 1}, local);
    }
    for (remote_region& each : theirs) {
      std::optional<completion_record> got;
      ASSERT_TRUE(test::eventually(dev, [&] { return (got = inbox.pop()).has_value(); }));
      std::memcpy(&each, got->data().data(), sizeof each);
    }
    std::vector<std::byte> source(bytes.size());
    const std::uint64_t before = local.value();
    std::uint64_t posted = 0;
    std::size_t count = source.size();
    for (const remote_region& each : theirs) {
      const auto bytes_to_put = std::span{source}.first(std::exchange(count, count - 1));
      const auto put = [&] { return dev.post_put(1 - rt.rank(), bytes_to_put, {each, 0}, local); };
      posted += test::post(dev, put).is_posted();
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return local.value() == before + posted; }));
    const device_counters counted = dev.counters();
    EXPECT_EQ(counted.posts.puts.operations, 2U);
    EXPECT_EQ(counted.transfer_paths.copied.operations, 1U);
    EXPECT_EQ(counted.transfer_paths.copied.bytes, source.size() - 1) << "the mapped region's";
    EXPECT_EQ(counted.message_paths.copied.operations, 0U);
    rt.barrier();
  });
}

TEST(counters, count_a_message_that_waits_for_its_id_once) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter heard{rt};
    counter local{rt};
    const std::uint64_t word = 0;
    test::post_until_taken(dev, 0, {1}, std::span{&word, 1}, local);
    EXPECT_TRUE(test::eventually(dev, [&] { return rt.counters().messages_unexpected == 1; }));
    const registration mail = rt.register_completion(heard, {.id = 1});
    EXPECT_TRUE(test::eventually(dev, [&] { return heard.value() == 1; }));
    EXPECT_EQ(dev.counters().arrivals.messages, 1U);
    EXPECT_EQ(dev.counters().arrivals.bytes, 8U);
  });
}

// Only their order, which the engine does not keep, would tell these sends apart.
TEST(counters, tell_of_sends_that_nothing_orders) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const matching_engine in_order{rt, {.id = 1, .ordered = true}};
    counter local{rt};
    std::uint64_t sends = 0, receives = 0;
    const std::uint64_t word = 5;
    std::uint64_t into = 0;
    const auto send = [&](const post_send_options& options) {
      if (options.engine != in_order.id()) ++sends;
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{&word, 1}, local, options); }));
      EXPECT_TRUE(test::eventually(dev, [&] { return rt.counters().sends_waiting == sends - receives; }));
    };
    const auto receive = [&](const post_recv_options& options) {
      const std::uint64_t before = local.value();
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{&into, 1}, local, options); }));
      EXPECT_TRUE(test::eventually(dev, [&] { return local.value() == before + 1; }));
      ++receives;
    };
    for (std::uint64_t tag = 0; tag < 3; ++tag) send({.tag = tag});
    for (int i = 0; i < 2; ++i) send({.tag = 7, .engine = 1});
    for (int i = 0; i < 2; ++i) send({.tag = 7, .policy = match_policy::rank_only});
    EXPECT_EQ(dev.counters().arrivals.ambiguous_sends, 0U);
    send({.tag = 1});
    EXPECT_EQ(dev.counters().arrivals.ambiguous_sends, 1U);
    receive({.tag = 1});
    receive({.tag = 1});
    send({.tag = 1});
    EXPECT_EQ(dev.counters().arrivals.ambiguous_sends, 1U);
    const std::vector<char> long_one(100'000);
    static_cast<void>(test::post(dev, [&] { return dev.post_send(0, long_one, local, {.tag = 1}); }));
    EXPECT_TRUE(test::eventually(dev, [&] { return dev.counters().arrivals.ambiguous_sends == 2; }))
        << "an RTS counts as well";
    std::vector<char> into_long(100'000);
    ++sends;
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, into_long, local, {.tag = 1}); }));
    }
    EXPECT_TRUE(dev.wait_all(local, {.timeout = test::patience}));
  });
}

class counters_at_the_bound : public test::fixed_pools {};

TEST_F(counters_at_the_bound, tell_why_posts_were_not_taken) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter local{rt};
    std::array<char, 8> word{};
    std::uint32_t posted = 0;
    std::uint64_t refused = 0;
    std::vector<std::uint64_t> tickets;
    // No engine has room for so many receives.
    for (std::uint32_t i = 0; i < 100000 && refused == 0; ++i) {
      const status answer = dev.post_recv(0, std::span{word}, local, {.tag = i});
      if (answer.is_retry() && answer.reason() == shortage::receives) ++refused;
      if (!answer.is_posted()) continue;
      ++posted;
      tickets.push_back(answer.ticket());
    }
    EXPECT_EQ(refused, 1U);
    EXPECT_EQ(dev.counters().posts.retries_for(shortage::receives), 1U);
    EXPECT_EQ(dev.counters().posts.receives.operations, posted);
    EXPECT_EQ(rt.counters().receives_waiting, posted);
    for (const std::uint64_t ticket : tickets) {
      ASSERT_TRUE(test::eventually(dev, [&] { return dev.cancel(ticket) != cancel_result::busy; }));
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return local.value() == posted; }));
    EXPECT_EQ(rt.counters().receives_waiting, 0U);
  });
}

// More threads than have words of their own.
TEST(counters, are_exact_for_any_number_of_threads) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter heard{rt};
    const registration mail = rt.register_completion(heard, {.id = 1});
    counter local{rt};
    constexpr std::uint64_t threads_count = 12;
    constexpr std::uint64_t each = 200;
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < threads_count; ++i) {
      threads.emplace_back([&] {
        const std::uint64_t word = 0;
        for (std::uint64_t k = 0; k < each; ++k) {
          static_cast<void>(test::post(dev, [&] { return dev.post_am(0, {1}, std::span{&word, 1}, local); }));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(test::eventually(dev, [&] { return heard.value() == threads_count * each; }));
    const device_counters counted = dev.counters();
    EXPECT_EQ(counted.posts.active_messages.operations, threads_count * each);
    EXPECT_EQ(counted.posts.active_messages.bytes, threads_count * each * 8);
    EXPECT_EQ(counted.arrivals.bytes, threads_count * each * 8);
    EXPECT_GT(counted.progress.moved, 0U);
  });
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST(counters, have_the_names_of_0_1_until_0_2) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter heard{rt};
    counter local{rt};
    const registration mail = rt.register_completion(heard, {.id = 1});
    const std::uint64_t word = 0;
    test::post_until_taken(dev, 0, {1}, std::span{&word, 1}, local);
    EXPECT_TRUE(test::eventually(dev, [&] { return heard.value() == 1; }));
    const device_counters counted = dev.counters();
    EXPECT_EQ(counted.active_messages.operations, 1U);
    EXPECT_EQ(counted.active_messages.bytes, 8U);
    EXPECT_EQ(counted.retries, counted.posts.retries);
    EXPECT_EQ(counted.retries_for(shortage::ring), counted.posts.retries_for(shortage::ring));
    EXPECT_EQ(counted.messages_arrived, 1U);
    EXPECT_EQ(counted.bytes_arrived, 8U);
    EXPECT_EQ(counted.messages_refused, counted.arrivals.refusals);
    EXPECT_EQ(counted.progress_calls, counted.progress.calls);
    EXPECT_GT(counted.progress_moved, 0U);
    EXPECT_EQ(counted.progress_busy, counted.progress.busy);
    EXPECT_TRUE(counted.backlog == counted.backlog.operations);
    EXPECT_EQ(counted.backlog_max, counted.backlog.operations_max);
  });
}
#pragma GCC diagnostic pop

TEST(counters, are_told_in_a_line) {
  device_counters counted;
  EXPECT_EQ(core::to_text(counted), "0 of 0 calls of progress moved something");
  counted.posts.puts = {2, 16};
  counted.posts.retries[static_cast<std::size_t>(shortage::ring)] = 3;
  counted.progress.calls = 5;
  counted.message_paths.copied_by_both = {1, 9};
  counted.transfer_paths.one_packet = {4, 7};
  EXPECT_EQ(core::to_text(counted),
            "2 puts (16 B), 1 message copied by both sides (9 B), "
            "4 puts and gets in a packet (7 B), 3 retries for ring, 0 of 5 calls of progress moved something");
}

}  // namespace
}  // namespace weft

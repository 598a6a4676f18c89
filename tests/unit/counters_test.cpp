// What a device counts.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include "core/device_counts.hpp"
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
    EXPECT_EQ(counted.active_messages.operations, 2U);
    EXPECT_EQ(counted.active_messages.bytes, 108U);
    EXPECT_EQ(counted.receives.operations, 1U);
    EXPECT_EQ(counted.receives.bytes, 100U);
    EXPECT_EQ(counted.sends.operations, 1U);
    EXPECT_EQ(counted.sends.bytes, 8U);
    EXPECT_EQ(counted.puts.operations, 1U);
    EXPECT_EQ(counted.puts.bytes, 100U);
    EXPECT_EQ(counted.gets.operations, 1U);
    EXPECT_EQ(counted.atomics.operations, 1U);
    // This device may have been given the messages, or the default one.
    const device_counters there = rt.default_device().counters();
    EXPECT_GE(counted.messages_arrived + there.messages_arrived, 3U);
    EXPECT_GE(counted.bytes_arrived + there.bytes_arrived, 116U);
    EXPECT_GE(counted.progress_calls, counted.progress_moved);
    EXPECT_EQ(counted.backlog, 0U);
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
    EXPECT_EQ(dev.counters().messages_arrived, 1U);
    EXPECT_EQ(dev.counters().bytes_arrived, 8U);
  });
}

TEST(counters, tell_why_posts_were_not_taken) {
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
    EXPECT_EQ(dev.counters().retries_for(shortage::receives), 1U);
    EXPECT_EQ(dev.counters().receives.operations, posted);
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
    EXPECT_EQ(counted.active_messages.operations, threads_count * each);
    EXPECT_EQ(counted.active_messages.bytes, threads_count * each * 8);
    EXPECT_EQ(counted.bytes_arrived, threads_count * each * 8);
    EXPECT_GT(counted.progress_moved, 0U);
  });
}

TEST(counters, are_told_in_a_line) {
  device_counters counted;
  EXPECT_EQ(core::to_text(counted), "0 of 0 calls of progress moved something");
  counted.puts = {2, 16};
  counted.retries[static_cast<std::size_t>(shortage::ring)] = 3;
  counted.progress_calls = 5;
  EXPECT_EQ(core::to_text(counted), "2 puts (16 B), 3 retries for ring, 0 of 5 calls of progress moved something");
}

}  // namespace
}  // namespace weft

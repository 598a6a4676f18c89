// SPDX-License-Identifier: BSD-3-Clause
// Posts that are repeated until they are accepted, and waits for all that is outstanding.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

const wait_options bound{.timeout = test::patience};
constexpr std::uint64_t messages = 2000;  // more than a ring and a small queue hold

// Each rank sends to the next one, whose inbox has little room: posts are refused on the way, by threads and by fibers.
TEST(accepted, posts_go_through_where_rings_are_full) {
  for (const bool by_fiber : {false, true}) {
    test::local_job{2}.run([&](runtime& rt) {
      device& dev = rt.default_device();
      completion_queue inbox{rt, {.capacity = 8}};
      counter sent{rt};
      const registration arrivals = rt.register_completion(inbox, {.id = 1});
      std::uint64_t sum = 0, heard = 0;
      const auto hear = [&] {
        while (const auto got = inbox.pop()) sum += got->tag(), ++heard;
      };
      const auto send_all = [&] {
        for (std::uint64_t i = 0; i < messages; ++i) {
          const status answer = dev.until_accepted([&] {
            if (!by_fiber) hear();
            return dev.post_am(1 - rt.rank(), {1}, {&i, sizeof i}, sent, {.tag = i});
          });
          EXPECT_TRUE(answer.is_done());
        }
      };
      if (by_fiber) {
        std::array<device*, 1> served{&dev};
        fiber_scheduler fibers{{.devices = served}};
        fiber sends = fibers.spawn(send_all);
        fiber hears = fibers.spawn([&] {
          while (heard < messages) hear(), this_fiber::yield();
        });
        sends.join();
        hears.join();
      } else {
        send_all();
        EXPECT_TRUE(test::eventually(dev, [&] { return hear(), heard == messages; }));
      }
      EXPECT_EQ(heard, messages);
      EXPECT_EQ(sum, messages * (messages - 1) / 2);
      rt.barrier();
    });
  }
}

TEST(accepted, is_refused_in_a_handler_even_where_there_is_room) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt};
    errc thrown = errc::none;
    handler target{rt, [&](completion_record&&) {
                     try {
                       static_cast<void>(dev.until_accepted([&] { return dev.post_am(0, {2}, {}, sent); }));
                     } catch (const error& problem) {
                       thrown = problem.code();
                     }
                   }};
    const registration arrivals = rt.register_completion(target, {.id = 1});
    static_cast<void>(dev.until_accepted([&] { return dev.post_am(0, {1}, {}, sent); }));
    EXPECT_TRUE(test::eventually(dev, [&] { return thrown != errc::none; }));
    EXPECT_EQ(thrown, errc::invalid_state);
  });
}

// Some posts are done, some are posted: the caller does not count them.
TEST(accepted, all_that_is_outstanding_is_waited_for) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt}, got{rt};
    std::vector<std::vector<char>> out, in;
    constexpr std::array<std::size_t, 4> sizes{1, 100, 9000, 300'000};
    for (const std::size_t size : sizes) {
      out.emplace_back(size, static_cast<char>('a' + rt.rank()));
      in.emplace_back(size);
    }
    for (std::uint64_t i = 0; i < sizes.size(); ++i) {
      static_cast<void>(dev.until_accepted([&] { return dev.post_recv(1 - rt.rank(), in[i], got, {.tag = i}); }));
      static_cast<void>(dev.until_accepted([&] { return dev.post_send(1 - rt.rank(), out[i], sent, {.tag = i}); }));
    }
    EXPECT_TRUE(dev.wait_all({&sent, &got}, bound));
    EXPECT_EQ(sent.outstanding() + got.outstanding(), 0U);
    EXPECT_EQ(got.value(), sizes.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(in[i], std::vector<char>(sizes[i], static_cast<char>('b' - rt.rank())));
    }
    EXPECT_TRUE(dev.wait_all(sent, {.timeout = {}})) << "there is nothing to wait for";
    std::uint64_t never = 0;
    const status receive = dev.until_accepted([&] {
      return dev.post_recv(1 - rt.rank(), std::span{&never, 1}, got, {.tag = 99});
    });
    EXPECT_FALSE(dev.wait_all(got, {.timeout = std::chrono::milliseconds{1}}));
    EXPECT_TRUE(test::eventually(dev, [&] { return dev.cancel(receive.ticket()) != cancel_result::busy; }));
    EXPECT_TRUE(dev.wait_all(got, bound));
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft

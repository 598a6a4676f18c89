// SPDX-License-Identifier: BSD-3-Clause
// As many receives as the settings say can be posted, however many unused ones devices keep in their caches.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "support/fixed_pools.hpp"
#include "support/waiting.hpp"
#include "weft/blocking_device.hpp"
#include "weft/fiber.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

class receives : public test::fixed_pools {};

TEST_F(receives, can_all_be_posted_beside_devices_that_keep_some_for_nothing) {
  test::local_job{1}.run([](runtime& rt) {
    counter received{rt};
    std::uint64_t word = 0;
    const auto post = [&](device& through) { return through.post_recv(0, std::span{&word, 1}, received); };
    std::deque<device> idle;
    while (idle.size() + 1 < rt.attributes().devices_max) {
      device& mine = idle.emplace_back(rt, device_options{.shared = false});
      const status posted = post(mine);
      ASSERT_TRUE(posted.is_posted());
      ASSERT_EQ(mine.cancel(posted.ticket()), cancel_result::cancelled);
    }
    std::vector<std::uint64_t> tickets;
    const std::uint32_t wanted = rt.attributes().receives_max;
    while (tickets.size() < wanted) {
      const status posted = post(rt.default_device());
      if (!posted.is_posted()) break;
      tickets.push_back(posted.ticket());
    }
    EXPECT_EQ(tickets.size(), wanted);
    for (const std::uint64_t each : tickets) EXPECT_EQ(rt.default_device().cancel(each), cancel_result::cancelled);
  });
}

// All receives that a device can hold, with a tag that no send has; cancelled at the end.
class all_receives {
 public:
  all_receives(runtime& rt, counter& local) : through_{rt.default_device()} {
    for (;;) {
      const status posted = through_.post_recv(0, std::span{&word_, 1}, local, {.tag = ~std::uint64_t{0}});
      if (posted.is_retry()) break;
      tickets_.push_back(posted.ticket());
    }
  }
  ~all_receives() {
    for (const std::uint64_t each : tickets_) EXPECT_EQ(through_.cancel(each), cancel_result::cancelled);
  }
  all_receives(const all_receives&) = delete;
  all_receives& operator=(const all_receives&) = delete;

 private:
  device& through_;
  std::uint64_t word_ = 0;
  std::vector<std::uint64_t> tickets_;
};

TEST_F(receives, need_no_place_where_their_message_is_here) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter received{rt}, sent{rt}, never{rt};
    const all_receives none_is_left{rt, never};
    matching_engine ordered{rt, {.id = 5, .ordered = true}};
    std::uint64_t signals = 0, sends = 0;  // sends: that will signal `sent`
    const auto send = [&](std::span<const std::byte> bytes, std::uint64_t tag, std::uint32_t engine) {
      const status answer =
          test::post(dev, [&] { return dev.post_send(0, bytes, sent, {.tag = tag, .engine = engine}); });
      sends += answer.is_posted();
    };
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{4} << 10, std::size_t{1} << 20}) {
      for (const std::uint32_t engine : {default_matching_engine, ordered.id()}) {
        const std::vector<std::byte> out(bytes, std::byte{7});
        std::vector<std::byte> in(bytes);
        const auto receive = [&](std::uint64_t tag, bool allow_retry) {
          return dev.post_recv(0, in, received, {.tag = tag, .engine = engine, .allow_retry = allow_retry});
        };
        EXPECT_EQ(receive(bytes, true).reason(), shortage::receives);
        send(out, bytes, engine);
        status answer = status::retry(shortage::receives);
        EXPECT_TRUE(test::eventually(dev, [&] {
          try {
            answer = receive(bytes, signals % 2 == 0);
          } catch (const error& refused) {  // a post that may not answer retry
            EXPECT_EQ(refused.code(), errc::backlog_full);
          }
          return !answer.is_retry();
        }));
        EXPECT_TRUE(answer.is_posted());
        EXPECT_EQ(dev.cancel(answer.ticket()), cancel_result::too_late);
        EXPECT_TRUE(test::eventually(dev, [&] { return received.value() == signals + 1; }));
        ++signals;
        EXPECT_EQ(in, out);
        EXPECT_EQ(receive(bytes, true).reason(), shortage::receives);
      }
    }
    std::uint64_t probed = 7, back = 0;
    send(std::as_bytes(std::span{&probed, 1}), 1, default_matching_engine);
    std::optional<matched_message> found;
    EXPECT_TRUE(test::eventually(dev, [&] { return (found = dev.probe(0, {.tag = 1})).has_value(); }));
    EXPECT_TRUE(found->receive(std::span{&back, 1}, received).is_posted());
    EXPECT_TRUE(test::eventually(dev, [&] { return received.value() == signals + 1; }));
    EXPECT_EQ(back, probed);
    EXPECT_EQ(received.failed(), 0U);
    EXPECT_TRUE(test::eventually(dev, [&] { return sent.value() == sends; }));
  });
}

// The first fiber waits for a message that the second one sends once it has its own, and there is a place for neither.
TEST_F(receives, of_fibers_that_have_no_place_are_served_as_their_messages_come) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter never{rt};
    const all_receives none_is_left{rt, never};
    blocking_device through{dev};
    std::array<device*, 1> served{&dev};
    fiber_scheduler fibers{{.devices = served}};
    const auto receive = [&](std::uint64_t tag) {
      std::uint64_t word = 0;
      static_cast<void>(through.recv(0, {&word, sizeof word}, {.tag = tag}));
      return word;
    };
    const auto send = [&](std::uint64_t tag, std::uint64_t word) {
      through.send(0, {&word, sizeof word}, {.tag = tag});
    };
    fiber first = fibers.spawn([&] { EXPECT_EQ(receive(1), 11U); });
    fiber second = fibers.spawn([&] {
      EXPECT_EQ(receive(2), 22U);
      send(1, 11);
    });
    fiber third = fibers.spawn([&] {
      for (int round = 0; round < 10; ++round) this_fiber::yield();
      send(2, 22);
    });
    third.join();
    second.join();
    first.join();
  });
}

}  // namespace
}  // namespace weft

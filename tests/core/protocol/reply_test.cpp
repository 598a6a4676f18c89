// SPDX-License-Identifier: BSD-3-Clause
// Replies of handlers: they are sent or kept, never refused where `can_reply` has said yes, and a handler that acts
// once for each message may say *full* before it acts.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using answer = completion::answer;

constexpr std::uint32_t serve = 1, answered = 2;

std::uint64_t word_of(const completion_record& record) {
  std::uint64_t out = 0;
  if (record.bytes() >= sizeof out) std::memcpy(&out, record.data().data(), sizeof out);
  return out;
}

std::uint32_t kept_max(runtime& rt) { return test::local_job::state_of(rt).own().replies().kept_max(); }

std::uint64_t waiting_in(device& dev) { return dev.counters().backlog.operations; }

TEST(reply, goes_to_the_sender_with_the_tag_of_its_message_unless_told_otherwise) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue got{rt};
    handler echo{rt, [](completion_record&& request, device& by) {
                   by.reply(request, {answered}, request.data());
                   by.reply(request, {answered}, request.data(), {.tag = 70});
                   by.reply(request.source(), {answered}, request.data());
                 }};
    const auto requests = rt.register_completion(echo, {.id = serve});
    const auto answers = rt.register_completion(got, {.id = answered});
    counter sent{rt};
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{8}, std::size_t{40}, std::size_t{41}, std::size_t{8192}}) {
      const std::vector<std::byte> body(bytes, std::byte{9});
      static_cast<void>(test::post_until_taken(dev, 0, {serve}, body, sent, {.tag = 7}));
      std::uint64_t tags = 0;
      for (int i = 0; i < 3; ++i) {
        std::optional<completion_record> record;
        ASSERT_TRUE(test::eventually(dev, [&] { return (record = got.pop()).has_value(); }));
        tags += record->tag();
        EXPECT_TRUE(std::ranges::equal(record->data(), body));
      }
      EXPECT_EQ(tags, 77U);
    }
  });
}

TEST(reply, of_more_than_a_packet_is_refused_unless_it_may_be_copied) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue got{rt};
    const auto answers = rt.register_completion(got, {.id = answered});
    std::vector<std::byte> body(100'000, std::byte{3});
    try {
      dev.reply(0, {answered}, body);
      ADD_FAILURE() << "a long reply was taken";
    } catch (const error& refusal) {
      EXPECT_EQ(refusal.code(), errc::invalid_argument);
      EXPECT_NE(std::string{refusal.what()}.find(".copy_long = true"), std::string::npos);
    }
    EXPECT_THROW(dev.reply(1, {answered}, {}), error);
    EXPECT_THROW(dev.reply(0, {remote_completion_ids_max}, {}), error);
    completion_queue ends{rt};
    int context = 0;
    dev.reply(0, {answered}, body, {.copy_long = true, .local = &ends, .context = &context});
    std::ranges::fill(body, std::byte{4});  // ours again
    std::optional<completion_record> record, end;
    ASSERT_TRUE(test::eventually(dev, [&] {
      if (!record) record = got.pop();
      if (!end) end = ends.pop();
      return record && end;
    }));
    EXPECT_EQ(record->bytes(), body.size());
    EXPECT_EQ(std::ranges::count(record->data(), std::byte{3}), 100'000);
    EXPECT_EQ(end->context(), &context);
    EXPECT_EQ(end->error(), errc::none);
    dev.flush();
  });
}

// Calls `body` with a device whose ring to rank 1 is full: rank 1 makes no progress until `body` has ended, and `after`
// runs at both ranks.
template <class Body>
void while_a_peer_reads_nothing(const Body& body) {
  test::flag is_quiet, is_over;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    counter got{rt};
    const auto arrivals = rt.register_completion(got, {.id = answered});
    counter ends{rt};
    rt.barrier();
    if (rt.rank() == 1) {
      is_quiet.raise();  // has left the barrier, and polls no more
      EXPECT_TRUE(test::eventually([&] { return is_over.is_raised(); }));
    } else {
      EXPECT_TRUE(test::eventually(dev, [&] { return is_quiet.is_raised(); }));
      body(rt, dev, ends);
      is_over.raise();
      dev.flush(1);  // waits for replies that were kept
      EXPECT_TRUE(test::eventually(dev, [&] { return ends.outstanding() == 0 && waiting_in(dev) == 0; }));
      EXPECT_EQ(ends.failed(), 0U);
    }
    rt.barrier();
  });
}

// Sends until many in a row are refused: a simulated network refuses some at random.
void fill_ring(device& dev) {
  counter sent{dev.runtime()};
  for (int refused = 0; refused < 1000;) refused = dev.post_am(1, {answered}, {}, sent).is_retry() ? refused + 1 : 0;
}

TEST(reply, is_kept_where_the_ring_is_full_up_to_a_bound_that_can_reply_knows) {
  while_a_peer_reads_nothing([](runtime& rt, device& dev, counter& ends) {
    fill_ring(dev);
    std::uint64_t word = 1;
    for (std::uint32_t i = 0; i < kept_max(rt); ++i) {
      ASSERT_TRUE(dev.can_reply());
      dev.reply(1, {answered}, {&word, 8}, {.local = &ends});
    }
    EXPECT_FALSE(dev.can_reply());
    try {
      dev.reply(1, {answered}, {&word, 8});
      ADD_FAILURE() << "a reply beyond the bound was taken";
    } catch (const error& refusal) {
      EXPECT_EQ(refusal.code(), errc::backlog_full);
    }
    EXPECT_EQ(ends.value(), 0U);
    EXPECT_EQ(ends.outstanding(), kept_max(rt));
  });
}

TEST(reply, uses_the_room_that_its_handler_has_reserved_though_other_threads_have_reached_the_bound) {
  while_a_peer_reads_nothing([](runtime& rt, device& dev, counter& ends) {
    fill_ring(dev);
    const auto fill = [&] {
      while (dev.can_reply()) dev.reply(1, {answered}, {}, {.local = &ends});
    };
    bool has_run = false;
    handler outer{rt, [&](completion_record&&, device& by) {
                    EXPECT_TRUE(by.can_reply());
                    EXPECT_TRUE(by.can_reply());  // one reservation
                    std::thread{fill}.join();
                    EXPECT_TRUE(by.can_reply());  // still
                    by.reply(1, {answered}, {}, {.local = &ends});
                    EXPECT_FALSE(by.can_reply());
                    has_run = true;
                  }};
    const auto arrivals = rt.register_completion(outer, {.id = 31});
    counter sent{rt};
    static_cast<void>(test::post_until_taken(dev, 0, {31}, {}, sent));
    ASSERT_TRUE(test::eventually(dev, [&] { return has_run; }));
    EXPECT_EQ(ends.outstanding(), kept_max(rt) + 1);
  });
}

TEST(reply, that_was_not_sent_leaves_its_room_to_the_next_handler) {
  while_a_peer_reads_nothing([](runtime& rt, device& dev, counter& ends) {
    fill_ring(dev);
    unsigned runs = 0;
    handler asking{rt, [&](completion_record&&, device& by) {
                     EXPECT_TRUE(by.can_reply());
                     if (++runs % 2 == 0) by.reply(1, {answered}, {}, {.local = &ends});
                   }};
    const auto arrivals = rt.register_completion(asking, {.id = 31});
    counter sent{rt};
    const std::uint32_t count = 2 * kept_max(rt);  // half of them reply
    for (std::uint32_t i = 0; i < count; ++i) {
      static_cast<void>(test::post_until_taken(dev, 0, {31}, {}, sent));
      ASSERT_TRUE(test::eventually(dev, [&] { return runs == i + 1; }));
    }
    EXPECT_FALSE(dev.can_reply());
    EXPECT_EQ(ends.outstanding(), kept_max(rt));
  });
}

TEST(reply, to_a_rank_that_has_ended_ends_with_an_error_and_throws_nothing) {
  test::flag is_quiet, is_over;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    rt.barrier();
    if (rt.rank() == 1) {
      is_quiet.raise();  // has left the barrier, and polls no more
      EXPECT_TRUE(test::eventually([&] { return is_over.is_raised(); }));
      return;
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return is_quiet.is_raised(); }));
    fill_ring(dev);
    counter ends{rt};
    std::uint64_t word = 1;
    dev.reply(1, {answered}, {&word, 8}, {.local = &ends});
    dev.reply(1, {answered}, {&word, 8});
    test::local_job::state_of(rt).peer_ends().note({.rank = 1, .in_order = false});
    dev.reply(1, {answered}, {&word, 8}, {.local = &ends});
    const std::vector<std::byte> long_answer(50'000);
    dev.reply(1, {answered}, long_answer, {.copy_long = true, .local = &ends});
    EXPECT_TRUE(test::eventually(dev, [&] { return ends.value() == 3; }));
    EXPECT_EQ(ends.failed(), 3U);
    is_over.raise();
  });
}

TEST(reply, signals_a_full_object_later) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter got{rt};
    const auto arrivals = rt.register_completion(got, {.id = answered});
    unsigned refused = 0, ended = 0;
    handler reluctant{rt, [&](completion_record&& end) {
                        EXPECT_EQ(end.operation(), operation::active_message);
                        if (++refused % 4 != 0) return answer::full;
                        const completion_record consumed{std::move(end)};
                        ++ended;
                        return answer::taken;
                      }};
    for (int i = 0; i < 5; ++i) dev.reply(0, {answered}, {}, {.local = &reluctant});
    EXPECT_TRUE(test::eventually(dev, [&] { return ended == 5 && got.value() == 5; }));
    EXPECT_EQ(reluctant.outstanding(), 0U);
  });
}

TEST(reply, that_was_kept_is_sent_by_the_default_device_when_its_own_is_gone) {
  while_a_peer_reads_nothing([](runtime& rt, device& /*dev*/, counter& ends) {
    {
      device own{rt};
      fill_ring(own);
      std::uint64_t word = 1;
      for (int i = 0; i < 10; ++i) own.reply(1, {answered}, {&word, 8}, {.local = &ends});
    }
    EXPECT_EQ(ends.value() + ends.outstanding(), 10U);
  });
}

// Two ranks that flood each other with requests, and answer each of them: more than rings and bound hold.
void flood(std::uint32_t requests, unsigned threads) {
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    test::tally<> sum, replies;
    handler add{rt, [&](completion_record&& request, device& by) {
                  if (!by.can_reply()) return answer::full;
                  const std::uint64_t before = sum.value();
                  sum.add(word_of(request));
                  by.reply(request, {answered}, {&before, 8});
                  const completion_record consumed{std::move(request)};
                  return answer::taken;
                }};
    handler count{rt, [&](completion_record&&) { replies.add(1); }};
    counter finished{rt}, sent{rt};
    const auto adds = rt.register_completion(add, {.id = serve});
    const auto answers = rt.register_completion(count, {.id = answered});
    const auto ends = rt.register_completion(finished, {.id = 3});
    rt.barrier();
    const auto post_all = [&] {
      const std::uint64_t one = 1;
      for (std::uint32_t i = 0; i < requests; ++i)
        static_cast<void>(test::post_until_taken(dev, 1 - rt.rank(), {serve}, {&one, 8}, sent));
    };
    std::vector<std::thread> others;
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(post_all);
    post_all();
    const std::uint64_t all = std::uint64_t{requests} * threads;
    EXPECT_TRUE(test::eventually(dev, [&] { return replies.value() == all; }));
    for (auto& other : others) other.join();
    static_cast<void>(test::post_until_taken(dev, 1 - rt.rank(), {3}, {}, sent));
    EXPECT_TRUE(test::eventually(dev, [&] { return finished.value() == 1; }));
    EXPECT_EQ(sum.value(), all);
    rt.barrier();
  });
}

TEST(reply, lets_two_ranks_that_flood_each_other_with_requests_go_on) {
  flood(test::under_sanitizer ? 1'500 : 10'000, 1);
}
TEST(reply, is_counted_once_where_several_threads_answer_and_ask) { flood(test::under_sanitizer ? 500 : 4'000, 4); }

TEST(reply, works_on_the_stack_of_a_fiber) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter got{rt};
    const auto arrivals = rt.register_completion(got, {.id = answered});
    handler echo{rt, [&](completion_record&& request, device& by) {
                   if (!by.can_reply()) return answer::full;
                   EXPECT_EQ(&by, &dev);
                   by.reply(request, {answered}, {});
                   return answer::taken;
                 }};
    const auto requests = rt.register_completion(echo, {.id = serve});
    fiber_scheduler fibers{{.workers = 2}};
    counter sent{rt};
    fibers
        .spawn([&] {
          for (int i = 0; i < 100; ++i) static_cast<void>(test::post_until_taken(dev, 0, {serve}, {}, sent));
          EXPECT_TRUE(test::eventually(dev, [&] {
            this_fiber::yield();
            return got.value() == 100;
          }));
        })
        .join();
  });
}

}  // namespace
}  // namespace weft

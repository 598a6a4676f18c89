// SPDX-License-Identifier: BSD-3-Clause
// The operations with a rank that has ended, while other threads post to it and handle its messages. Here a rank is
// declared ended that is still there, and answers at every moment.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/runtime/runtime_state.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr post_recv_options in_receiver_first{.engine = 4};

void drain(completion_queue& inbox) {
  while (inbox.pop()) {
  }
}

// Runs `at_first` at rank 0; rank 1 has such an engine, too, and makes progress until `at_first` has ended.
void beside_a_rank_that_polls(const std::function<void(runtime&)>& at_first) {
  test::flag is_over;
  test::tally<> drained;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    {
      const matching_engine engine{rt, {.id = 4, .receiver_first = true}};
      rt.barrier();
      if (rt.rank() == 0) {
        at_first(rt);
        is_over.raise();
      }
      EXPECT_TRUE(test::eventually(dev, [&] {
        drain(inbox);
        return is_over.is_raised();
      }));
      // Operations that rank 1 has begun with rank 0 have to end, too.
      if (rt.rank() == 1) test::local_job::state_of(rt).peer_ends().note({.rank = 0, .in_order = false});
      EXPECT_TRUE(test::eventually(dev, [&] {
        drain(inbox);
        return inbox.outstanding() == 0;
      }));
    }
    // Ranks of a local job end together, and can't send the answers then that are still to be sent.
    bool is_drained = false;
    EXPECT_TRUE(test::eventually(dev, [&] {
      drain(inbox);
      if (!is_drained && dev.counters().backlog.operations == 0) drained.add(1);
      is_drained = is_drained || dev.counters().backlog.operations == 0;
      return drained.value() == 2;
    }));
  });
}

void declare_ended(runtime& rt, bool in_order) {
  test::local_job::state_of(rt).peer_ends().note({.rank = 1, .in_order = in_order});
}

// The text of the exception of a call; empty where it throws none.
std::string refusal_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const error& reason) {
    EXPECT_EQ(reason.code(), errc::peer_failed);
    return reason.what();
  }
  return "";
}

TEST(peer_ends, end_what_waits_for_the_rank_and_nothing_else) {
  beside_a_rank_that_polls([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue over{rt}, others{rt};
    std::uint64_t word = 0;
    const buffer_ref into{&word, sizeof word};
    ASSERT_TRUE(dev.post_recv(1, into, over).is_posted());
    ASSERT_TRUE(dev.post_recv(1, into, over, {.policy = match_policy::rank_only}).is_posted());
    // A simulated network refuses some messages.
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(1, into, over, in_receiver_first); }));
    static_cast<void>(test::post(dev, [&] { return dev.post_send(1, into, over, {.engine = 4}); }));
    const status from_itself = dev.post_recv(0, into, others);
    const status from_any = dev.post_recv(1, into, others, {.policy = match_policy::tag_only});
    ASSERT_TRUE(from_itself.is_posted() && from_any.is_posted());
    declare_ended(rt, false);
    for (int i = 0; i < 4; ++i) {
      std::optional<completion_record> got;
      ASSERT_TRUE(test::eventually(dev, [&] { return (got = over.pop()).has_value(); }));
      EXPECT_EQ(got->error(), errc::peer_failed);
      EXPECT_EQ(got->peer(), 1U);
    }
    EXPECT_EQ(over.outstanding(), 0U);
    EXPECT_FALSE(over.pop().has_value());
    EXPECT_EQ(dev.cancel(from_itself.ticket()), cancel_result::cancelled);
    EXPECT_EQ(dev.cancel(from_any.ticket()), cancel_result::cancelled);
    EXPECT_EQ(refusal_of([&] { dev.flush(1); }),
              "flush: messages to rank 1 can't be sent any more: its process has ended in the middle");
    EXPECT_EQ(refusal_of([&] { rt.barrier(); }),
              "barrier: messages to rank 1 can't be sent any more: its process has ended in the middle");
  });
}

TEST(peer_ends, end_flushes_and_barriers_that_are_posted) {
  beside_a_rank_that_polls([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue over{rt};
    counter sent{rt};
    std::uint64_t word = 0;
    EXPECT_TRUE(
        test::post(dev, [&] {
          return dev.post_send(1, {&word, sizeof word}, sent, {.tag = 1, .complete_at = completion_level::delivered});
        }).is_posted());
    EXPECT_TRUE(dev.post_flush(1, over).is_posted());
    EXPECT_TRUE(dev.post_flush(over).is_posted());
    EXPECT_TRUE(rt.post_barrier(over).is_posted());
    declare_ended(rt, false);
    for (int i = 0; i < 3; ++i) {
      std::optional<completion_record> got;
      ASSERT_TRUE(test::eventually(dev, [&] { return (got = over.pop()).has_value(); }));
      EXPECT_EQ(got->error(), errc::peer_failed) << name_of(got->operation());
      EXPECT_EQ(got->peer(), got->operation() == operation::flush ? 1U : 0U);
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return sent.failed() == 1; }));
    EXPECT_NE(refusal_of([&] { static_cast<void>(rt.post_barrier(over)); }), "");
    EXPECT_EQ(over.outstanding(), 0U);
  });
}

TEST(peer_ends, in_order_are_no_failure_for_a_flush_to_which_nothing_is_owed) {
  beside_a_rank_that_polls([](runtime& rt) {
    device& dev = rt.default_device();
    declare_ended(rt, true);
    dev.flush();
    completion_queue over{rt};
    std::uint64_t word = 0;
    ASSERT_TRUE(dev.post_recv(1, {&word, sizeof word}, over).is_posted());
    std::optional<completion_record> got;
    ASSERT_TRUE(test::eventually(dev, [&] { return (got = over.pop()).has_value(); }));
    EXPECT_EQ(got->error(), errc::peer_failed);
    dev.flush();
    EXPECT_EQ(refusal_of([&] { rt.barrier(); }),
              "barrier: messages to rank 1 can't be sent any more: it has ended, and destroyed its runtime");
  });
}

TEST(peer_ends, are_seen_by_a_thread_that_sleeps) {
  beside_a_rank_that_polls([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue over{rt};
    std::uint64_t word = 0;
    ASSERT_TRUE(dev.post_recv(1, {&word, sizeof word}, over).is_posted());
    std::thread other{[&] { declare_ended(rt, false); }};
    std::optional<completion_record> got;
    EXPECT_TRUE(dev.wait(over, [&] { return (got = over.pop()).has_value(); }, {.timeout = test::patience}));
    other.join();
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->error(), errc::peer_failed);
  });
}

// Receives that wait for other ranks cost a look little, however many they are.
TEST(peer_ends, look_at_a_part_of_the_operations_that_are_under_way) {
  beside_a_rank_that_polls([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue over{rt}, others{rt};
    std::uint64_t word = 0;
    constexpr std::uint64_t many = 10'000;
    std::vector<std::uint64_t> tickets;
    for (std::uint64_t tag = 0; tag < many; ++tag) {
      tickets.push_back(test::post(dev, [&] { return dev.post_recv(0, {&word, 8}, others, {.tag = tag}); }).ticket());
    }
    declare_ended(rt, false);
    const core::peer_ends& ends = test::local_job::state_of(rt).peer_ends();
    // A receive that waits when the rank is settled, and one that is posted later.
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(1, {&word, 8}, over); }));
      std::optional<completion_record> got;
      ASSERT_TRUE(test::eventually(dev, [&] { return (got = over.pop()).has_value(); }));
      EXPECT_EQ(got->error(), errc::peer_failed);
    }
    EXPECT_TRUE(test::eventually(dev, [&] { return ends.looked_at() != 0 && ends.looked_at() < many; }));
    for (const std::uint64_t ticket : tickets) {
      EXPECT_TRUE(test::eventually(dev, [&] { return dev.cancel(ticket) == cancel_result::cancelled; }));
    }
    EXPECT_TRUE(test::eventually(dev, [&] {
      while (others.pop()) continue;
      return others.outstanding() == 0;
    }));
  });
}

// Each thread posts until it is refused; then all that it has posted ends, each once.
TEST(peer_ends, end_each_operation_once_while_threads_post_and_the_rank_answers) {
  constexpr unsigned rounds = 10, posters = 2;
  // Rank 1 is still there, and reads them at any time.
  const std::vector<std::byte> large(20'000);
  std::array<std::uint64_t, posters> words{};
  for (unsigned round = 0; round < rounds; ++round) {
    beside_a_rank_that_polls([&](runtime& rt) {
      test::tally<> begun;
      std::vector<std::thread> threads;
      for (unsigned i = 0; i < posters; ++i) {
        threads.emplace_back([&, i] {
          device dev{rt};
          completion_queue over{rt};
          std::uint64_t& word = words[i];
          std::uint64_t posted = 0, ended = 0;
          bool has_begun = false;
          const auto take = [&] {
            while (const auto got = over.pop()) {
              EXPECT_TRUE(got->error() == errc::none || got->error() == errc::peer_failed);
              ++ended;
            }
            return ended == posted;
          };
          const auto post = [&] {
            posted += dev.post_am(1, {1}, large, over).is_posted();
            posted += dev.post_am(1, {1}, {&word, 8}, over, {.complete_at = completion_level::delivered}).is_posted();
            posted += dev.post_recv(1, {&word, 8}, over, in_receiver_first).is_posted();
            posted += dev.post_recv(1, {&word, 8}, over).is_posted();
            posted += dev.post_send(1, large, over, {.engine = 4}).is_posted();
            dev.progress();
            static_cast<void>(take());
            if (!has_begun) begun.add(1);
            has_begun = true;
          };
          EXPECT_NE(refusal_of([&] { static_cast<void>(test::eventually(dev, [&] { return post(), false; })); }), "");
          EXPECT_TRUE(test::eventually(dev, take));
          EXPECT_EQ(over.outstanding(), 0U);
        });
      }
      EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return begun.value() == posters; }));
      declare_ended(rt, round % 2 == 0);
      test::flag are_over;
      std::thread poller{[&] {
        while (!are_over.is_raised()) {
          if (!rt.default_device().progress()) std::this_thread::yield();
        }
      }};
      for (std::thread& each : threads) each.join();
      are_over.raise();
      poller.join();
    });
  }
}

}  // namespace
}  // namespace weft

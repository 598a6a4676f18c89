// SPDX-License-Identifier: BSD-3-Clause
// Batches of operations: one signal when all are complete, in each round, whatever waits for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/fixed_pools.hpp"
#include "support/own_messages.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using testing::HasSubstr;

class batch_of_operations : public testing::Test {
 protected:
  static void SetUpTestSuite() { test::fix_pools(); }
};

TEST_F(batch_of_operations, signals_once_when_all_are_complete) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt};
    test::own_messages all{3};
    batch posts{rt};
    int context = 0;
    all.post(dev, posts);
    all.send(dev, 0, 10);
    ASSERT_TRUE(test::eventually(dev, [&] { return posts.outstanding() == 2; }));
    EXPECT_TRUE(posts.is_open());
    ASSERT_TRUE(posts.close(ends, {.context = &context}).is_posted());
    EXPECT_FALSE(posts.is_open());
    all.send(dev, 1, 11);
    ASSERT_TRUE(test::eventually(dev, [&] { return posts.outstanding() == 1; }));
    EXPECT_FALSE(ends.pop());
    all.send(dev, 2, 12);
    const auto end = dev.wait(ends, {.timeout = test::patience});
    ASSERT_TRUE(end);
    EXPECT_EQ(end->operation(), operation::batch);
    EXPECT_EQ(end->error(), errc::none);
    EXPECT_EQ(end->tag(), 0U);
    EXPECT_EQ(end->context(), &context);
    EXPECT_EQ(end->peer(), rt.rank());
    EXPECT_TRUE(posts.is_open());
    EXPECT_EQ(all.words(), (std::vector<std::uint64_t>{10, 11, 12}));
    dev.progress();
    EXPECT_FALSE(ends.pop());
  });
}

TEST_F(batch_of_operations, is_done_where_all_are_complete_at_the_close) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    batch posts{rt};
    EXPECT_TRUE(posts.close(ended).is_done());
    EXPECT_EQ(ended.outstanding(), 0U);
    EXPECT_TRUE(posts.close(ended, {.allow_done = false}).is_posted());
    EXPECT_EQ(ended.value(), 1U);
    test::own_messages all{1};
    all.post(dev, posts);
    all.send(dev, 0, 5);
    ASSERT_TRUE(test::eventually(dev, [&] { return posts.outstanding() == 0; }));
    EXPECT_TRUE(posts.close(ended).is_done());
    EXPECT_EQ(ended.value(), 1U);
    EXPECT_EQ(all.words()[0], 5U);
  });
}

TEST_F(batch_of_operations, counts_what_fails_and_keeps_the_first_error) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt};
    batch posts{rt};
    std::uint32_t narrow = 0;
    std::uint64_t word = 1;
    counter sent{rt};
    for (int round = 0; round < 2; ++round) {
      // A message that is too long; then a receive that is cancelled.
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{&narrow, 1}, posts); }));
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{&word, 1}, sent); }));
      ASSERT_TRUE(test::eventually(dev, [&] { return posts.outstanding() == 0; }));
      const status receive = test::post(dev, [&] { return dev.post_recv(0, std::span{&word, 1}, posts, {.tag = 1}); });
      test::own_messages all{1};
      all.post(dev, posts, 2);
      if (round == 1) {
        all.send(dev, 0, 3, 2);
        ASSERT_TRUE(test::eventually(dev, [&] { return posts.outstanding() == 1; }));
      }
      ASSERT_TRUE(posts.close(ends).is_posted());
      ASSERT_TRUE(test::eventually(dev, [&] { return dev.cancel(receive.ticket()) == cancel_result::cancelled; }));
      if (round == 0) all.send(dev, 0, 3, 2);
      const auto end = dev.wait(ends, {.timeout = test::patience});
      ASSERT_TRUE(end);
      EXPECT_EQ(end->error(), errc::truncated);
      EXPECT_EQ(end->tag(), 2U);
      EXPECT_EQ(posts.failed(), 2U);
      EXPECT_EQ(posts.first_error(), errc::truncated);
    }
    // Nothing is left of it in the next round; one that has failed is posted, not done.
    EXPECT_TRUE(posts.close(ends).is_done());
    EXPECT_EQ(posts.failed(), 0U);
    EXPECT_EQ(posts.first_error(), errc::none);
    const status receive = test::post(dev, [&] { return dev.post_recv(0, std::span{&word, 1}, posts, {.tag = 1}); });
    ASSERT_TRUE(test::eventually(dev, [&] { return dev.cancel(receive.ticket()) == cancel_result::cancelled; }));
    EXPECT_TRUE(posts.close(ends).is_posted());
    EXPECT_EQ(dev.wait(ends, {.timeout = test::patience})->error(), errc::cancelled);
  });
}

// Several threads post and make progress; one of them closes.
void end_rounds(std::size_t threads, std::uint64_t rounds) {
  static constexpr std::size_t each = 8;
  test::local_job{1}.run([threads, rounds](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    batch posts{rt};
    std::deque<test::own_messages> all;
    for (std::size_t i = 0; i < threads; ++i) all.emplace_back(each);
    std::atomic<std::uint64_t> posted{0}, begun{1};
    std::atomic<bool> right{true};
    const auto run = [&](std::size_t me) {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        if (!test::eventually(dev, [&] { return begun >= round; })) right = false;
        const std::uint64_t first = me * each;
        all[me].post(dev, posts, first);
        ++posted;
        for (std::size_t i = 0; i < each; ++i) all[me].send(dev, i, round * 100 + i, first);
        if (me == 0) {
          if (!test::eventually(dev, [&] { return posted == round * threads; })) right = false;
          if (!posts.close(ended, {.allow_done = false}).is_posted()) right = false;
        }
        if (!test::eventually(dev, [&] { return ended.value() >= round; })) right = false;
        for (std::size_t i = 0; i < each; ++i) {
          if (all[me].words()[i] != round * 100 + i) right = false;
        }
        if (me == 0) begun = round + 1;
      }
    };
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(run, i);
    run(0);
    others.clear();
    EXPECT_TRUE(right);
    EXPECT_EQ(ended.value(), rounds);
    EXPECT_EQ(posts.outstanding(), 0U);
  });
}

TEST_F(batch_of_operations, ends_each_round_once_with_some_threads) { end_rounds(3, 200); }
// Of these some have no line of their own.
TEST_F(batch_of_operations, ends_each_round_once_with_many_threads) { end_rounds(12, 20); }

// The thread that sees the end destroys the batch at once, while another one may still be signalling it.
TEST_F(batch_of_operations, may_be_destroyed_once_its_end_is_seen) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::atomic<bool> is_over{false};
    const std::jthread other{[&] {
      while (!is_over) {
        if (!dev.progress()) std::this_thread::yield();
      }
    }};
    for (std::uint64_t round = 0; round < 300; ++round) {
      counter ended{rt};
      test::own_messages all{2};
      std::optional<batch> posts{std::in_place, rt};
      all.post(dev, *posts);
      all.send(dev, 0, round);
      all.send(dev, 1, round);
      static_cast<void>(posts->close(ended, {.allow_done = false}));
      EXPECT_TRUE(test::eventually(dev, [&] { return ended.value() == 1; }));
      posts.reset();
    }
    is_over = true;
  });
}

TEST_F(batch_of_operations, waits_for_room_in_the_object_that_it_signals) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    synchronizer one{rt};
    batch posts{rt}, others{rt};
    static_cast<void>(posts.close(one, {.allow_done = false}));
    EXPECT_TRUE(one.is_ready());
    // No room: the signal waits, and the batch is used again meanwhile.
    int contexts[2] = {};
    static_cast<void>(others.close(one, {.context = &contexts[0], .allow_done = false}));
    EXPECT_TRUE(others.is_open());
    EXPECT_TRUE(others.close(one).is_done());
    static_cast<void>(one.take());
    one.reset();
    ASSERT_TRUE(test::eventually(dev, [&] { return one.is_ready(); }));
    EXPECT_EQ(one.take()->context(), &contexts[0]);
  });
}

TEST_F(batch_of_operations, is_a_node_of_a_graph) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt};
    test::own_messages all{4};
    batch posts{rt};
    bool is_seen = false;
    graph steps{dev};
    const graph_node begin = steps.add([&] { all.post(dev, posts); });
    const graph_node close = steps.add_post([&](completion& local) { return posts.close(local); });
    const graph_node look = steps.add([&] { is_seen = all.words() == std::vector<std::uint64_t>{0, 1, 2, 3}; });
    steps.add_edge(begin, close);
    steps.add_edge(close, look);
    for (int run = 0; run < 2; ++run) {
      is_seen = false;
      steps.start(ends);
      for (std::size_t i = 0; i < 4; ++i) all.send(dev, i, i);
      const auto end = dev.wait(ends, {.timeout = test::patience});
      ASSERT_TRUE(end);
      EXPECT_EQ(end->error(), errc::none);
      EXPECT_TRUE(is_seen);
    }
  });
}

TEST_F(batch_of_operations, is_awaited_by_a_coroutine) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    run_loop loop{dev};
    test::own_messages all{4};
    batch posts{rt};
    const auto work = [&]() -> task<std::uint64_t> {
      all.post(dev, posts);
      for (std::size_t i = 0; i < 4; ++i) all.send(dev, i, i + 1);
      const auto close = [&posts](completion& local, void* context) {
        return posts.close(local, {.context = context});
      };
      EXPECT_EQ((co_await loop.post(close)).error(), errc::none);
      EXPECT_EQ(all.words()[3], 4U);
      // One that fails.
      std::uint64_t word = 0;
      const status receive = test::post(dev, [&] { return dev.post_recv(0, std::span{&word, 1}, posts, {.tag = 9}); });
      EXPECT_TRUE(test::eventually(dev, [&] { return dev.cancel(receive.ticket()) == cancel_result::cancelled; }));
      const completion_record end = co_await loop.post(close);
      EXPECT_EQ(end.operation(), operation::batch);
      EXPECT_EQ(end.error(), errc::cancelled);
      EXPECT_EQ(end.tag(), 1U);
      co_return all.words()[3];
    };
    EXPECT_EQ(loop.run(work()), 4U);
  });
}

TEST_F(batch_of_operations, is_waited_for_by_a_thread) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device blocking{dev};
    const auto work = [&](std::uint64_t first) {
      test::own_messages all{4};
      batch posts{rt};
      all.post(dev, posts, first);
      for (std::size_t i = 0; i < 4; ++i) all.send(dev, i, i + first, first);
      blocking.close(posts);
      EXPECT_EQ(all.words()[3], 3 + first);
      std::uint64_t word = 0;
      const status receive = test::post(dev, [&] {
        return dev.post_recv(0, std::span{&word, 1}, posts, {.tag = 1000 + first});
      });
      EXPECT_TRUE(test::eventually(dev, [&] { return dev.cancel(receive.ticket()) == cancel_result::cancelled; }));
      try {
        blocking.close(posts);
        ADD_FAILURE() << "the error of an operation is lost";
      } catch (const error& thrown) {
        EXPECT_EQ(thrown.code(), errc::cancelled);
        EXPECT_EQ(posts.failed(), 1U);
      }
    };
    work(0);
  });
}

TEST_F(batch_of_operations, takes_flushes_and_graphs_too) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    graph steps{dev};
    bool has_run = false;
    steps.add([&] { has_run = true; });
    batch posts{rt};
    steps.start(posts);
    static_cast<void>(dev.post_flush(posts, {.allow_done = false}));
    static_cast<void>(posts.close(ended, {.allow_done = false}));
    EXPECT_TRUE(test::eventually(dev, [&] { return ended.value() == 1; }));
    EXPECT_TRUE(has_run);
  });
}

TEST_F(batch_of_operations, signals_an_error_if_an_exception_leaves_its_scope) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt};
    std::uint64_t word = 0;
    try {
      batch posts{rt};
      static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{&word, 1}, posts); }));
      static_cast<void>(posts.close(ends));
      throw std::runtime_error{"away"};
    } catch (const std::runtime_error&) {
    }
    const auto end = dev.wait(ends, {.timeout = test::patience});
    ASSERT_TRUE(end);
    EXPECT_EQ(end->error(), errc::cancelled);
  });
}

template <class Call>
void expect_refused(errc code, const char* words, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown where '" << words << "' was expected";
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), code);
    EXPECT_THAT(thrown.what(), HasSubstr(words));
  }
}

TEST_F(batch_of_operations, refuses_what_it_can_not_end) {
  std::atomic<counter*> theirs{nullptr};
  test::local_job{2}.run([&](runtime& rt) {
    counter ended{rt};
    batch posts{rt};
    if (rt.rank() == 1) theirs = &ended;
    rt.barrier();
    if (rt.rank() == 0) {
      device& dev = rt.default_device();
      expect_refused(errc::invalid_argument, "another runtime", [&] { static_cast<void>(posts.close(*theirs)); });
      expect_refused(errc::invalid_argument, "signal itself", [&] { static_cast<void>(posts.close(posts)); });
      expect_refused(errc::invalid_argument, "is given for a batch",
                     [&] { static_cast<void>(rt.register_completion(posts, {.id = 1})); });
      test::own_messages all{1};
      all.post(dev, posts);
      EXPECT_TRUE(posts.close(ended).is_posted());
      expect_refused(errc::invalid_state, "is closed already", [&] { static_cast<void>(posts.close(ended)); });
      all.send(dev, 0, 1);
      EXPECT_TRUE(test::eventually(dev, [&] { return ended.value() == 1; }));
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft

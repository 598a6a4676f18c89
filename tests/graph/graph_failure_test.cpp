// SPDX-License-Identifier: BSD-3-Clause
// Nodes that fail, and the nodes behind them; runs that are ended early.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/fixed_pools.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

const wait_options patient{.timeout = test::patience};

// Runs `started` once, and returns the error of its end.
errc error_of_run(device& dev, graph& started) {
  completion_queue ends{dev.runtime()};
  started.start(ends);
  const auto end = dev.wait(ends, patient);
  EXPECT_TRUE(end);
  EXPECT_FALSE(started.is_running());
  return end ? end->error() : errc::none;
}

std::string text_of(const std::exception_ptr& thrown) {
  if (thrown == nullptr) return "";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& known) {
    return known.what();
  }
}

class graph_failure : public testing::TestWithParam<after_failure> {
 protected:
  static void SetUpTestSuite() { test::fix_pools(); }
  [[nodiscard]] static bool runs_on() { return GetParam() == after_failure::run; }
  [[nodiscard]] static graph_options options() { return {.after_failure = GetParam()}; }
};
INSTANTIATE_TEST_SUITE_P(then, graph_failure, testing::Values(after_failure::run, after_failure::skip),
                         [](const auto& each) { return each.param == after_failure::run ? "run" : "skip"; });

// A post to a rank that is not there, in a thread that starts the graph and behind a receive; then without the mistake.
TEST_P(graph_failure, ends_a_run_with_the_error_of_a_post_that_throws) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    graph steps{dev, options()};
    std::uint64_t out = 7, in = 0;
    std::uint32_t to = 99;
    int behind = 0, further = 0, beside = 0;
    const graph_node receive = steps.add_post([&](completion& local) {
      return dev.post_recv(0, std::span{&in, 1}, local, {.tag = 1});
    });
    const graph_node wrong = steps.add_post([&](completion& local) {
      return dev.post_send(to, std::span{&out, 1}, local, {.tag = 2});
    });
    const graph_node after = steps.add([&] { ++behind; });
    const graph_node last = steps.add([&] { ++further; });
    const graph_node other = steps.add([&] { ++beside; });
    static_cast<void>(steps.add_post([&](completion& local) {
      return dev.post_send(0, std::span{&out, 1}, local, {.tag = 1});
    }));
    steps.add_edge(receive, wrong);
    steps.add_edge(wrong, after);
    steps.add_edge(after, last);
    steps.add_edge(receive, other);
    steps.add_edge(other, last);
    EXPECT_EQ(error_of_run(dev, steps), errc::invalid_argument);
    EXPECT_NE(text_of(steps.exception()).find("99"), std::string::npos) << text_of(steps.exception());
    EXPECT_EQ(in, 7U);
    EXPECT_EQ(behind, runs_on() ? 1 : 0);
    EXPECT_EQ(further, runs_on() ? 1 : 0);
    EXPECT_EQ(beside, 1);
    EXPECT_TRUE(steps.take(receive));
    EXPECT_FALSE(steps.take(wrong));

    to = 0;
    completion_queue taken{rt};
    std::uint64_t again = 0;
    static_cast<void>(test::post(dev, [&] { return dev.post_recv(0, std::span{&again, 1}, taken, {.tag = 2}); }));
    EXPECT_EQ(error_of_run(dev, steps), errc::none);
    EXPECT_EQ(steps.exception(), nullptr);
    EXPECT_EQ(further, runs_on() ? 2 : 1);
    EXPECT_TRUE(dev.wait(taken, patient));
  });
}

TEST_P(graph_failure, names_what_a_node_throws) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const auto check = [&](auto thrown, errc expected) {
      for (const bool in_post : {false, true}) {
        graph steps{dev, options()};
        int behind = 0;
        const graph_node wrong =
            in_post ? steps.add_post([&](completion&) -> status { throw thrown; }) : steps.add([&] { throw thrown; });
        steps.add_edge(wrong, steps.add([&] { ++behind; }));
        EXPECT_EQ(error_of_run(dev, steps), expected);
        EXPECT_EQ(text_of(steps.exception()), thrown.what());
        EXPECT_EQ(behind, runs_on() ? 1 : 0);
      }
    };
    check(error{errc::peer_failed, "the peer has gone"}, errc::peer_failed);
    check(error{errc::none, "no error"}, errc::user_exception);
    check(std::bad_alloc{}, errc::out_of_memory);
    check(std::runtime_error{"no luck"}, errc::user_exception);
    EXPECT_STREQ(name_of(errc::user_exception), "user_exception");
  });
}

// The operation is under way nevertheless, or has signalled already: the node waits for it, once.
TEST_P(graph_failure, waits_for_an_operation_whose_node_has_thrown_after_its_post) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt};
    for (const bool has_come : {false, true}) {
      const std::uint64_t out = 5;
      std::uint64_t in = 0;
      const auto send = [&] {
        static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{&out, 1}, sent, {.tag = 3}); }));
      };
      if (has_come) {
        send();
        for (int i = 0; i < 100; ++i) dev.progress();
      }
      graph steps{dev, options()};
      bool was_complete = false;
      const graph_node receive = steps.add_post([&](completion& local) -> status {
        status answer = status::retry(shortage::none);
        while ((answer = dev.post_recv(0, std::span{&in, 1}, local, {.tag = 3})).is_retry()) {
        }
        throw std::runtime_error{"after the post"};
      });
      steps.add_edge(receive, steps.add([&] { was_complete = in == 5; }));
      completion_queue ends{rt};
      steps.start(ends);
      if (!has_come) {
        EXPECT_TRUE(steps.is_running());
        send();
      }
      const auto end = dev.wait(ends, patient);
      ASSERT_TRUE(end);
      EXPECT_EQ(end->error(), errc::user_exception);
      EXPECT_EQ(in, 5U);
      EXPECT_EQ(was_complete, runs_on());
      EXPECT_TRUE(steps.take(receive));
    }
  });
}

// A refused post leaves no operation behind: the node is complete immediately.
TEST_P(graph_failure, ends_a_run_whose_backlog_is_full) {
  if (!test::are_pools_fixed()) GTEST_SKIP() << "another suite has read the settings";
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    matching_engine engine{rt, {.receiver_first = true}};
    const std::uint64_t out = 5;
    counter sent{rt};
    std::uint32_t pending = 0;
    while (dev.post_send(0, std::span{&out, 1}, sent, {.tag = pending, .engine = engine.id()}).is_posted()) ++pending;
    graph steps{dev, options()};
    static_cast<void>(steps.add_post([&](completion& local) {
      return dev.post_send(0, std::span{&out, 1}, local, {.tag = pending, .engine = engine.id(), .allow_retry = false});
    }));
    EXPECT_EQ(error_of_run(dev, steps), errc::backlog_full);
    std::uint64_t in = 0;
    counter received{rt};
    for (std::uint32_t tag = 0; tag < pending; ++tag) {
      static_cast<void>(test::post(dev, [&] {
        return dev.post_recv(0, std::span{&in, 1}, received, {.tag = tag, .engine = engine.id()});
      }));
    }
    EXPECT_TRUE(dev.wait(sent, pending, patient));
    EXPECT_TRUE(dev.wait(received, pending, patient));
  });
}

TEST_P(graph_failure, of_a_graph_inside_fails_the_node) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    graph inner{dev, options()}, outer{dev, options()};
    int behind = 0;
    inner.add([] { throw std::runtime_error{"inside"}; });
    outer.add_edge(outer.add_graph(inner), outer.add([&] { ++behind; }));
    EXPECT_EQ(error_of_run(dev, outer), errc::user_exception);
    EXPECT_EQ(behind, runs_on() ? 1 : 0);
    EXPECT_EQ(outer.exception(), nullptr);
    EXPECT_EQ(text_of(inner.exception()), "inside");
  });
}

// The thread may sleep: a post that waits, and a signal without room, are no work that wakes progress.
TEST(graph_retry, lets_the_threads_of_its_device_sleep) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt, {.capacity = 1}};
    bool is_open = false;
    int tries = 0;
    graph steps{dev};
    static_cast<void>(steps.add_post([&](completion&) {
      ++tries;
      return is_open ? status::done() : status::retry(shortage::ring);
    }));
    const auto may_sleep = [&] { return test::eventually(dev, [&] { return rt.arm(); }); };
    const auto is_woken = [&] {
      pollfd by{.fd = rt.wait_fd(), .events = POLLIN, .revents = 0};
      return ::poll(&by, 1, static_cast<int>(std::chrono::milliseconds{test::patience}.count())) == 1;
    };
    steps.start(ends);
    EXPECT_TRUE(may_sleep());
    EXPECT_TRUE(is_woken());
    EXPECT_TRUE(steps.is_running());
    const int before = tries;
    EXPECT_TRUE(test::eventually(dev, [&] { return tries > before; }));
    is_open = true;
    EXPECT_TRUE(test::eventually(dev, [&] { return !steps.is_running(); }));
    EXPECT_EQ(dev.counters().backlog.operations, 0U);
    for (int run = 0; run < 2; ++run) steps.start(ends);  // for whose ends there is no room
    EXPECT_TRUE(may_sleep());
    EXPECT_TRUE(is_woken());
    for (int run = 0; run < 3; ++run) EXPECT_TRUE(dev.wait(ends, patient));
    EXPECT_EQ(dev.counters().backlog.operations, 0U);
  });
}

TEST(graph_abandon, cancels_receives_and_skips_what_has_not_begun) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::array<std::uint64_t, 2> in{};
    const std::uint64_t out = 3;
    bool is_short = true;
    int behind = 0;
    graph steps{dev}, inner{dev};
    const graph_node inside = inner.add_post([&](completion& local) {
      return dev.post_recv(0, std::span{&in[0], 1}, local, {.tag = 1});
    });
    const graph_node receive = steps.add_post([&](completion& local) {
      return dev.post_recv(0, std::span{&in[1], 1}, local, {.tag = 2});
    });
    const graph_node tried =
        steps.add_post([&](completion&) { return is_short ? status::retry(shortage::ring) : status::done(); });
    const graph_node after = steps.add([&] { ++behind; });
    for (const graph_node before : {steps.add_graph(inner), receive, tried}) steps.add_edge(before, after);
    completion_queue ends{rt};
    steps.abandon();  // it doesn't run
    steps.start(ends);
    EXPECT_TRUE(inner.is_running());
    steps.abandon();
    const auto end = dev.wait(ends, patient);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->error(), errc::cancelled);
    EXPECT_FALSE(steps.is_running());
    EXPECT_FALSE(inner.is_running());
    EXPECT_EQ(behind, 0);
    const auto cancelled = steps.take(receive);
    ASSERT_TRUE(cancelled);
    EXPECT_EQ(cancelled->error(), errc::cancelled);
    EXPECT_TRUE(inner.take(inside));
    EXPECT_EQ(rt.counters().receives_waiting, 0U);

    // And runs as before.
    is_short = false;
    counter sent{rt};
    for (const std::uint64_t tag : {1, 2}) {
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, std::span{&out, 1}, sent, {.tag = tag}); }));
    }
    EXPECT_EQ(error_of_run(dev, steps), errc::none);
    EXPECT_EQ(in, (std::array<std::uint64_t, 2>{3, 3}));
    EXPECT_EQ(behind, 1);
  });
}

// Only its own run of a graph that is a node of two.
TEST(graph_abandon, leaves_a_graph_inside_alone_that_another_one_runs) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt};
    bool is_open = false;
    graph inner{dev}, one{dev}, other{dev};
    inner.add_post([&](completion&) { return is_open ? status::done() : status::retry(shortage::ring); });
    one.add_graph(inner);
    other.add_graph(inner);
    int first = 0, second = 0;
    one.start(ends, &first);
    other.start(ends, &second);
    other.abandon();
    auto end = dev.wait(ends, patient);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->context(), &second);
    EXPECT_EQ(end->error(), errc::cancelled);
    EXPECT_TRUE(inner.is_running());
    is_open = true;
    end = dev.wait(ends, patient);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->context(), &first);
    EXPECT_EQ(end->error(), errc::none);
  });
}

TEST(graph_abandon, ends_a_run_from_a_node_and_from_a_handler) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::uint64_t in = 0;
    for (const bool in_node : {true, false}) {
      graph steps{dev};
      static_cast<void>(steps.add_post([&](completion& local) {
        return dev.post_recv(0, std::span{&in, 1}, local, {.tag = 1});
      }));
      if (in_node) steps.add([&] { steps.abandon(); });
      handler stops{rt, [&](completion_record&&) { steps.abandon(); }};
      const registration arrivals = rt.register_completion(stops, {.id = in_node ? 1U : 2U});
      completion_queue ends{rt};
      steps.start(ends);
      counter sent{rt};
      if (!in_node) static_cast<void>(test::post_until_taken(dev, 0, {2}, {}, sent));
      const auto end = dev.wait(ends, patient);
      ASSERT_TRUE(end);
      EXPECT_EQ(end->error(), errc::cancelled);
    }
  });
}

// A receive of a receiver-first engine is cancelled by its sender.
TEST(graph_abandon, waits_for_the_answer_of_a_sender) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    matching_engine engine{rt, {.receiver_first = true}};
    rt.barrier();
    std::uint64_t in = 0;
    graph steps{dev};
    static_cast<void>(steps.add_post([&](completion& local) {
      return dev.post_recv(1 - rt.rank(), std::span{&in, 1}, local, {.tag = 1, .engine = engine.id()});
    }));
    completion_queue ends{rt};
    steps.start(ends);
    steps.abandon();
    const auto end = dev.wait(ends, patient);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->error(), errc::cancelled);
    rt.barrier();
  });
}

TEST(graph_abandon, comes_with_the_end_of_the_graph) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const std::uint32_t peer = 1 - rt.rank();
    counter ended{rt};
    std::uint64_t in = 0;
    int behind = 0;
    {
      graph steps{dev};
      steps.add_edge(steps.add_post([&](completion& local) {
        return dev.post_recv(peer, std::span{&in, 1}, local, {.tag = 1});
      }),
                     steps.add([&] { ++behind; }));
      static_cast<void>(steps.add_post([](completion&) { return status::retry(shortage::ring); }));
      steps.start(ended);
      EXPECT_TRUE(steps.is_running());
    }
    EXPECT_EQ(ended.value(), 1U);
    EXPECT_EQ(ended.failed(), 1U);
    EXPECT_EQ(behind, 0);
    // The end waits until the peer has the message, or has given it up.
    std::vector<std::byte> out(100'000, std::byte{1}), into(100'000);
    counter received{rt};
    status receive = status::done();
    {
      graph steps{dev};
      bool is_posted = false;
      static_cast<void>(steps.add_post([&](completion& local) {
        const status answer = dev.post_send(peer, out, local, {.tag = 2});
        is_posted = !answer.is_retry();
        return answer;
      }));
      graph moved{dev};
      moved = std::move(steps);
      moved.start(ended);
      receive = test::post(dev, [&] { return dev.post_recv(peer, into, received, {.tag = 2}); });
      EXPECT_TRUE(test::eventually(dev, [&] { return is_posted; }));
    }
    EXPECT_EQ(ended.value(), 2U);
    rt.barrier();
    const bool was_given_up = dev.cancel(receive.ticket()) == cancel_result::cancelled;  // no message has matched it
    EXPECT_TRUE(dev.wait(received, 1, patient));
    EXPECT_EQ(received.failed(), was_given_up ? 1U : 0U);
    EXPECT_TRUE(was_given_up || into == out);
    rt.barrier();
  });
}

// Threads complete nodes, start graphs again and abandon them: each start is followed by one end, and by no other one.
TEST(graph_abandon, ends_each_run_once_among_threads) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    constexpr int width = 6;
    const int runs = test::under_sanitizer ? 200 : 2'000;
    graph steps{dev}, inner{dev};
    std::array<std::uint64_t, width> in{};
    std::array<std::uint64_t, width> out{};
    counter sent{rt};
    test::tally<std::uint32_t> tries;
    // Sends meet receives of this run or a later one, and some wait for none.
    const auto add = [&](graph& to, int i, std::optional<graph_node> before) {
      const graph_node receive = to.add_post([&, i](completion& local) {
        if (tries.add() % 4 == 0) return status::retry(shortage::ring);
        return dev.post_recv(0, std::span{&in[i], 1}, local, {.tag = 1});
      });
      const graph_node send = to.add_post([&, i](completion&) {
        return dev.post_send(0, std::span{&out[i], 1}, sent, {.tag = 1});
      });
      if (before) to.add_edge(*before, receive);
      to.add_edge(send, receive);
      return receive;
    };
    std::optional<graph_node> before;
    for (int i = 0; i < width / 2; ++i) before = add(steps, i, i % 2 == 0 ? std::nullopt : before);
    for (int i = width / 2; i < width; ++i) add(inner, i, std::nullopt);
    steps.add_edge(*before, steps.add_graph(inner));
    completion_queue ends{rt};
    test::flag stop;
    test::tally<> rounds;
    std::vector<std::thread> others;
    for (int t = 0; t < 2; ++t) {
      others.emplace_back([&] {
        for (std::uint64_t seen = 0; !stop.is_raised();) {
          dev.progress();
          const std::uint64_t now = rounds.value();
          if (now != seen && now % 2 == 0) steps.abandon();
          seen = now;
        }
      });
    }
    for (int run = 0; run < runs; ++run) {
      steps.start(ends);
      rounds.add();
      if (run % 3 == 0) steps.abandon();
      std::optional<completion_record> end;
      ASSERT_TRUE(test::eventually(dev, [&] { return (end = ends.pop()).has_value(); })) << run;
      EXPECT_TRUE(end->error() == errc::none || end->error() == errc::cancelled) << name_of(end->error());
    }
    stop.raise();
    for (std::thread& each : others) each.join();
    EXPECT_FALSE(ends.pop());
    EXPECT_FALSE(steps.is_running());
    // Messages that have met no receive.
    std::uint64_t last = 0;
    completion_queue drained{rt};
    while (auto message = dev.probe(0, {.tag = 1})) {
      static_cast<void>(test::post(dev, [&] { return message->receive(std::span{&last, 1}, drained); }));
      ASSERT_TRUE(dev.wait(drained, patient));
    }
  });
}

}  // namespace
}  // namespace weft

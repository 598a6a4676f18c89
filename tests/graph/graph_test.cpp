// SPDX-License-Identifier: BSD-3-Clause
// Graphs: every node once, after those before it, whatever its post answers; no recursion that grows with the graph.
#include "weft/graph.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

const wait_options long_enough{.timeout = std::chrono::seconds{60}};

void run_once(device& dev, graph& started, counter& ended) {
  const std::uint64_t before = ended.value();
  started.start(ended);
  ASSERT_TRUE(dev.wait(ended, before + 1, long_enough));
  EXPECT_FALSE(started.is_running());
}

TEST(graph, runs_its_nodes_in_an_order_that_its_edges_allow) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    graph diamond{dev};
    std::vector<int> order;
    const auto note = [&](int step) { return diamond.add([&order, step] { order.push_back(step); }); };
    const graph_node top = note(0), left = note(1), right = note(2), bottom = note(3);
    diamond.add_edge(left, bottom);
    diamond.add_edge(right, bottom);
    diamond.add_edge(top, left);
    diamond.add_edge(top, right);
    for (int run = 0; run < 3; ++run) {
      order.clear();
      run_once(dev, diamond, ended);
      EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
    }
    EXPECT_EQ(diamond.size(), 4u);
  });
}

TEST(graph, that_is_empty_ends_at_once) {
  test::local_job{1}.run([](runtime& rt) {
    completion_queue ends{rt};
    graph nothing{rt.default_device()};
    int context = 0;
    nothing.start(ends, &context);
    const auto end = ends.pop();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->operation(), operation::graph);
    EXPECT_EQ(end->context(), &context);
    EXPECT_EQ(end->error(), errc::none);
    EXPECT_STREQ(name_of(end->operation()), "graph");
  });
}

// A chain and a fan that would not fit on a stack, one inside the other.
TEST(graph, needs_no_stack_for_its_length) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    constexpr std::uint32_t length = 100'000;
    graph chain{dev};
    std::uint32_t calls = 0;
    graph_node last = chain.add([&] { ++calls; });
    for (std::uint32_t i = 1; i < length; ++i) {
      const graph_node next = chain.add([&calls, i] {
        EXPECT_EQ(calls, i);
        ++calls;
      });
      chain.add_edge(last, next);
      last = next;
    }
    run_once(dev, chain, ended);
    EXPECT_EQ(calls, length);

    std::vector<std::unique_ptr<graph>> nest;
    for (int depth = 0; depth < 1'000; ++depth) {
      auto outer = std::make_unique<graph>(dev);
      if (depth != 0) outer->add_graph(*nest.back());
      outer->add([&] { ++calls; });
      nest.push_back(std::move(outer));
    }
    run_once(dev, *nest.back(), ended);
    EXPECT_EQ(calls, length + 1'000);
    while (!nest.empty()) nest.pop_back();
  });
}

TEST(graph, refuses_circles_and_nodes_that_are_not_there) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    graph all{dev};
    const auto nothing = [] {};
    const graph_node a = all.add(nothing), b = all.add(nothing), c = all.add(nothing), d = all.add(nothing);
    all.add_edge(a, b);
    all.add_edge(b, c);
    EXPECT_THROW(all.add_edge(c, c), error);
    EXPECT_THROW(all.add_edge(c, {17}), error);
    EXPECT_THROW(static_cast<void>(all.take({17})), error);
    EXPECT_THROW(all.add_graph(all), error);
    EXPECT_THROW(all.add(nullptr), error);
    EXPECT_THROW(all.add_post(nullptr), error);
    run_once(dev, all, ended);
    all.add_edge(c, b);
    try {
      all.start(ended);
      FAIL() << "a circle was started";
    } catch (const error& circle) {
      EXPECT_EQ(circle.code(), errc::invalid_argument);
      EXPECT_NE(std::string{circle.what()}.find("1, 2"), std::string::npos) << circle.what();
    }
    EXPECT_FALSE(all.is_running());
    graph backwards{dev};
    const graph_node last = backwards.add(nothing), first = backwards.add(nothing);
    backwards.add_edge(first, last);
    run_once(dev, backwards, ended);
    backwards.add_edge(last, first);
    EXPECT_THROW(backwards.start(ended), error);
    graph outer{dev}, middle{dev};
    middle.add_graph(outer);
    EXPECT_THROW(outer.add_graph(middle), error);
    outer.add_graph(all);
    EXPECT_THROW(middle.start(ended), error) << "the circle is two graphs further in";
    static_cast<void>(d);
  });
}

TEST(graph, posts_again_what_is_to_be_tried_again_and_loses_none) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    graph stubborn{dev};
    std::array<int, 20> tries{};
    int after = 0;
    const graph_node last = stubborn.add([&] { ++after; });
    for (std::size_t i = 0; i < tries.size(); ++i) {
      stubborn.add_edge(stubborn.add_post([&tries, i](completion&) {
        return ++tries[i] <= static_cast<int>(i) ? status::retry(shortage::ring) : status::done();
      }),
                        last);
    }
    for (int run = 1; run <= 3; ++run) {
      tries.fill(0);
      run_once(dev, stubborn, ended);
      EXPECT_EQ(after, run);
      for (std::size_t i = 0; i < tries.size(); ++i) EXPECT_EQ(tries[i], static_cast<int>(i) + 1);
    }
  });
}

// Ranks in a ring: receive from the left, send to the right, then say so.
TEST(graph, sends_and_receives) {
  test::local_job{3}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    const std::uint32_t right = (rt.rank() + 1) % rt.size();
    const std::uint32_t left = (rt.rank() + rt.size() - 1) % rt.size();
    graph ring{dev};
    std::uint64_t run = 0, out = 0, in = 0, seen = 0;  // messages of two runs may overtake each other
    const graph_node receive = ring.add_post([&](completion& local) {
      return dev.post_recv(left, std::span{&in, 1}, local, {.tag = run});
    });
    const graph_node send = ring.add_post([&](completion& local) {
      return dev.post_send(right, std::span{&out, 1}, local, {.tag = run});
    });
    const graph_node look = ring.add([&] { seen = in; });
    ring.add_edge(receive, look);
    for (; run < (test::messages_wake_sleepers() ? 200 : 5); ++run) {
      out = rt.rank() * 1000 + run;
      run_once(dev, ring, ended);
      EXPECT_EQ(seen, left * 1000 + run);
      const auto received = ring.take(receive);
      ASSERT_TRUE(received);
      EXPECT_EQ(received->source(), left);
      EXPECT_EQ(received->bytes(), sizeof in);
      EXPECT_FALSE(ring.take(receive));
    }
    static_cast<void>(send);
    rt.barrier();
  });
}

TEST(graph, tells_the_first_error_and_goes_on) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt};
    graph broken{dev};
    std::uint64_t word = 0;
    std::uint64_t ticket = 0;
    bool went_on = false;
    const graph_node receive = broken.add_post([&](completion& local) {
      const status answer = dev.post_recv(0, std::span{&word, 1}, local, {.tag = 99});
      if (answer.is_posted()) ticket = answer.ticket();
      return answer;
    });
    broken.add_edge(receive, broken.add([&] { went_on = true; }));
    broken.start(ends);
    ASSERT_TRUE(test::eventually(dev, [&] { return ticket != 0; }));
    ASSERT_TRUE(test::eventually(dev, [&] { return dev.cancel(ticket) != cancel_result::busy; }));
    const auto end = dev.wait(ends, long_enough);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->error(), errc::cancelled);
    EXPECT_TRUE(went_on);
  });
}

// An object that has no room for the end gets it later, and the graph may run on meanwhile.
TEST(graph, tells_its_end_as_soon_as_there_is_room) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue ends{rt, {.capacity = 1}};
    int calls = 0;
    {
      graph small{dev};
      small.add([&] { ++calls; });
      for (int i = 0; i < 3; ++i) small.start(ends);
    }
    EXPECT_EQ(calls, 3);
    int found = 0;
    for (int i = 0; i < 3; ++i) found += dev.wait(ends, long_enough).has_value();
    EXPECT_EQ(found, 3);
  });
}

TEST(graph, refuses_to_be_changed_or_started_while_it_runs) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    graph waiting{dev};
    bool is_open = false;
    const graph_node a =
        waiting.add_post([&](completion&) { return is_open ? status::done() : status::retry(shortage::ring); });
    const graph_node b = waiting.add([] {});
    waiting.start(ended);
    EXPECT_TRUE(waiting.is_running());
    const auto refused = [](auto call) {
      try {
        call();
        ADD_FAILURE() << "not refused";
      } catch (const error& wrong) {
        EXPECT_EQ(wrong.code(), errc::invalid_state) << wrong.what();
      }
    };
    refused([&] { waiting.start(ended); });
    refused([&] { waiting.add([] {}); });
    refused([&] { waiting.add_edge(a, b); });
    is_open = true;
    EXPECT_TRUE(dev.wait(ended, 1, long_enough));
    waiting.add_edge(a, b);
    run_once(dev, waiting, ended);
  });
}

// Shared inner graphs make no work that doubles with each level.
TEST(graph, may_be_inside_of_many) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    int calls = 0;
    graph top{dev};
    {
      auto below = std::make_unique<graph>(dev);
      below->add([&] { ++calls; });
      for (int level = 0; level < 50; ++level) {
        auto above = std::make_unique<graph>(dev);
        above->add_graph(*below);
        if (level < 3) above->add_edge({0}, above->add_graph(*below));
        below = std::move(above);
      }
      top = std::move(*below);
    }  // what is inside of it stays
    run_once(dev, top, ended);
    EXPECT_EQ(calls, 8);
  });
}

// An object of the user's own, which wakes nobody itself; and an end that waits for room longer than its device lives.
TEST(graph, wakes_who_waits_for_its_end) {
  class flag final : public completion {
   public:
    explicit flag(weft::runtime& owner) : completion{owner} {}
    answer signal(completion_record&& record) noexcept override {
      const completion_record consumed{std::move(record)};
      if (refusals_ != 0 && refusals_-- != 0) return answer::full;
      is_set.raise();
      return answer::taken;
    }
    test::flag is_set;
    int refusals_ = 3;
  };
  test::local_job{1}.run([](runtime& rt) {
    flag ended{rt};
    {
      device own{rt};
      graph nothing{own};
      nothing.start(ended);
    }
    EXPECT_FALSE(ended.is_set.is_raised());
    EXPECT_TRUE(rt.default_device().wait(
        ended, [&] { return ended.is_set.is_raised(); }, long_enough));
  });
}

TEST(graph, lets_no_node_wait) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    graph waiting{dev};
    errc told = errc::none;
    waiting.add([&] {
      try {
        dev.wait(ended, 1, long_enough);
      } catch (const error& wrong) {
        told = wrong.code();
      }
    });
    run_once(dev, waiting, ended);
    EXPECT_EQ(told, errc::invalid_state);
  });
}

// Two outer graphs share an inner one: one waits until the other has done with it.
TEST(graph, waits_for_an_inner_graph_that_somebody_else_runs) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter ended{rt};
    bool is_open = false;
    int calls = 0;
    graph inner{dev}, one{dev}, other{dev};
    inner.add_edge(
        inner.add_post([&](completion&) { return is_open ? status::done() : status::retry(shortage::ring); }),
        inner.add([&] { ++calls; }));
    one.add_graph(inner);
    other.add_graph(inner);
    one.start(ended);
    other.start(ended);
    for (int i = 0; i < 10; ++i) dev.progress();
    EXPECT_EQ(ended.value(), 0u);
    EXPECT_TRUE(inner.is_running());
    is_open = true;
    EXPECT_TRUE(dev.wait(ended, 2, long_enough));
    EXPECT_EQ(calls, 2);
  });
}

// Layers of random nodes whose completions come from several threads: each once in each run, and after all before it.
TEST(graph, runs_each_node_once_among_threads) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    const bool is_quick = test::messages_wake_sleepers();
    constexpr std::uint32_t width = 8;
    const std::uint32_t layers = is_quick ? 20 : 4;
    counter ended{rt};
    graph web{dev};
    std::mt19937 random{20261121};
    std::vector<test::tally<std::uint32_t>> runs(layers * width);
    std::vector<std::vector<std::uint32_t>> before(layers * width);
    test::tally<std::uint32_t> round;
    test::tally<std::uint32_t> wrong;
    test::tally<> tries;
    std::vector<test::published<completion*>> pending(layers * width);
    for (std::uint32_t i = 0; i < layers * width; ++i) {
      const graph_node made = web.add_post([&, i](completion& local) {
        if (tries.add() % 3 == 0) return status::retry(shortage::ring);
        for (const std::uint32_t each : before[i]) wrong.add(runs[each].value() != round.value() + 1);
        wrong.add(runs[i].add() != round.value());
        if (i % 4 < 2) return status::done();
        pending[i].publish(&local);
        return status::posted(1);
      });
      for (std::uint32_t k = 0; i >= width && k < 3; ++k) {
        const auto from = static_cast<std::uint32_t>((i / width - 1) * width + random() % width);
        before[i].push_back(from);
        web.add_edge({from}, made);
      }
    }
    test::flag stop;
    std::vector<std::thread> completers;
    for (std::uint32_t t = 0; t < 2; ++t) {
      completers.emplace_back([&, t] {
        while (!stop.is_raised()) {
          bool has_found = false;
          for (std::uint32_t i = t; i < layers * width; i += 2) {
            completion* const local = pending[i].take();
            if (local == nullptr) continue;
            has_found = true;
            wrong.add(local->signal(completion_record{}) != completion::answer::taken);
          }
          if (!dev.progress() && !has_found) std::this_thread::yield();
        }
      });
    }
    for (std::uint32_t run = 0; run < (is_quick ? 200u : 3u); ++run) {
      run_once(dev, web, ended);
      round.add();
    }
    stop.raise();
    for (std::thread& each : completers) each.join();
    EXPECT_EQ(wrong.value(), 0u);
    for (const auto& each : runs) EXPECT_EQ(each.value(), round.value());
  });
}

TEST(wait_for_several, ends_with_a_signal_of_any) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter count{rt};
    completion_queue inbox{rt};
    for (int i = 0; i < 4; ++i) {
      const std::uint64_t before = count.value();
      std::thread signaller{[&] {
        const completion::answer answer =
            i % 2 == 0 ? count.signal(completion_record{}) : inbox.signal(completion_record{});
        EXPECT_EQ(answer, completion::answer::taken);
      }};
      bool popped = false;
      EXPECT_TRUE(dev.wait(
          {&count, &inbox}, [&] { return (popped = inbox.pop().has_value()) || count.value() != before; },
          long_enough));
      EXPECT_EQ(popped, i % 2 == 1);
      signaller.join();
    }
    EXPECT_FALSE(dev.wait({&count, &inbox}, [] { return false; }, {.timeout = std::chrono::milliseconds{1}}));
    EXPECT_THROW(dev.wait({&count, nullptr}, [] { return false; }), error);
  });
}

}  // namespace
}  // namespace weft

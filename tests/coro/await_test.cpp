// SPDX-License-Identifier: BSD-3-Clause
// Coroutines: each await returns once, whichever thread completes it; nothing is resumed inside progress.
#include "weft/await.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/sanitizer.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

const wait_options long_enough{.timeout = std::chrono::seconds{60}};

void require(const completion_record& good) { EXPECT_EQ(good.error(), errc::none); }
template <class Buffer>
void require(const received<Buffer>& good) {
  require(good.record);
}

task<int> answer(int value) { co_return value; }

task<int> sum_of_answers(int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await answer(1);
  co_return sum;
}

task<int> nested(int depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await nested(depth - 1);
}

task<> fail() {
  throw std::runtime_error{"on purpose"};
  co_return;
}

TEST(task, gives_back_what_it_returns_and_begins_when_it_is_awaited) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    bool has_begun = false;
    const auto begin = [&]() -> task<std::string> {
      has_begun = true;
      co_return "text";
    };
    task<std::string> made = begin();
    EXPECT_FALSE(has_begun);
    EXPECT_EQ(loop.run(std::move(made)), "text");
    EXPECT_TRUE(has_begun);
    task<int> never = answer(1);  // goes unstarted
    never = answer(2);
    EXPECT_EQ(loop.run(std::move(never)), 2);
  });
}

// Neither many tasks one after the other nor many inside each other grow the stack, whatever the compiler does.
TEST(task, needs_no_stack_for_its_length) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    EXPECT_EQ(loop.run(sum_of_answers(1'000'000)), 1'000'000);
    EXPECT_EQ(loop.run(nested(20'000)), 20'000);
  });
}

TEST(task, throws_to_who_awaits_it) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    const auto look = []() -> task<bool> {
      try {
        co_await fail();
      } catch (const std::runtime_error&) {
        co_return true;
      }
      co_return false;
    };
    EXPECT_TRUE(loop.run(look()));
    EXPECT_THROW(loop.run(fail()), std::runtime_error);
    loop.spawn(fail());
    loop.spawn(fail());
    EXPECT_THROW(loop.run(long_enough), std::runtime_error);
    EXPECT_THROW(loop.run_ready(), std::runtime_error) << "the second one is not lost";
    EXPECT_TRUE(loop.run(long_enough));
  });
}

TEST(run_loop, runs_what_is_ready_once_and_in_order) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    std::vector<int> order;
    const auto steps = [&](int first) -> task<> {
      order.push_back(first);
      co_await loop.schedule();
      order.push_back(first + 1);
    };
    loop.spawn(steps(10));
    loop.spawn(steps(20));
    EXPECT_TRUE(order.empty()) << "only run_ready runs them";
    EXPECT_EQ(loop.spawned(), 2u);
    EXPECT_EQ(loop.run_ready(), 2u);
    EXPECT_EQ(order, (std::vector{10, 20}));
    EXPECT_EQ(loop.run_ready(), 2u);
    EXPECT_EQ(order, (std::vector{10, 20, 11, 21}));
    EXPECT_EQ(loop.spawned(), 0u);
    EXPECT_EQ(loop.run_ready(), 0u);
  });
}

// Both sides of everything that is posted, with short and long messages.
task<> exchange(run_loop& loop, std::uint32_t me, std::uint32_t peer, remote_region theirs, completion_queue& inbox) {
  for (const std::size_t size : {std::size_t{8}, std::size_t{1000}, std::size_t{200'000}}) {
    const std::vector<std::uint8_t> out(size, static_cast<std::uint8_t>(me + 1));
    std::vector<std::uint8_t> in(size + 1);
    const std::uint64_t tag = size;

    if (me == 0) {
      const completion_record sent = co_await loop.post_send(peer, out, {.tag = tag});
      EXPECT_EQ(sent.operation(), operation::send);
      EXPECT_EQ(sent.tag(), tag);
      EXPECT_EQ(sent.error(), errc::none);
    }
    const completion_record record = co_await loop.post_recv(peer, in, {.tag = tag});
    EXPECT_EQ(record.operation(), operation::receive);
    EXPECT_EQ(record.source(), peer);
    EXPECT_EQ(record.bytes(), size);
    EXPECT_EQ(record.context(), nullptr);
    EXPECT_EQ(in[size - 1], peer + 1);
    if (me == 1)
      require(co_await loop.post_send(peer, std::vector<std::uint8_t>{out}, {.tag = tag}));  // the operation's own

    require(co_await loop.post_am(peer, {1}, std::string(size, 'x'), {.tag = tag}));
    const auto message = co_await loop.wait(inbox);
    EXPECT_EQ(message->bytes(), size);

    const std::array<const_buffer_ref, 2> pieces{const_buffer_ref{out.data(), 3},
                                                 const_buffer_ref{out.data() + 3, size - 3}};
    const remote_buffer there{theirs, 8};
    require(
        co_await loop.post_put(peer, const_buffer_list{pieces}, there, {.complete_at = completion_level::delivered}));
    const auto got = co_await loop.post_get(peer, std::vector<std::uint8_t>(size), there);
    EXPECT_EQ(got.record.operation(), operation::get);
    EXPECT_EQ(got.buffer, out);
    std::vector<std::uint8_t> turned(size);
    const std::array<buffer_ref, 2> parts{buffer_ref{turned.data() + size - 3, 3}, buffer_ref{turned.data(), size - 3}};
    require(co_await loop.post_get(peer, buffer_list{parts}, there));
    EXPECT_EQ(turned, out);
    std::uint64_t before = 77;
    require(co_await loop.post_atomic<std::uint64_t>(peer, atomic_op::fetch_add, 1, {theirs, 0}, {.result = &before}));
    EXPECT_LT(before, 3u);
  }
}

TEST(run_loop, awaits_every_posting_operation) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    run_loop loop{dev};
    const std::uint32_t peer = 1 - rt.rank();
    completion_queue inbox{rt}, handles{rt};
    counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    const auto handle_arrivals = rt.register_completion(handles, {.id = 2});
    memory_region region{rt, std::size_t{300'000}};
    const remote_region mine = region.handle();
    test::post_until_taken(dev, peer, {2}, std::span{&mine, 1}, sent);
    remote_region theirs;
    const auto handle = dev.wait(handles, long_enough);
    ASSERT_TRUE(handle);
    std::memcpy(&theirs, handle->data().data(), sizeof theirs);
    loop.spawn(exchange(loop, rt.rank(), peer, theirs, inbox));
    EXPECT_TRUE(loop.run(long_enough));
    EXPECT_TRUE(dev.wait(
        sent, [&] { return sent.outstanding() == 0; }, long_enough));
    rt.barrier();
  });
}

// What lies in the operation itself moves when it is given back, and the record follows.
TEST(run_loop, gives_back_buffers_that_the_operation_owned) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    const auto talk = [&]() -> task<> {
      const std::array<std::uint32_t, 3> out{1, 2, 3};
      require(co_await loop.post_send(0, std::array{out}, {.tag = 5}));
      const auto got = co_await loop.post_recv(0, std::array<std::uint32_t, 4>{}, {.tag = 5});
      EXPECT_EQ(got.record.bytes(), sizeof out);
      EXPECT_EQ(static_cast<const void*>(got.record.data().data()), got.buffer.data());
      EXPECT_EQ(got.buffer, (std::array<std::uint32_t, 4>{1, 2, 3, 0}));
    };
    loop.run(talk());
  });
}

// Far more than there is room for, to a peer that takes none meanwhile; all of it arrives.
TEST(run_loop, posts_again_what_is_to_be_tried_again) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    run_loop loop{dev};
    completion_queue inbox{rt, {.unbounded = true}};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    const std::uint64_t count = test::messages_wake_sleepers() ? 20'000 : 500;
    rt.barrier();
    if (rt.rank() == 0) {
      const auto send = [&](std::uint64_t number) -> task<> {
        require(co_await loop.post_am(1, {1}, std::array{number}, {.tag = number}));
      };
      for (std::uint64_t i = 0; i < count; ++i) loop.spawn(send(i));
      EXPECT_TRUE(loop.run(long_enough));
    } else {
      const auto take = [&]() -> task<std::uint64_t> {
        std::uint64_t sum = 0;
        for (std::uint64_t i = 0; i < count; ++i) sum += (co_await loop.wait(inbox))->tag();
        co_return sum;
      };
      EXPECT_EQ(loop.run(take()), count * (count - 1) / 2);
    }
    rt.barrier();
  });
}

TEST(run_loop, throws_what_a_post_throws_and_tells_of_errors_in_the_record) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    const auto wrong = [&]() -> task<errc> {
      try {
        require(co_await loop.post_send(7, std::string{"nobody"}));
      } catch (const error& refused) {
        co_return refused.code();
      }
      co_return errc::none;
    };
    EXPECT_EQ(loop.run(wrong()), errc::invalid_argument);
    const auto truncated = [&]() -> task<errc> {
      require(co_await loop.post_send(0, std::string(100, 'x')));
      co_return (co_await loop.post_recv(0, std::string(10, ' '))).record.error();
    };
    EXPECT_EQ(loop.run(truncated()), errc::truncated);
  });
}

TEST(run_loop, awaits_counters_synchronizers_and_conditions) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    counter count{rt};
    synchronizer both{rt, {.expected = 2}};
    bool is_open = false;
    std::vector<int> order;
    const auto waits_for = [&](std::uint64_t value) -> task<> {
      EXPECT_TRUE(co_await loop.wait(count, value));
      order.push_back(static_cast<int>(value));
    };
    const auto waits_for_both = [&]() -> task<> {
      EXPECT_TRUE(co_await loop.wait(both));
      order.push_back(100);
    };
    const auto waits_for_opening = [&]() -> task<> {
      EXPECT_TRUE(co_await loop.wait(count, [&] { return is_open; }));
      order.push_back(200);
    };
    for (const std::uint64_t value : {3, 1, 2}) loop.spawn(waits_for(value));
    loop.spawn(waits_for_both());
    loop.spawn(waits_for_both());
    loop.spawn(waits_for_opening());
    const auto signal = [](completion& on) { EXPECT_EQ(on.signal(completion_record{}), completion::answer::taken); };
    EXPECT_EQ(loop.run_ready(), 6u);
    EXPECT_EQ(loop.run_ready(), 0u);
    signal(count);
    EXPECT_EQ(loop.run_ready(), 1u);
    signal(count);
    signal(count);
    EXPECT_EQ(loop.run_ready(), 2u);
    EXPECT_EQ(order, (std::vector{1, 3, 2}));
    signal(both);
    EXPECT_EQ(loop.run_ready(), 0u);
    signal(both);
    is_open = true;
    EXPECT_EQ(loop.run_ready(), 3u);
    EXPECT_EQ(loop.spawned(), 0u);
  });
}

// One record for each waiting coroutine, in their order; sleepers are woken by signals of another thread.
TEST(run_loop, sleeps_until_another_thread_signals_what_is_awaited) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    completion_queue inbox{rt};
    std::vector<int> order;
    const auto take = [&](int which) -> task<> {
      EXPECT_TRUE(co_await loop.wait(inbox));
      order.push_back(which);
    };
    for (int i = 0; i < 5; ++i) loop.spawn(take(i));
    std::thread signaller{[&] {
      for (int i = 0; i < 5; ++i) {
        EXPECT_EQ(inbox.signal(completion_record{}), completion::answer::taken);
        std::this_thread::yield();
      }
    }};
    EXPECT_TRUE(loop.run(long_enough));
    signaller.join();
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4}));
    EXPECT_FALSE(inbox.pop());
    loop.spawn(take(5));
    EXPECT_FALSE(loop.run({.timeout = std::chrono::milliseconds{1}}));
    EXPECT_EQ(inbox.signal(completion_record{}), completion::answer::taken);
    EXPECT_TRUE(loop.run(long_enough));
  });
}

TEST(run_loop, makes_progress_while_coroutines_are_always_ready) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    counter arrived{rt};
    const auto arrivals = rt.register_completion(arrived, {.id = 1});
    bool stops = false;
    const auto restless = [&]() -> task<> {
      require(co_await loop.post_am(0, {1}, std::array<int, 1>{}));
      while (arrived.value() == 0) co_await loop.schedule();
      while (!stops) co_await loop.schedule();
    };
    loop.spawn(restless());
    while (arrived.value() == 0) EXPECT_FALSE(loop.run({.timeout = std::chrono::milliseconds{1}}));
    stops = true;
    EXPECT_TRUE(loop.run(long_enough));
  });
}

TEST(run_loop, starts_graphs) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    graph steps{rt.default_device()};
    int calls = 0;
    int tries = 0;
    steps.add([&] { ++calls; });
    steps.add_post([&](completion&) { return ++tries % 3 == 0 ? status::done() : status::retry(shortage::ring); });
    const auto twice = [&]() -> task<> {
      EXPECT_EQ((co_await loop.start(steps)).operation(), operation::graph);
      require(co_await loop.start(steps));
    };
    loop.run(twice());
    EXPECT_EQ(calls, 2);
  });
}

TEST(run_loop, takes_a_receive_back_when_it_is_asked_to_stop) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    const auto receive = [&](std::stop_token stop) -> task<errc> {
      std::uint64_t into = 0;
      const completion_record record = co_await loop.post_recv(0, std::span{&into, 1}, {.tag = 4}, stop);
      co_return record.error();
    };
    std::vector<errc> ends;
    const auto note = [&](std::stop_token stop) -> task<> { ends.push_back(co_await receive(stop)); };
    std::stop_source before, during, after;
    before.request_stop();
    loop.spawn(note(before.get_token()));
    loop.spawn(note(during.get_token()));
    loop.spawn(note(after.get_token()));
    loop.run_ready();
    EXPECT_EQ(ends, std::vector{errc::cancelled});
    during.request_stop();
    EXPECT_EQ(ends.size(), 1u) << "resumed by the loop alone";
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] {
      loop.run_ready();
      return ends.size() == 2;
    }));
    EXPECT_EQ(ends.back(), errc::cancelled);
    const auto send = [&]() -> task<> {
      require(co_await loop.post_send(0, std::array<std::uint64_t, 1>{}, {.tag = 4}));
    };
    loop.spawn(send());
    EXPECT_TRUE(loop.run(long_enough));
    after.request_stop();
    EXPECT_EQ(ends.back(), errc::none);
  });
}

TEST(run_loop, lets_what_waits_for_an_object_stop) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    completion_queue inbox{rt};
    counter count{rt};
    std::stop_source stop;
    int ended = 0;
    const auto take = [&]() -> task<> {
      EXPECT_FALSE(co_await loop.wait(inbox, stop.get_token()));
      ++ended;
    };
    const auto wait = [&]() -> task<> {
      EXPECT_FALSE(co_await loop.wait(count, 1, stop.get_token()));
      ++ended;
    };
    loop.spawn(take());
    loop.spawn(take());
    loop.spawn(wait());
    loop.run_ready();
    std::thread stopper{[&] { stop.request_stop(); }};
    EXPECT_TRUE(loop.run(long_enough));
    stopper.join();
    EXPECT_EQ(ended, 3);
  });
}

struct says_when_it_goes {
  explicit says_when_it_goes(int& gone) : count{&gone} {}
  says_when_it_goes(const says_when_it_goes&) = delete;
  ~says_when_it_goes() { ++*count; }
  int* count;
};

// The buffers of an operation live in the frame, which stays until the operation is over.
TEST(task, that_is_destroyed_goes_when_nothing_refers_to_it) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    run_loop loop{dev};
    completion_queue inbox{rt};
    event never{loop};
    counter taken{rt};
    const auto arrivals = rt.register_completion(taken, {.id = 1});
    int gone = 0;
    const auto inner = [&](int awaited) -> task<> {
      const says_when_it_goes mark{gone};
      std::vector<std::byte> buffer(100'000, std::byte{5});
      if (awaited == 0) require(co_await loop.post_recv(0, buffer, {.tag = 9}));
      if (awaited == 1) {
        require(co_await loop.post_am(0, {1}, buffer, {.complete_at = completion_level::delivered}));
      }
      if (awaited == 2) {
        EXPECT_FALSE(co_await loop.wait(inbox));
      }
      if (awaited == 3) co_await never;
      ADD_FAILURE() << "was destroyed";
    };
    const auto outer = [&](int awaited) -> task<> {
      const says_when_it_goes mark{gone};
      co_await inner(awaited);
    };
    for (int awaited = 0; awaited < 4; ++awaited) {
      gone = 0;
      loop.spawn(fail());  // ends the run, so that the other one is dropped
      EXPECT_THROW(loop.run(outer(awaited)), std::runtime_error);
      if (awaited == 1) {
        EXPECT_EQ(gone, 0) << "its message is still being fetched";
      }
      if (awaited == 3) never.set();
      EXPECT_TRUE(test::eventually(dev, [&] {
        loop.run_ready();
        return gone == 2;
      }));
      never.reset();
    }
    EXPECT_LE(taken.value(), 1u);  // none where the post was answered with retry
    if (test::messages_wake_sleepers()) {
      EXPECT_EQ(taken.value(), 1u);
    }
  });
}

TEST(run_loop, has_an_executor_resume) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    std::vector<std::coroutine_handle<>> kept;
    int steps = 0;
    const auto talk = [&]() -> task<> {
      ++steps;
      std::uint64_t in = 0;
      require(co_await loop.post_send(0, std::array<std::uint64_t, 1>{7}));
      require(co_await loop.post_recv(0, std::span{&in, 1}));
      EXPECT_EQ(in, 7u);
      EXPECT_EQ(co_await answer(3), 3);
      ++steps;
    };
    loop.spawn(talk());
    EXPECT_EQ(loop.run_ready([&](std::coroutine_handle<> next) { kept.push_back(next); }), 1u);
    EXPECT_EQ(steps, 0);
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] {
      for (const auto each : std::exchange(kept, {})) each.resume();  // as a pool of threads would
      loop.run_ready([&](std::coroutine_handle<> next) { kept.push_back(next); });
      return loop.spawned() == 0;
    }));
    EXPECT_EQ(steps, 2);
  });
}

TEST(run_loop, keeps_what_is_ready_when_an_executor_throws) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    int calls = 0;
    const auto call = [&]() -> task<> {
      ++calls;
      co_return;
    };
    for (int i = 0; i < 3; ++i) loop.spawn(call());
    bool has_thrown = false;
    const auto executor = [&](std::coroutine_handle<> next) {
      next.resume();
      if (!std::exchange(has_thrown, true)) throw std::runtime_error{"once"};
    };
    EXPECT_THROW(loop.run_ready(executor), std::runtime_error);
    EXPECT_EQ(loop.run_ready(executor), 2u);
    EXPECT_EQ(calls, 3);
  });
}

TEST(event, lets_those_that_wait_go_on_in_their_order) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    event ready{loop};
    std::vector<int> order;
    const auto wait = [&](int which) -> task<> {
      co_await ready;
      order.push_back(which);
    };
    for (int i = 0; i < 3; ++i) loop.spawn(wait(i));
    loop.run_ready();
    EXPECT_TRUE(order.empty());
    ready.set();
    EXPECT_TRUE(ready.is_set());
    EXPECT_TRUE(order.empty()) << "resumed by the loop alone";
    loop.spawn(wait(3));
    EXPECT_TRUE(loop.run(long_enough));
    EXPECT_EQ(order, (std::vector{0, 1, 2, 3}));
    ready.reset();
    EXPECT_FALSE(ready.is_set());
    loop.spawn(wait(4));
    loop.run_ready();
    EXPECT_EQ(order.size(), 4u);
    std::thread setter{[&] { ready.set(); }};
    EXPECT_TRUE(loop.run(long_enough));
    setter.join();
  });
}

constexpr bool counts_memory = !base::under_sanitizer;
constexpr std::size_t many = counts_memory ? 1'000'000 : 10'000;  // their memory is the sanitizer's

TEST(a_million_coroutines, that_wait_take_less_than_a_gibibyte) {
  test::local_job{1}.run([](runtime& rt) {
    run_loop loop{rt.default_device()};
    event ready{loop};
    std::size_t ended = 0;
    const auto inner = [&]() -> task<std::uint64_t> {
      co_await ready;
      co_return 1;
    };
    const auto outer = [&]() -> task<> { ended += co_await inner(); };
    const auto allocated = [] {
      const auto all = ::mallinfo2();
      return all.uordblks + all.hblkhd;
    };
    const std::size_t before = allocated();
    for (std::size_t i = 0; i < many; ++i) loop.spawn(outer());
    loop.run_ready();
    EXPECT_EQ(loop.spawned(), many);
    const std::size_t bytes = allocated() - before;
    if (counts_memory) {
      EXPECT_GT(bytes, many * 100) << "this is not what counts them";
      EXPECT_LT(bytes, std::size_t{1} << 30);
      RecordProperty("bytes_each", std::to_string(bytes / many));
    }
    ready.set();
    EXPECT_TRUE(loop.run(long_enough));
    EXPECT_EQ(ended, many);
  });
}

}  // namespace
}  // namespace weft

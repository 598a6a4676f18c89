// SPDX-License-Identifier: BSD-3-Clause
// Objects that go in the wrong order end the process with a line that says which rule was broken.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

// A process that is started anew for each death: one that forks while it has threads may hang.
class lifetime : public testing::Test {
 protected:
  lifetime() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// A runtime that is destroyed when the test says so; alone, whatever has started this process.
std::unique_ptr<weft::runtime> lone_runtime() {
  ::setenv("WEFT_BOOT", "single", 1);
  return std::make_unique<weft::runtime>();
}

const std::vector<std::byte> large(100'000);

TEST_F(lifetime, of_a_completion_object_ends_after_its_operations) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::counter inbox{*rt};
    const auto arrivals = rt->register_completion(inbox, {.id = 1});
    const weft::counter sent{*rt};
    std::optional<weft::counter> gone{std::in_place, *rt};
    if (!rt->default_device().post_am(0, {1}, large, *gone).is_posted()) return;
    gone.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: .*operations that will signal it are under way");
}

TEST_F(lifetime, of_a_batch_ends_after_its_operations) {
  const auto wrong = [](bool is_closed) {
    const auto rt = lone_runtime();
    weft::counter ended{*rt};
    std::uint64_t word = 0;
    std::optional<weft::batch> gone{std::in_place, *rt};
    if (!rt->default_device().post_recv(0, std::span{&word, 1}, *gone).is_posted()) return;
    if (is_closed) static_cast<void>(gone->close(ended));
    gone.reset();
  };
  for (const bool is_closed : {false, true}) {
    EXPECT_DEATH(wrong(is_closed), "wrong use: .*operations that will signal it are under way");
  }
}

TEST_F(lifetime, of_a_completion_object_ends_after_flushes_and_barriers_that_will_signal_it) {
  const auto wrong = [](bool is_flush) {
    const auto rt = lone_runtime();
    std::optional<weft::counter> gone{std::in_place, *rt};
    static_cast<void>(is_flush ? rt->default_device().post_flush(*gone, {.allow_done = false})
                               : rt->post_barrier(*gone, {.allow_done = false}));
    gone.reset();
  };
  for (const bool is_flush : {true, false}) {
    EXPECT_DEATH(wrong(is_flush), "wrong use: .*operations that will signal it are under way");
  }
}

// The barrier has ended before the device that would continue it.
TEST_F(lifetime, of_a_runtime_ends_after_objects_that_a_posted_barrier_will_signal) {
  const auto wrong = [] {
    weft::test::local_job{2}.run([](weft::runtime& rt) {
      if (rt.rank() == 0) static_cast<void>(rt.post_barrier(*new weft::counter{rt}));
    });
  };
  EXPECT_DEATH(wrong(), "wrong use: a runtime is destroyed before a completion object");
}

// As an exit() in a handler does to static objects.
TEST_F(lifetime, of_a_runtime_does_not_end_inside_a_handler) {
  const auto wrong = [] {
    auto rt = lone_runtime();
    weft::handler inbox{*rt, [&](weft::completion_record&&) { rt.reset(); }};
    const auto arrivals = rt->register_completion(inbox, {.id = 1});
    weft::counter sent{*rt};
    weft::device& dev = rt->default_device();
    static_cast<void>(dev.post_am(0, {1}, std::span{large}.first(8), sent));
    for (int i = 0; i < 1000; ++i) static_cast<void>(dev.progress());
  };
  EXPECT_DEATH(wrong(), "wrong use: a device is destroyed inside a handler .*static object by an exit");
}

// With a local object that is destroyed on the way, which loses the text where nothing catches the exception.
TEST_F(lifetime, of_an_exception_ends_in_the_handler_that_throws_it_with_its_text) {
  const auto wrong = [] {
    weft::runtime rt;
    weft::handler inbox{rt, [](weft::completion_record&& record, weft::device&) {
                          const std::vector<std::byte> copy(record.bytes() + 3);
                          if (copy.size() > 2) throw std::runtime_error{"no such account"};
                        }};
    weft::counter sent{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    weft::device& dev = rt.default_device();
    dev.until_accepted([&] { return dev.post_am(0, {.id = 1}, {}, sent); });
    static_cast<void>(dev.wait(sent, 1, {.timeout = std::chrono::seconds{20}}));
  };
  EXPECT_DEATH(wrong(), "wrong use: a handler's function threw an exception.*no such account");
}

TEST_F(lifetime, of_a_completion_object_does_not_end_inside_its_own_handler) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    std::optional<weft::counter> sent{std::in_place, *rt};
    using handler = weft::handler<std::function<void(weft::completion_record &&)>>;
    std::optional<handler> inbox;
    inbox.emplace(*rt, [&](weft::completion_record&&) { inbox.reset(); });
    weft::device& dev = rt->default_device();
    static_cast<void>(dev.post_send(0, std::span{large}.first(8), *sent));
    std::array<std::byte, 8> bytes{};
    static_cast<void>(dev.post_recv(0, std::span{bytes}, *inbox));
    for (int i = 0; i < 1000; ++i) static_cast<void>(dev.progress());
  };
  EXPECT_DEATH(wrong(), "wrong use: a completion object is destroyed inside its own handler");
}

TEST_F(lifetime, of_a_progress_thread_does_not_end_in_this_thread) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    std::optional<weft::progress_thread> own;
    weft::handler inbox{*rt, [&](weft::completion_record&&) { own.reset(); }};
    const auto arrivals = rt->register_completion(inbox, {.id = 1});
    weft::counter sent{*rt};
    own.emplace(rt->default_device());
    static_cast<void>(rt->default_device().post_am(0, {1}, std::span{large}.first(8), sent));
    ::sleep(60);
  };
  EXPECT_DEATH(wrong(), "wrong use: a progress_thread is destroyed by its own thread");
}

// Its operation can be neither cancelled nor completed.
class never_takes final : public weft::completion {
 public:
  explicit never_takes(weft::runtime& owner) : completion{owner} {}
  ~never_takes() override { end_signals(); }
  answer signal(weft::completion_record&& /*record*/) noexcept override { return answer::full; }
};

enum class thrown : int { by_weft, by_library, no_exception_class, again };

void throw_one(weft::device& dev, thrown which, weft::completion& local) {
  switch (which) {
    case thrown::by_weft: static_cast<void>(dev.post_am(77, {1}, large, local)); break;
    case thrown::by_library: throw std::runtime_error{"disk full"};
    case thrown::no_exception_class: throw 5;
    case thrown::again: std::rethrow_exception(std::make_exception_ptr(std::runtime_error{"disk full"}));
  }
}

// What can't be saved ends the process, and then the line has the text of the exception that leaves the scope.
TEST_F(lifetime, of_a_completion_object_that_an_exception_ends_too_early_is_told_with_the_exception) {
  const auto wrong = [](thrown which) {
    const auto rt = lone_runtime();
    weft::counter inbox{*rt};
    const auto arrivals = rt->register_completion(inbox, {.id = 1});
    try {
      never_takes gone{*rt};
      if (!rt->default_device().post_am(0, {1}, large, gone).is_posted()) return;
      throw_one(rt->default_device(), which, gone);
    } catch (...) {
    }
  };
  EXPECT_DEATH(wrong(thrown::by_weft), "wrong use: .*under way; an exception is leaving the scope: .*no rank 77");
  EXPECT_DEATH(wrong(thrown::by_library), "wrong use: .*under way; an exception is leaving the scope: disk full");
  EXPECT_DEATH(wrong(thrown::no_exception_class),
               "wrong use: .*under way; an exception is leaving the scope: an exception of type int");
  EXPECT_DEATH(wrong(thrown::again), "wrong use: .*under way; an exception is leaving the scope: disk full");
}

TEST_F(lifetime, of_a_run_loop_that_an_exception_ends_too_early_is_told_with_the_exception) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    try {
      weft::run_loop loop{rt->default_device()};
      const weft::event never{loop};
      struct own_coroutine {  // of the program's own type: the loop can't destroy it
        struct promise_type {
          own_coroutine get_return_object() { return {}; }
          std::suspend_never initial_suspend() { return {}; }
          std::suspend_never final_suspend() noexcept { return {}; }
          void return_void() {}
          void unhandled_exception() {}
        };
      };
      weft::counter count{*rt};
      [](weft::run_loop& in, weft::counter& on) -> own_coroutine { static_cast<void>(co_await in.wait(on, 1)); }(loop,
                                                                                                                 count);
      throw std::runtime_error{"disk full"};
    } catch (...) {
    }
  };
  EXPECT_DEATH(wrong(), "wrong use: a run loop .*; an exception is leaving the scope: disk full");
}

TEST_F(lifetime, of_a_completion_object_ends_after_what_waits_in_the_backlog) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::counter inbox{*rt};
    const auto arrivals = rt->register_completion(inbox, {.id = 1});
    std::optional<weft::counter> gone{std::in_place, *rt};
    const std::uint64_t word = 1;
    bool posted = false;
    for (int i = 0; i < 100'000 && !posted; ++i) {
      posted = rt->default_device().post_am(0, {1}, std::span{&word, 1}, *gone, {.allow_retry = false}).is_posted();
    }
    if (posted) gone.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: .*operations that will signal it are under way");
}

TEST_F(lifetime, of_a_completion_object_ends_after_its_registration) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    std::optional<weft::counter> inbox{std::in_place, *rt};
    const auto arrivals = rt->register_completion(*inbox, {.id = 1});
    inbox.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: .*declare the registration after the object");
}

// The child of a process with a runtime does `what`, and the process ends as the child did.
template <class Action>
void in_child_of_fork(const Action& action) {
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    rt.barrier();
    if (rt.rank() == 1) {
      const pid_t child = ::fork();
      if (child == 0) {
        action(rt);
        ::_exit(0);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      if (WIFSIGNALED(status)) std::abort();
    }
    rt.barrier();
  });
  std::exit(0);
}

TEST_F(lifetime, of_a_process_ends_where_a_child_of_fork_goes_on_with_what_is_its_parents) {
  const char* const words = "wrong use: a child of fork.. uses a (device|matching engine) of its parent";
  const auto use = [](weft::runtime& rt) { static_cast<void>(rt.default_device().progress()); };
  EXPECT_DEATH(in_child_of_fork(use), words);
  for (const std::uint32_t peer : {0U, 1U}) {
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1000}, large.size()}) {
      const auto post = [&](weft::runtime& rt) {
        weft::counter sent{rt};
        if (rt.default_device().post_am(peer, {1}, std::span{large}.first(bytes), sent).is_retry()) std::abort();
        std::exit(0);
      };
      EXPECT_DEATH(in_child_of_fork(post), words) << bytes << " bytes to rank " << peer;
    }
  }
  const auto wait = [](weft::runtime& rt) {
    weft::counter never{rt};
    static_cast<void>(rt.default_device().wait(never, 1));
  };
  EXPECT_DEATH(in_child_of_fork(wait), words);
  EXPECT_EXIT(in_child_of_fork([](weft::runtime&) {}), testing::ExitedWithCode(0), "^$");
}

TEST_F(lifetime, of_a_process_ends_with_a_hook_that_throws) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    rt->default_device().add_hook([]() -> weft::hook_answer { throw std::runtime_error{"disk full"}; }).detach();
    rt->default_device().progress();
  };
  EXPECT_DEATH(wrong(), "wrong use: a hook threw an exception.*: disk full");
}

TEST_F(lifetime, of_a_process_ends_with_a_node_of_a_graph_that_throws) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::counter ended{*rt};
    weft::graph steps{rt->default_device()};
    steps.add([] { throw 1; });
    steps.start(ended);
  };
  EXPECT_DEATH(wrong(), "wrong use: a function of a graph threw an exception.*: an exception of type int");
}

TEST_F(lifetime, of_a_process_ends_with_a_node_of_a_graph_that_posts_something_else) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::counter ended{*rt};
    std::uint64_t into = 0;
    weft::graph steps{rt->default_device()};
    steps.add_post([&](weft::completion& local) {
      static_cast<void>(rt->default_device().post_recv(0, std::span{&into, 1}, local));
      return weft::status::done();
    });
    steps.start(ended);
  };
  EXPECT_DEATH(wrong(), "wrong use: a post of a graph used its completion object for something else");
}

// A receive can be cancelled everywhere; what has been promised to a peer needs progress.
TEST_F(lifetime, of_a_running_graph_does_not_end_where_a_thread_can_not_wait) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::device& dev = rt->default_device();
    weft::counter ended{*rt};
    std::optional<weft::graph> steps{std::in_place, dev};
    steps->add_post([&](weft::completion& local) { return dev.post_send(0, large, local); });
    steps->start(ended);
    const weft::hook ends = dev.add_hook([&] {
      steps.reset();
      return weft::hook_answer::done;
    });
    for (int calls = 0; calls < 1000; ++calls) dev.progress();  // one that finds messages leaves out the hooks
    std::abort();
  };
  EXPECT_DEATH(wrong(), "wrong use: a graph is destroyed inside a handler, a hook or a node");
}

// The device's rings are being gone through.
TEST_F(lifetime, of_a_device_does_not_end_inside_its_own_hook) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    std::optional<weft::device> dev{std::in_place, *rt};
    const weft::hook ends = dev->add_hook([&] {
      dev.reset();
      return weft::hook_answer::done;
    });
    dev->progress();
  };
  EXPECT_DEATH(wrong(), "wrong use: .*inside a handler or hook");
}

TEST_F(lifetime, of_a_runtime_ends_after_its_devices) {
  const auto wrong = [] {
    auto rt = lone_runtime();
    const weft::device dev{*rt};
    rt.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: a runtime is destroyed before a device");
}

TEST_F(lifetime, of_a_runtime_ends_after_its_completion_objects) {
  const auto wrong = [] {
    auto rt = lone_runtime();
    const weft::completion_queue inbox{*rt};
    rt.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: a runtime is destroyed before a completion object");
}

TEST_F(lifetime, of_a_runtime_ends_after_its_packets) {
  const auto wrong = [] {
    auto rt = lone_runtime();
    const auto packet = rt->try_take_packet();
    rt.reset();
  };
  EXPECT_DEATH(wrong(), "wrong use: a runtime is destroyed before a packet that was taken from it");
}

// The record of a message of so many bytes to oneself, which outlives its queue.
weft::completion_record record_of_message(weft::runtime& rt, std::size_t bytes) {
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  static_cast<void>(rt.default_device().post_am(0, {1}, std::span{large}.first(bytes), sent));
  std::optional<weft::completion_record> out;
  for (int i = 0; i < 1'000'000 && !(out = inbox.pop()); ++i) rt.default_device().progress();
  for (int i = 0; i < 1'000'000 && sent.outstanding() != 0; ++i) rt.default_device().progress();
  return out ? std::move(*out) : weft::completion_record{};
}

constexpr const char* outlived = "wrong use: a runtime is destroyed before a record, or a message that a probe";

TEST_F(lifetime, of_a_runtime_ends_after_records_of_long_messages) {
  const auto wrong = [] {
    auto rt = lone_runtime();
    const auto kept = record_of_message(*rt, large.size());
    rt.reset();
  };
  EXPECT_DEATH(wrong(), outlived);
}

TEST_F(lifetime, of_a_runtime_ends_after_records_of_messages_in_its_packets) {
  const auto wrong = [] {
    auto rt = lone_runtime();
    const auto kept = record_of_message(*rt, 1000);
    rt.reset();
  };
  EXPECT_DEATH(wrong(), outlived);
}

TEST_F(lifetime, of_a_runtime_ends_after_messages_that_a_probe_has_found) {
  const auto wrong = [] {
    auto rt = lone_runtime();
    std::optional<weft::matched_message> kept;
    {
      weft::counter sent{*rt};
      static_cast<void>(rt->default_device().post_send(0, std::span{large}.first(1000), sent));
      for (int i = 0; i < 1'000'000 && !kept; ++i) {
        rt->default_device().progress();
        if (auto found = rt->default_device().probe(0)) kept.emplace(std::move(*found));
      }
    }
    rt.reset();
  };
  EXPECT_DEATH(wrong(), outlived);
}

// Of rank 1, which has records of messages from rank 0: the first in its packet, the others, beyond the quota, copied
// to packets of rank 1. One of them outlives the runtime.
TEST_F(lifetime, of_a_runtime_ends_after_records_of_messages_in_packets_of_a_peer) {
  const auto wrong = [](std::size_t outlives) {
    ::setenv("WEFT_FOREIGN_PACKETS_MAX", "1", 1);
    std::optional<weft::completion_record> kept;
    weft::test::local_job{2}.run([&](weft::runtime& rt) {
      weft::device& dev = rt.default_device();
      weft::completion_queue inbox{rt};
      weft::counter sent{rt};
      const auto arrivals = rt.register_completion(inbox, {.id = 1});
      rt.barrier();
      std::vector<weft::completion_record> records;
      for (int i = 0; i < 2 && rt.rank() == 0; ++i) {
        if (dev.post_am(1, {1}, std::span{large}.first(1000), sent).is_retry()) std::exit(2);
      }
      for (int i = 0; i < 1'000'000 && rt.rank() == 1 && records.size() < 2; ++i) {
        dev.progress();
        if (auto got = inbox.pop()) records.push_back(std::move(*got));
      }
      rt.barrier();
      if (outlives < records.size()) kept.emplace(std::move(records[outlives]));
    });
    std::exit(0);
  };
  EXPECT_DEATH(wrong(0), outlived);
  EXPECT_DEATH(wrong(1), outlived);
  EXPECT_EXIT(wrong(2), testing::ExitedWithCode(0), "^$");
}

TEST_F(lifetime, of_a_runtime_ends_well_with_sends_that_nobody_has_received) {
  const auto right = [] {
    {
      const auto rt = lone_runtime();
      weft::counter sent{*rt};
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{1000}}) {
        static_cast<void>(rt->default_device().post_send(0, std::span{large}.first(bytes), sent));
      }
      for (int i = 0; i < 1000; ++i) rt->default_device().progress();
      if (rt->counters().sends_waiting != 2) std::exit(3);
    }
    weft::test::local_job{2}.run([](weft::runtime& rt) {
      weft::device& dev = rt.default_device();
      weft::counter sent{rt};
      const auto other = 1 - rt.rank();
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{1000}, std::size_t{1000}}) {
        static_cast<void>(dev.post_send(other, std::span{large}.first(bytes), sent));
      }
      for (int i = 0; i < 1'000'000 && rt.counters().sends_waiting != 3; ++i) dev.progress();
      rt.barrier();
    });
    std::exit(0);
  };
  EXPECT_EXIT(right(), testing::ExitedWithCode(0), "^$");
}

TEST_F(lifetime, in_the_right_order_ends_well) {
  const auto right = [] {
    {
      const auto rt = lone_runtime();
      const weft::device dev{*rt};
      weft::counter sent{*rt};
      weft::completion_queue inbox{*rt};
      const auto arrivals = rt->register_completion(inbox, {.id = 1});
      if (!rt->default_device().post_am(0, {1}, large, sent).is_posted()) std::exit(2);
      for (int i = 0; i < 1'000'000 && sent.value() == 0; ++i) rt->default_device().progress();
      // A record that is still in the queue goes with it.
    }
    std::exit(0);
  };
  EXPECT_EXIT(right(), testing::ExitedWithCode(0), "^$");
}

// It would wait for the return of the signal in which it is destroyed.
TEST_F(lifetime, of_a_termination_does_not_end_inside_its_signal) {
  const auto wrong = [] {
    const auto rt = lone_runtime();
    weft::group all = rt->world();
    std::optional<weft::termination> counts{std::in_place, all};
    weft::handler on_end{*rt, [&](weft::completion_record&&) { counts.reset(); }};
    static_cast<void>(counts->post(on_end));
    while (counts) rt->default_device().progress();
  };
  EXPECT_DEATH(wrong(), "wrong use: a termination is destroyed inside a handler");
}

}  // namespace

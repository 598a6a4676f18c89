// SPDX-License-Identifier: BSD-3-Clause
// Children of fork() that destroy copies of all that their parent has, while threads of the parent use it: they wait
// for nothing, and neither the parent nor its peers notice. What else a child does with the copies ends it.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/sanitizer.hpp"
#include "core/runtime/runtime_state.hpp"
#include "support/forks.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::child_report;
using test::end_of_child;

// So many children are made while other threads are busy: one of them mostly met each of the defects.
constexpr int children = test::under_sanitizer ? 10 : 40;

// AddressSanitizer leaves a lock of its allocator held for ever in a child whose parent allocated at that moment. With
// it, and only so, fork() waits for calls of `apart_from_forks` to end.
std::mutex one_call;
std::atomic<bool> forks{false};

void wait_for_calls_at_forks() {
  static const int failed = ::pthread_atfork(
      [] {
        forks.store(true, std::memory_order_relaxed);  // relaxed: a request, the lock orders
        one_call.lock();
      },
      [] {
        forks.store(false, std::memory_order_relaxed);  // relaxed: a request, the lock orders
        one_call.unlock();
      },
      nullptr);
  if (failed != 0) std::abort();
}

// What a busy thread calls that allocates memory.
template <class Once>
auto apart_from_forks(Once once) {
  if constexpr (base::under_address_sanitizer) wait_for_calls_at_forks();
  return [once] {
    std::unique_lock lock{one_call, std::defer_lock};
    if constexpr (base::under_address_sanitizer) {
      while (forks.load(std::memory_order_relaxed)) std::this_thread::yield();  // relaxed: a request
      lock.lock();
    }
    once();
  };
}

// A thread that calls `once` again and again.
class busy_thread {
 public:
  template <class Once>
  explicit busy_thread(Once once)
      : thread_{[this, once] {
          while (!stops_) once();
        }} {}
  busy_thread(const busy_thread&) = delete;
  busy_thread& operator=(const busy_thread&) = delete;
  ~busy_thread() {
    stops_.store(true, std::memory_order_relaxed);  // relaxed: only an order to stop
    thread_.join();
  }

 private:
  std::atomic<bool> stops_{false};
  std::thread thread_;
};

template <class Work>
void expect_good_children(const Work& work, int count = children) {
  for (int i = 0; i < count; ++i) {
    const test::child_end end = end_of_child(work);
    ASSERT_EQ(end.fault, "") << "child " << i << " of " << count << ", which said: " << end.said;
  }
}

template <class Work>
void expect_refusal(const char* call, const Work& work) {
  const test::child_end end = end_of_child([&](child_report& report) {
    report.at("does what it may not do");
    work();
  });
  EXPECT_NE(end.fault.find("signal 6"), std::string::npos) << call << ": " << end.fault;
  EXPECT_NE(end.said.find("wrong use: a child of fork() uses a"), std::string::npos) << call << ": " << end.said;
}

std::unique_ptr<runtime> lone_runtime() {
  ::setenv("WEFT_BOOT", "single", 1);
  return std::make_unique<runtime>();
}

status send_to_self(device& dev, std::uint32_t id, const_buffer_ref bytes, completion& sent) {
  return test::post(dev, [&] { return dev.post_am(dev.runtime().rank(), {id}, bytes, sent); });
}

TEST(child_of_fork, does_not_take_its_parents_devices_away) {
  test::local_job{2}.run([](runtime& rt) {
    completion_queue inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    std::optional<device> second{std::in_place, rt};
    rt.barrier();
    if (rt.rank() == 1) {
      expect_good_children(
          [&](child_report& report) {
            report.at("destroys a device");
            second.reset();
          },
          1);
    }
    rt.barrier();
    counter sent{rt};
    const std::uint64_t word = 7;
    static_cast<void>(test::post_until_taken(*second, 1 - rt.rank(), {1}, const_buffer_ref{&word, sizeof word}, sent,
                                             {.device = second->index()}));
    EXPECT_TRUE(test::eventually(*second, [&] { return inbox.pop().has_value(); }));
    EXPECT_EQ(second->counters().arrivals.messages, 1U);
    rt.barrier();
  });
}

TEST(child_of_fork, does_not_give_its_parents_packets_back) {
  test::local_job{2}.run([](runtime& rt) {
    completion_queue inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    if (rt.rank() == 1) {
      std::optional<completion_record> got;
      EXPECT_TRUE(test::eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }));
      expect_good_children(
          [&](child_report& report) {
            report.at("destroys a record");
            got.reset();
          },
          1);
      rt.barrier();
      rt.barrier();
    } else {
      counter sent{rt};
      const std::vector<std::byte> bytes(rt.attributes().packet_bytes);
      static_cast<void>(test::post_until_taken(rt.default_device(), 1, {1}, bytes, sent));
      rt.barrier();
      unsigned returned = 0;  // while rank 1 has the message still
      for (const auto& each : test::local_job::state_of(rt).transports()) {
        if (net::memory_sharing* const sharing = each->sharing(); sharing != nullptr) {
          returned += sharing->reclaim_packets();
        }
      }
      EXPECT_EQ(returned, 0U);
      rt.barrier();
    }
  });
}

TEST(child_of_fork, does_not_take_its_parents_regions_away) {
  test::local_job{2}.run([](runtime& rt) {
    if (rt.rank() == 0) {
      core::region_table& regions = test::local_job::state_of(rt).memory().regions();
      std::optional<memory_region> region{std::in_place, rt, std::size_t{4096}};
      std::ranges::fill(region->memory(), std::byte{7});
      expect_good_children(
          [&](child_report& report) {
            report.at("destroys a region");
            region.reset();
          },
          1);
      const std::uint64_t name = region->handle().name;
      EXPECT_EQ(regions.locate(0, name, 0, 4096).reach, regions.locate(0, name, 0, 8).reach);
      EXPECT_NE(regions.find(name, 0, 4096), nullptr);
      EXPECT_TRUE(std::ranges::all_of(region->memory(), [](std::byte each) { return each == std::byte{7}; }));
    }
    rt.barrier();
  });
}

TEST(child_of_fork, destroys_a_device_that_another_thread_was_choosing) {
  test::local_job{1}.run([](runtime& rt) {
    device visitor{rt, {.policy = progress_policy::all}};
    std::optional<device> visited{std::in_place, rt};
    const busy_thread polls{[&] { visitor.progress(); }};
    expect_good_children([&](child_report& report) {
      report.at("destroys the visited device");
      visited.reset();
    });
  });
}

// Each takes a lock of the runtime that a thread of the parent takes and leaves all the time.
TEST(child_of_fork, destroys_what_another_thread_was_making_and_destroying) {
  test::local_job{1}.run([](runtime& rt) {
    std::optional<device> dev{std::in_place, rt};
    counter target{rt};
    std::optional<registration> registered{rt.register_completion(target, {.id = 1})};
    std::optional<matching_engine> engine{std::in_place, rt, matching_engine_options{.id = 1}};
    std::optional<memory_region> region{std::in_place, rt, std::size_t{4096}};
    std::optional<hook> added{dev->add_hook([] { return hook_answer::no_progress; })};
    std::uint32_t id = 2;
    const busy_thread others{apart_from_forks([&] {
      const device other{rt, {.shared = false}};
      counter object{rt};
      const registration of_object = rt.register_completion(object, {.id = id});
      const matching_engine made{rt, {.id = id}};
      const memory_region memory{rt, std::size_t{4096}};
      ++id;
    })};
    expect_good_children([&](child_report& report) {
      report.at("removes a hook");
      added.reset();
      report.at("destroys a region");
      region.reset();
      report.at("destroys an engine");
      engine.reset();
      report.at("destroys a registration");
      registered.reset();
      report.at("destroys a device");
      dev.reset();
    });
  });
}

TEST(child_of_fork, destroys_what_another_thread_was_inside_of) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::atomic<bool> is_inside{false}, may_leave{false};
    const auto stay = [&](completion_record&&) {
      is_inside = true;
      while (!may_leave) std::this_thread::yield();
    };
    std::optional<handler<decltype(stay)>> target{std::in_place, rt, stay};
    std::optional<registration> arrivals{rt.register_completion(*target, {.id = 1})};
    std::optional<counter> sent{std::in_place, rt};
    std::optional<device> other{std::in_place, rt};
    std::optional<matching_engine> engine{std::in_place, rt};
    std::optional<hook> added{dev.add_hook([] { return hook_answer::no_progress; })};
    const std::uint64_t word = 7;
    static_cast<void>(send_to_self(dev, 1, {&word, sizeof word}, *sent));
    std::uint64_t into = 0;
    EXPECT_TRUE(test::post(dev, [&] {
                  return dev.post_recv(0, std::span{&into, 1}, *target, {.tag = 1});
                }).is_posted());
    // This thread makes no progress on `dev` from here on: the handler would stay in it.
    static_cast<void>(test::post(*other, [&] { return other->post_send(0, std::span{&word, 1}, *sent, {.tag = 1}); }));
    {
      const busy_thread polls{[&] { dev.progress(); }};
      EXPECT_TRUE(test::eventually([&] { return bool{is_inside}; }));
      expect_good_children(
          [&](child_report& report) {
            report.at("removes a hook");
            added.reset();
            report.at("destroys an engine");
            engine.reset();
            report.at("destroys a device");
            other.reset();
            report.at("destroys a registration");
            arrivals.reset();
            report.at("destroys a handler in which a thread is");
            target.reset();
            report.at("destroys a counter");
            sent.reset();
          },
          3);
      may_leave = true;
    }
    EXPECT_TRUE(test::eventually(dev, [&] {
      other->progress();
      return target->outstanding() == 0;
    }));
  });
}

// Operations that are under way in the parent: no destructor calls that a wrong use.
TEST(child_of_fork, destroys_what_operations_are_to_signal) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    std::optional<counter> counted{std::in_place, rt};
    std::optional<completion_queue> queue{std::in_place, rt};
    std::optional<synchronizer> both{std::in_place, rt, synchronizer_options{.expected = 2}};
    std::optional<matching_engine> engine{std::in_place, rt, matching_engine_options{.id = 1, .ordered = true}};
    std::optional<matching_engine> first{std::in_place, rt, matching_engine_options{.id = 2, .receiver_first = true}};
    std::optional<graph> steps{std::in_place, dev};
    std::array<std::uint64_t, 6> into{};
    std::vector<std::uint64_t> tickets;
    const auto receive = [&](std::size_t at, completion& local, const post_recv_options& options) {
      const status answer = dev.post_recv(0, std::span{&into[at], 1}, local, options);
      if (!answer.is_retry()) tickets.push_back(answer.ticket());
      return answer;
    };
    const auto receive_now = [&](std::size_t at, completion& local, const post_recv_options& options) {
      EXPECT_TRUE(test::post(dev, [&] { return receive(at, local, options); }).is_posted());
    };
    receive_now(0, *counted, {.tag = 1});
    receive_now(1, *queue, {.tag = 2});
    receive_now(2, *both, {.tag = 3});
    receive_now(3, *counted, {.tag = 4, .engine = engine->id()});
    steps->add_post([&](completion& local) { return receive(4, local, {.tag = 5}); });
    steps->start(*counted);
    receive_now(5, *counted, {.tag = 6, .engine = first->id()});
    EXPECT_TRUE(test::eventually(dev, [&] { return tickets.size() == into.size(); }));
    expect_good_children(
        [&](child_report& report) {
          report.at("destroys a running graph");
          steps.reset();
          report.at("destroys an engine with a receive");
          engine.reset();
          report.at("destroys a receiver-first engine with a receive");
          first.reset();
          report.at("destroys a synchronizer");
          both.reset();
          report.at("destroys a queue");
          queue.reset();
          report.at("destroys a counter");
          counted.reset();
        },
        3);
    for (const std::uint64_t ticket : tickets) {
      EXPECT_TRUE(test::eventually(dev, [&] { return dev.cancel(ticket) != cancel_result::busy; }));
    }
    EXPECT_TRUE(test::eventually(dev, [&] {
      return counted->outstanding() + queue->outstanding() + both->outstanding() == 0 && !steps->is_running();
    }));
  });
}

TEST(child_of_fork, destroys_objects_that_other_threads_were_signalling) {
  test::local_job{1}.run([](runtime& rt) {
    std::optional<completion_queue> queue{std::in_place, rt, completion_queue_options{.capacity = 16}};
    std::optional<completion_queue> unbounded{std::in_place, rt, completion_queue_options{.unbounded = true}};
    std::optional<synchronizer> ready{std::in_place, rt};
    std::optional<registration> to_queue{rt.register_completion(*queue, {.id = 1})};
    std::optional<registration> to_unbounded{rt.register_completion(*unbounded, {.id = 2})};
    std::optional<registration> to_ready{rt.register_completion(*ready, {.id = 3})};
    const std::vector<std::byte> bytes(100);
    const auto send_and_take = [&] {
      counter sent{rt};
      for (std::uint32_t id = 1; id <= 3; ++id) {
        if (rt.default_device().post_am(0, {id}, bytes, sent).is_retry()) break;
      }
      rt.default_device().progress();
      static_cast<void>(queue->pop());
      static_cast<void>(unbounded->pop());
      while (sent.outstanding() != 0) rt.default_device().progress();
    };
    {
      const busy_thread one{send_and_take};
      const busy_thread two{[&] {
        send_and_take();
        if (!ready->is_ready()) return;
        static_cast<void>(ready->take());
        ready->reset();
      }};
      expect_good_children([&](child_report& report) {
        report.at("destroys registrations");
        to_queue.reset();
        to_unbounded.reset();
        to_ready.reset();
        report.at("destroys a synchronizer");
        ready.reset();
        report.at("destroys a queue");
        queue.reset();
        report.at("destroys an unbounded queue");
        unbounded.reset();
      });
    }
    EXPECT_TRUE(test::eventually(rt.default_device(), [&] {
      static_cast<void>(queue->pop());
      if (ready->is_ready()) ready->reset();
      return !rt.default_device().progress();
    }));
  });
}

TEST(child_of_fork, destroys_packets_records_and_probed_messages) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    completion_queue inbox{rt};
    counter sent{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    const std::vector<std::byte> medium(1000), large(100'000);
    std::vector<completion_record> records;
    for (const auto* bytes : {&medium, &large}) {
      static_cast<void>(send_to_self(dev, 1, *bytes, sent));
      EXPECT_TRUE(test::eventually(dev, [&] {
        std::optional<completion_record> got = inbox.pop();
        if (got) records.push_back(std::move(*got));
        return got.has_value();
      }));
    }
    std::optional<packet> taken = rt.try_take_packet();
    std::vector<matched_message> found;
    for (const auto* bytes : {&medium, &large}) {
      static_cast<void>(test::post(dev, [&] { return dev.post_send(0, *bytes, sent, {.tag = 1}); }));
      EXPECT_TRUE(test::eventually(dev, [&] {
        std::optional<matched_message> probed = dev.probe(0, {.tag = 1});
        if (probed) found.push_back(std::move(*probed));
        return probed.has_value();
      }));
    }
    {
      const busy_thread others{[&] { static_cast<void>(rt.try_take_packet()); }};
      expect_good_children([&](child_report& report) {
        report.at("destroys records");
        records.clear();
        report.at("destroys a packet");
        taken.reset();
        report.at("destroys messages that it has probed for");
        found.clear();
      });
    }
    found.clear();
    EXPECT_TRUE(test::eventually(dev, [&] { return sent.outstanding() == 0; }));
  });
}

TEST(child_of_fork, destroys_progress_threads_and_descriptors_whose_threads_sleep_and_wake) {
  test::local_job{1}.run([](runtime& rt) {
    device dev{rt};
    completion_queue inbox{rt};
    const registration arrivals = rt.register_completion(inbox, {.id = 1});
    std::optional<progress_thread> helper{std::in_place, dev};
    std::optional<wait_descriptor> ready{std::in_place, rt.default_device()};
    {
      const busy_thread wakes{[&] {
        counter sent{rt};
        const std::uint64_t word = 7;
        static_cast<void>(rt.default_device().post_am(0, {1}, std::span{&word, 1}, sent));
        rt.default_device().progress();
        while (inbox.pop()) {
        }
      }};
      expect_good_children([&](child_report& report) {
        report.at("destroys a progress_thread");
        helper.reset();
        report.at("destroys a wait_descriptor");
        ready.reset();
      });
    }
    for (int round = 0; round < 3; ++round) {
      static_cast<void>(ready->arm());
      expect_good_children(
          [&](child_report& report) {
            report.at("destroys an armed wait_descriptor");
            ready.reset();
          },
          1);
    }
  });
}

TEST(child_of_fork, destroys_its_whole_runtime_and_makes_one_of_its_own) {
  auto rt = lone_runtime();
  auto sent = std::make_unique<counter>(*rt);
  {
    const busy_thread polls{[&, dev = &rt->default_device()] { dev->progress(); }};
    // Threads that take their first slot, and give it back.
    const busy_thread threads{
        apart_from_forks([dev = &rt->default_device()] { std::thread{[dev] { dev->progress(); }}.join(); })};
    expect_good_children([&](child_report& report) {
      report.at("destroys a counter");
      sent.reset();
      report.at("destroys a runtime");
      rt.reset();
      report.at("makes a runtime");
      runtime own;
      counter done{own};
      completion_queue inbox{own};
      const registration arrivals = own.register_completion(inbox, {.id = 1});
      const std::uint64_t word = 7;
      report.at("sends in its own runtime");
      const auto send = [&] { static_cast<void>(send_to_self(own.default_device(), 1, std::span{&word, 1}, done)); };
      if constexpr (test::under_sanitizer) {
        send();  // ThreadSanitizer allows no thread in a child of a process with threads
      } else {
        std::thread{send}.join();
      }
      if (!test::eventually(own.default_device(), [&] { return inbox.pop().has_value(); })) std::abort();
      report.at("destroys its own runtime");
    });
  }
}

TEST(child_of_fork, ends_where_it_uses_what_is_its_parents) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter done{rt};
    std::uint64_t word = 0;
    const std::span<std::uint64_t, 1> buffer{&word, 1};
    const matching_engine engine{rt};
    const status posted = test::post(dev, [&] { return dev.post_recv(0, buffer, done, {.tag = 1}); });
    graph steps{dev};
    steps.add([] {});
    device own{rt, {.shared = false}};
    expect_refusal("device", [&] { const device made{rt}; });
    expect_refusal("register_completion", [&] { const auto made = rt.register_completion(done, {.id = 5}); });
    expect_refusal("matching_engine", [&] { const matching_engine made{rt}; });
    expect_refusal("memory_region", [&] { const memory_region made{rt, std::size_t{4096}}; });
    expect_refusal("memory_region of the user's", [&] {
      const memory_region made{rt, std::as_writable_bytes(buffer)};
    });
    expect_refusal("add_hook", [&] { dev.add_hook([] { return hook_answer::done; }).detach(); });
    expect_refusal("wait_fd", [&] { static_cast<void>(rt.wait_fd()); });
    expect_refusal("arm", [&] { static_cast<void>(rt.arm()); });
    expect_refusal("barrier", [&] { rt.barrier(); });
    expect_refusal("progress", [&] { dev.progress(); });
    expect_refusal("wait", [&] { static_cast<void>(dev.wait(done, 1)); });
    expect_refusal("post_am", [&] { static_cast<void>(dev.post_am(0, {1}, buffer, done)); });
    expect_refusal("reply", [&] { dev.reply(0, {1}, buffer); });
    expect_refusal("post_send", [&] { static_cast<void>(dev.post_send(0, buffer, done)); });
    expect_refusal("post_recv", [&] { static_cast<void>(dev.post_recv(0, buffer, done)); });
    expect_refusal("post_recv of a device of one's own", [&] { static_cast<void>(own.post_recv(0, buffer, done)); });
    expect_refusal("post_recv in an engine",
                   [&] { static_cast<void>(dev.post_recv(0, buffer, done, {.engine = engine.id()})); });
    expect_refusal("cancel", [&] { static_cast<void>(dev.cancel(posted.ticket())); });
    expect_refusal("probe", [&] { static_cast<void>(dev.probe(0)); });
    expect_refusal("peek", [&] { static_cast<void>(dev.peek(0)); });
    expect_refusal("try_take_packet", [&] { static_cast<void>(rt.try_take_packet()); });
    expect_refusal("graph::start", [&] { steps.start(done); });
    EXPECT_EQ(dev.cancel(posted.ticket()), cancel_result::cancelled);
  });
}

}  // namespace
}  // namespace weft

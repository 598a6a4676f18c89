// SPDX-License-Identifier: BSD-3-Clause
// Operations that wait for their end: by fibers, by threads, and by another library's scheduler.
#include "weft/blocking_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/counted_yields.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

std::uint64_t word_of(std::uint64_t tag, std::uint64_t round) { return tag * 1'000'003 + round; }

// A round trip, again and again: the number that returns is the sent one, and one more.
void ping(const blocking_device& with, std::uint32_t peer, std::uint64_t tag, std::uint64_t rounds) {
  auto& io = const_cast<blocking_device&>(with);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::uint64_t word = word_of(tag, round);
    io.send(peer, {&word, sizeof word}, {.tag = tag});
    std::uint64_t back = 0;
    const completion_record got = io.recv(peer, {&back, sizeof back}, {.tag = tag});
    EXPECT_EQ(got.bytes(), sizeof back);
    EXPECT_EQ(got.tag(), tag);
    EXPECT_EQ(back, word + 1);
  }
}

void pong(blocking_device& io, std::uint32_t peer, std::uint64_t tag, std::uint64_t rounds) {
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::uint64_t word = 0;
    static_cast<void>(io.recv(peer, {&word, sizeof word}, {.tag = tag}));
    EXPECT_EQ(word, word_of(tag, round));
    ++word;
    io.send(peer, {&word, sizeof word}, {.tag = tag});
  }
}

// The worker has nothing to run but fibers that look again and again, for so long that it sleeps; another thread or a
// message ends their waits.
TEST(blocking_device, worker_that_sleeps_over_fibers_that_poll_hears_what_comes) {
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    device quiet{rt, {.shared = true}};
    std::array<device*, 1> served{&dev};
    counter arrived{rt};
    const auto to = rt.register_completion(arrived, {.id = 3});
    counter signalled{rt};
    test::flag is_set;
    rt.barrier();
    fiber_scheduler fibers{{.devices = served}};
    const wait_options bound{.timeout = test::patience};
    fiber by_message = fibers.spawn([&] { EXPECT_TRUE(dev.wait(arrived, 1, bound)); });
    fiber by_thread = fibers.spawn([&] { EXPECT_TRUE(dev.wait(signalled, 1, bound)); });
    fiber by_signal = fibers.spawn([&] {
      while (!is_set.is_raised()) this_fiber::wait();
    });
    for (int step = 0; step < 3; ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds{30});
      if (step == 0) {
        is_set.raise();
        by_signal.ref().signal();
        by_signal.join();
      } else if (step == 1) {
        static_cast<void>(signalled.signal(completion_record{}));
        by_thread.join();
      } else {
        static_cast<void>(
            test::post(quiet, [&] { return quiet.post_am(1 - rt.rank(), {3}, {}, signalled, {.allow_done = true}); }));
        EXPECT_TRUE(test::eventually(quiet, [&] { return arrived.value() == 1; }));
        by_message.join();
      }
    }
    rt.barrier();
  });
}

// Each of many begins another and ends, and so on: the workers have always something to run, but look for messages
// nevertheless, once for so many fibers as they take up at a time. Two workers, as one alone never steals; and more
// fibers than both take up, so that neither is idle.
TEST(blocking_device, gets_its_messages_while_fibers_begin_and_end_all_the_time) {
  constexpr std::uint64_t taken_up_at_a_time = 64, fibers_counted = 20'000;
  for (const bool steal : {false, true}) {
    test::local_job{1}.run([&](runtime& rt) {
      device& dev = rt.default_device();
      blocking_device io{dev};
      std::array<device*, 1> served{&dev};
      const std::uint32_t workers = steal ? 2 : 1;
      fiber_scheduler fibers{{.workers = workers, .devices = served, .steal = steal}};
      test::flag has_come;
      const auto until = std::chrono::steady_clock::now() + test::patience;
      std::mutex counting;
      std::map<std::thread::id, std::uint64_t> begun;  // by worker
      std::uint64_t all_begun = 0, looks_before = 0, looks_after = 0, counted_from = 0;
      const auto looks = [&] {
        const device_counters counted = dev.counters();
        return counted.progress.calls + counted.progress.busy;
      };
      const auto are_busy = [&] {
        return begun.size() == workers && std::ranges::all_of(begun, [](const auto& by) { return by.second > 500; });
      };
      // Counts looks from when all workers are busy until so many more fibers have begun.
      const auto count_one = [&] {
        const std::scoped_lock lock{counting};
        ++begun[std::this_thread::get_id()];
        ++all_begun;
        if (counted_from == 0 && are_busy()) {
          counted_from = all_begun;
          looks_before = looks();
        } else if (counted_from != 0 && all_begun == counted_from + fibers_counted) {
          looks_after = looks();
        }
      };
      const auto has_counted = [&] {
        const std::scoped_lock lock{counting};
        return looks_after != 0;
      };
      std::function<void()> begin_next = [&] {
        count_one();
        if (has_come.is_raised() || std::chrono::steady_clock::now() > until) return;
        fibers.spawn([&] { begin_next(); }).detach();
      };
      fiber waits = fibers.spawn([&] {
        std::uint64_t word = 0;
        static_cast<void>(io.recv(0, {&word, sizeof word}, {.tag = 1}));
        EXPECT_EQ(word, 5U);
        has_come.raise();
      });
      fiber sends = fibers.spawn([&] {
        for (int chain = 0; chain < 1024; ++chain) begin_next();
        while (!has_counted() && std::chrono::steady_clock::now() < until) this_fiber::yield();
        const std::uint64_t word = 5;
        io.send(0, {&word, sizeof word}, {.tag = 1});
      });
      sends.join();
      EXPECT_TRUE(test::eventually([&] { return has_come.is_raised() || std::chrono::steady_clock::now() > until; }));
      EXPECT_TRUE(has_come.is_raised());
      waits.join();
      EXPECT_TRUE(test::eventually([&] { return fibers.alive() == 0; }));
      EXPECT_GE((looks_after - looks_before + workers) * 2 * taken_up_at_a_time, fibers_counted);
    });
  }
}

// Another thread is running the hook or handler that a fiber removes, and waits for another fiber of that worker.
TEST(blocking_device, lets_other_fibers_run_while_one_waits_for_a_call_of_progress_to_end) {
  test::local_job{1}.run([&](runtime& rt) {
    device dev{rt};
    fiber_scheduler fibers{{}};
    for (const bool is_hook : {true, false}) {
      test::flag is_inside, may_leave, was_late;
      const auto stay = [&] {
        is_inside.raise();
        if (!test::eventually([&] { return may_leave.is_raised(); })) was_late.raise();
      };
      hook runs = dev.add_hook([&] {
        if (is_hook) stay();
        return hook_answer::done;
      });
      handler handles{rt, [&](completion_record&&) { stay(); }};
      std::optional<registration> known = rt.register_completion(handles, {.id = is_hook ? 1U : 2U});
      if (!is_hook) {
        counter sent{rt};
        const auto post = [&] { return dev.post_am(0, {2}, {}, sent, {.allow_done = true}); };
        static_cast<void>(test::post(dev, post));
      }
      std::jthread polls{[&] { EXPECT_TRUE(test::eventually(dev, [&] { return is_inside.is_raised(); })); }};
      EXPECT_TRUE(test::eventually([&] { return is_inside.is_raised(); }));
      fiber removes = fibers.spawn([&] {
        if (is_hook) runs.remove();
        known.reset();
      });
      fiber lets_go = fibers.spawn([&] { may_leave.raise(); });
      removes.join();
      lets_go.join();
      EXPECT_FALSE(was_late.is_raised());
    }
  });
}

TEST(blocking_device, serves_many_fibers_of_several_workers) {
  const std::uint64_t fibers_each = test::under_sanitizer ? 50 : 500;
  test::local_job{2}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device io{dev};
    std::array<device*, 1> served{&dev};
    fiber_scheduler fibers{{.workers = 2, .devices = served}};
    rt.barrier();
    std::vector<fiber> all;
    for (std::uint64_t tag = 0; tag < fibers_each; ++tag) {
      all.push_back(fibers.spawn([&, tag] {
        if (rt.rank() == 0) {
          ping(io, 1, tag, 10);
        } else {
          pong(io, 0, tag, 10);
        }
      }));
    }
    for (fiber& each : all) each.join();
    rt.barrier();
  });
}

// A fiber floods a rank, or a device of a rank, that makes no progress until another fiber's messages are all with a
// rank or device that does.
TEST(blocking_device, posts_to_one_that_makes_progress_while_another_post_waits_for_one_that_does_not) {
  for (const bool is_other_rank : {true, false}) {
    test::flag is_full, all_here;
    test::local_job{is_other_rank ? 3U : 2U}.run([&](runtime& rt) {
      device& dev = rt.default_device();
      device stopped{rt}, free{rt};
      counter got{rt};
      const auto arrivals = rt.register_completion(got, {.id = 1});
      const auto many = std::uint64_t{2} * rt.attributes().ring_cells;
      rt.barrier();
      if (rt.rank() == 0) {
        blocking_device io{dev};
        std::array<device*, 1> served{&dev};
        fiber_scheduler fibers{{.devices = served}};
        test::tally<> posted;
        const auto flood = [&](std::uint32_t peer, std::uint32_t at, bool counts) {
          for (std::uint64_t word = 0; word < many; ++word) {
            io.am(peer, {1}, {&word, sizeof word}, {.device = at});
            if (counts) posted.add();
          }
        };
        fiber to_stopped = fibers.spawn([&] { flood(1, stopped.index(), false); });
        fiber to_free = fibers.spawn([&] { flood(is_other_rank ? 2 : 1, free.index(), true); });
        // Once no more of them fit, the fiber waits behind the other one, or does not.
        fiber watches = fibers.spawn([&] {
          for (std::uint64_t before = 0, quiet = 0; quiet < 10; before = posted.value()) {
            this_fiber::yield();
            quiet = posted.value() == before && before != 0 ? quiet + 1 : 0;
          }
          is_full.raise();
        });
        watches.join();
        to_free.join();
        to_stopped.join();
      } else {
        const bool is_free = is_other_rank && rt.rank() == 2;
        EXPECT_TRUE(test::eventually([&] { return is_full.is_raised(); }));
        if (is_free || !is_other_rank) {
          EXPECT_TRUE(test::eventually(free, [&] { return got.value() == many; }));
          all_here.raise();
        }
        EXPECT_TRUE(test::eventually([&] { return all_here.is_raised(); }));
        if (!is_free) {
          EXPECT_TRUE(test::eventually(stopped, [&] { return got.value() == (is_other_rank ? many : 2 * many); }));
        }
      }
      rt.barrier();
    });
  }
}

TEST(blocking_device, serves_threads) {
  test::local_job{2}.run([](runtime& rt) {
    blocking_device io{rt.default_device()};
    rt.barrier();
    if (rt.rank() == 0) {
      ping(io, 1, 5, 20);
    } else {
      pong(io, 0, 5, 20);
    }
    rt.barrier();
  });
}

TEST(blocking_device, writes_reads_and_changes_memory_of_a_peer) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device io{dev};
    std::array<device*, 1> served{&dev};
    const memory_region region{rt, std::size_t{1} << 16};
    std::array<remote_region, 2> all{};
    all[rt.rank()] = region.handle();
    const std::uint32_t peer = 1 - rt.rank();
    counter ended{rt};
    fiber_scheduler fibers{{.devices = served}};
    fibers
        .spawn([&] {
          if (rt.rank() == 0) {
            io.send(peer, std::as_bytes(std::span{&all[0], 1}));
            static_cast<void>(io.recv(peer, std::as_writable_bytes(std::span{&all[1], 1})));
          } else {
            static_cast<void>(io.recv(peer, std::as_writable_bytes(std::span{&all[0], 1})));
            io.send(peer, std::as_bytes(std::span{&all[1], 1}));
          }
          const std::vector<std::byte> out(20'000, std::byte{7});
          io.put(peer, out, remote_buffer{all[peer], 8}, {.complete_at = completion_level::delivered});
          std::vector<std::byte> in(20'000);
          io.get(peer, in, remote_buffer{all[peer], 8});
          EXPECT_EQ(in, out);
          std::vector<std::byte> turned(20'000);
          const std::array<buffer_ref, 2> halves{buffer_ref{turned.data() + 10'000, 10'000},
                                                 buffer_ref{turned.data(), 10'000}};
          io.put(peer, std::span{out}.first(1), remote_buffer{all[peer], 8 + 10'000},
                 {.complete_at = completion_level::delivered});
          io.get(peer, buffer_list{halves}, remote_buffer{all[peer], 8});
          EXPECT_EQ(turned, out);
          const status sent = dev.post_send(peer, std::span{out}.first(30), ended, {.tag = 9, .allow_retry = false});
          matched_message found = io.probe(peer, {.tag = 9});
          const std::array<buffer_ref, 2> parts{buffer_ref{in.data() + 20, 10}, buffer_ref{in.data(), 20}};
          std::ranges::fill(in, std::byte{});
          EXPECT_EQ(io.recv(found, buffer_list{parts}).message_bytes(), 30U);
          EXPECT_EQ(std::ranges::count(in, std::byte{7}), 30);
          for (std::uint64_t i = 0; i < 10; ++i) {
            EXPECT_EQ(io.atomic<std::uint64_t>(peer, atomic_op::fetch_add, 2, remote_buffer{all[peer], 0}), 2 * i);
          }
          if (sent.is_posted()) dev.wait(ended, 1);  // the peer may read `out` until then
        })
        .join();
    rt.barrier();
  });
}

// With one worker, a fiber that blocked it would wait for ever.
TEST(blocking_device, leaves_the_worker_to_other_fibers_in_a_barrier_a_flush_and_a_wait) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device io{dev};
    std::array<device*, 1> served{&dev};
    counter signalled{rt};
    fiber_scheduler fibers{{.devices = served}};
    const std::uint32_t peer = 1 - rt.rank();
    std::vector<fiber> all;
    if (rt.rank() == 0) {
      all.push_back(fibers.spawn([&] {
        rt.barrier();
        dev.flush();
        EXPECT_TRUE(dev.wait(signalled, 1, {.timeout = std::chrono::minutes{1}}));
      }));
    }
    all.push_back(fibers.spawn([&] {
      std::uint64_t word = 0;
      if (rt.rank() == 0) {
        io.send(peer, {&word, sizeof word});
        static_cast<void>(io.recv(peer, {&word, sizeof word}));
        static_cast<void>(signalled.signal(completion_record{}));
      } else {
        static_cast<void>(io.recv(peer, {&word, sizeof word}));
        rt.barrier();
        io.send(peer, {&word, sizeof word});
      }
    }));
    for (fiber& each : all) each.join();
    rt.barrier();
  });
}

TEST(blocking_device, is_refused_inside_a_handler) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device io{dev};
    test::published<errc> refused;
    handler answers{rt, [&](completion_record&&) {
                      std::uint64_t word = 0;
                      try {
                        io.send(0, {&word, sizeof word});
                      } catch (const error& why) {
                        refused.publish(why.code());
                      }
                    }};
    const registration arrivals = rt.register_completion(answers, {.id = 1});
    counter sent{rt};
    const std::uint64_t word = 7;
    static_cast<void>(test::post_until_taken(dev, 0, {1}, {&word, sizeof word}, sent));
    EXPECT_TRUE(test::eventually(dev, [&] { return refused.value() == errc::invalid_state; }));
  });
}

TEST(blocking_device, a_thread_that_finds_no_room_yields_until_there_is_some) {
  constexpr std::uint64_t messages = 1000;
  test::tally<> yields;
  test::local_job{2, {.ring_cells = 16}}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    counter arrived{rt};
    const registration arrivals = rt.register_completion(arrived, {.id = 1});
    rt.barrier();
    if (rt.rank() == 0) {
      const test::at_each_yield counts{[&] { yields.add(); }};
      blocking_device io{dev};
      for (std::uint64_t word = 0; word < messages; ++word) io.am(1, {.id = 1}, {&word, sizeof word});
    } else {
      // No room until then.
      EXPECT_TRUE(test::eventually([&] { return yields.value() >= 100; }));
      EXPECT_TRUE(test::eventually(dev, [&] { return arrived.value() == messages; }));
    }
    rt.barrier();
  });
}

TEST(blocking_device, throws_what_an_operation_ends_with) {
  test::local_job{1}.run([](runtime& rt) {
    device& dev = rt.default_device();
    blocking_device io{dev};
    std::array<device*, 1> served{&dev};
    fiber_scheduler fibers{{.devices = served}};
    fiber receives = fibers.spawn([&] {
      std::array<std::byte, 10> small;
      static_cast<void>(io.recv(0, std::span{small}, {.tag = 7}));
    });
    fibers
        .spawn([&] {
          const std::vector<std::byte> large(100);
          io.send(0, large, {.tag = 7});
        })
        .join();
    try {
      receives.join();
      FAIL() << "nothing was thrown";
    } catch (const error& thrown) {
      EXPECT_EQ(thrown.code(), errc::truncated);
      const std::string text = thrown.what();
      for (const char* each : {"recv: truncated", "rank 0 with tag 7 has 100 bytes", "the buffer has 10 bytes"})
        EXPECT_NE(text.find(each), std::string::npos) << text;
    }
  });
}

}  // namespace
}  // namespace weft

// SPDX-License-Identifier: BSD-3-Clause
// Fibers that all wait, and a worker that is held up, are reported once (src/fiber/watch.hpp).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/fiber.hpp"
#include "weft/fiber_sync.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto stuck_after = test::under_sanitizer ? 400ms : 100ms;

// The text written to stderr while this lives.
class caught_stderr {
 public:
  caught_stderr() : kept_{::dup(STDERR_FILENO)}, file_{::memfd_create("stderr", 0)} {
    EXPECT_GE(::dup2(file_, STDERR_FILENO), 0);
  }
  ~caught_stderr() {
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
    ::close(file_);
  }
  caught_stderr(const caught_stderr&) = delete;
  caught_stderr& operator=(const caught_stderr&) = delete;

  [[nodiscard]] std::string text() const {
    std::string out(65536, '\0');
    const ssize_t bytes = ::pread(file_, out.data(), out.size(), 0);
    out.resize(bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
    return out;
  }
  void wait_for(const std::string& words) const {
    for (const auto end = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < end;) {
      if (text().find(words) != std::string::npos) return;
      std::this_thread::sleep_for(5ms);
    }
    ADD_FAILURE() << "not said in 60 s: " << words << "\nbut: " << text();
  }

 private:
  int kept_;
  int file_;
};

std::size_t times(const std::string& words, const std::string& in) {
  std::size_t count = 0;
  for (std::size_t at = in.find(words); at != std::string::npos; at = in.find(words, at + 1)) ++count;
  return count;
}

void tell_of_all(runtime& rt) {
  device& dev = rt.default_device();
  std::array<device*, 1> served{&dev};
  blocking_device io{dev};
  fiber_event over;
  fiber_mutex taken;
  std::string said;
  {
    const caught_stderr err;
    fiber_scheduler fibers{{.workers = 2, .devices = served, .report_stuck_after = stuck_after}};
    std::vector<fiber> all;
    const std::uint64_t word = 7;
    for (std::uint64_t tag = 1; tag <= 3; ++tag) {
      all.push_back(fibers.spawn([&, tag] {
        std::uint64_t mine = 0;
        static_cast<void>(io.recv(0, {&mine, sizeof mine}, {.tag = tag}));
      }));
    }
    for (int i = 0; i < 2; ++i) all.push_back(fibers.spawn([&] { over.wait(); }));
    all.push_back(fibers.spawn([&] {
      const std::scoped_lock lock{taken};
      over.wait();
    }));
    err.wait_for("all 6 fibers wait");
    over.set();
    for (std::uint64_t tag = 1; tag <= 3; ++tag) {
      all.push_back(fibers.spawn([&, tag] { io.send(0, {&word, sizeof word}, {.tag = tag}); }));
    }
    for (fiber& each : all) each.join();
    // A second time, which is not reported.
    fiber_event again;
    fiber last = fibers.spawn([&] { again.wait(); });
    std::this_thread::sleep_for(stuck_after * 3);
    again.set();
    last.join();
    said = err.text();
  }
  EXPECT_THAT(said, HasSubstr("3 in recv with rank 0, tags from 1 to 3"));
  EXPECT_THAT(said, HasSubstr("3 in fiber_event::wait"));
  EXPECT_EQ(times("moved for", said), 1U) << said;
}

TEST(fiber_watch, tells_once_what_fibers_wait_for_and_puts_equal_ones_together) { test::local_job{1}.run(tell_of_all); }

void look_again_and_again(runtime& rt) {
  const synchronizer never{rt};
  bool is_over = false;
  const caught_stderr err;
  fiber_scheduler fibers{{.report_stuck_after = stuck_after}};
  fiber waits = fibers.spawn(
      [&] { EXPECT_TRUE(rt.default_device().wait(never, [&] { return is_over; }, {.timeout = test::patience})); });
  err.wait_for("the only fiber waits, and has not moved");
  EXPECT_THAT(err.text(), HasSubstr("1 in device::wait, flush, barrier or the end of an object"));
  fibers.spawn([&] { is_over = true; }).join();
  waits.join();
}

TEST(fiber_watch, sees_fibers_that_look_again_and_again) { test::local_job{1}.run(look_again_and_again); }

// They are suspended for a time again and again, as no signal comes.
TEST(fiber_watch, sees_fibers_in_a_barrier_and_in_a_wait_on_a_device_that_a_worker_serves) {
  test::flag is_told;
  test::local_job{2}.run([&](runtime& rt) {
    if (rt.rank() == 1) {
      EXPECT_TRUE(test::eventually([&] { return is_told.is_raised(); }));
      rt.barrier();
      return;
    }
    synchronizer never{rt};
    const std::array<device*, 1> served{&rt.default_device()};
    const caught_stderr err;
    fiber_scheduler fibers{{.devices = served, .report_stuck_after = stuck_after}};
    fiber at_barrier = fibers.spawn([&] { rt.barrier(); });
    std::stop_source stop;
    fiber waits = fibers.spawn([&] { EXPECT_FALSE(rt.default_device().wait(never, {.stop = stop.get_token()})); });
    err.wait_for("all 2 fibers wait");
    EXPECT_THAT(err.text(), HasSubstr("1 in runtime::barrier"));
    EXPECT_THAT(err.text(), HasSubstr("1 in device::wait"));
    is_told.raise();
    EXPECT_TRUE(stop.request_stop());
    at_barrier.join();
    waits.join();
  });
}

TEST(fiber_watch, tells_of_a_lock_of_the_system_that_holds_a_worker_up) {
  std::unique_lock<std::mutex> held;
  std::mutex of_the_system;
  held = std::unique_lock{of_the_system};
  const caught_stderr err;
  fiber_scheduler fibers{{.workers = 2, .report_stuck_after = stuck_after}};
  fiber waits = fibers.spawn([&] { const std::scoped_lock lock{of_the_system}; }, {.worker = 1});
  err.wait_for("worker 1 of a fiber_scheduler has run one fiber for");
  held.unlock();
  waits.join();
}

TEST(fiber_watch, says_nothing_of_fibers_that_move) {
  const caught_stderr err;
  fiber_event over;
  fiber_scheduler fibers{{.report_stuck_after = 20ms}};
  fiber waits = fibers.spawn([&] { over.wait(); });
  fiber moves = fibers.spawn([&] {
    for (const auto end = std::chrono::steady_clock::now() + 200ms; std::chrono::steady_clock::now() < end;) {
      this_fiber::yield();
    }
    over.set();
  });
  moves.join();
  waits.join();
  EXPECT_EQ(err.text(), "");
}

TEST(fiber_watch, refuses_a_time_below_zero) { EXPECT_THROW(fiber_scheduler({.report_stuck_after = -1ms}), error); }

}  // namespace
}  // namespace weft

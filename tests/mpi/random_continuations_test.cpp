// SPDX-License-Identifier: BSD-3-Clause
// Seeded random programs of continuations against a sequential model of their promises: how often each runs, when,
// with which error, statuses and handles, and when continuation requests are complete. TEST_SEED replays one.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "mpi/ranks.hpp"
#include "mpix.h"
#include "support/random_seed.hpp"

namespace weft::random_continued {
namespace {

using test::numbers_of_rank;
using test::run_ranks;

// The calls that the calling thread is inside.
struct open_calls {
  bool is_in_continue = false;
  const void* tested_home = nullptr;
};
thread_local open_calls here;

struct home_model {
  MPI_Request handle = MPI_REQUEST_NULL;
  bool is_poll_only = false;
  bool is_started = false;  // of the owner
  // The owner has attached so many that count; the others are counted where they run.
  int attached = 0;
  std::atomic<int> counted{0}, failed{0};
  // Continuations that may not run yet are those attached while it was not started.
  std::atomic<int> starts{0};
};

struct operation_model {
  MPI_Request handle = MPI_REQUEST_NULL;
  int tag = -1;
  bool is_long = false;  // its message does not fit
  bool is_sent = false;
  std::array<int, 2> into{-1, -1};
};

struct continuation_model {
  std::vector<operation_model*> operations;
  std::vector<MPI_Request> handles;
  std::vector<MPI_Status> statuses;
  int flags = 0;
  int answer = MPI_SUCCESS;
  int starts = 0;  // of its continuation request, when it was attached; odd: started
  home_model* home = nullptr;
  std::atomic<int> runs{0};

  [[nodiscard]] bool fails() const {
    return std::ranges::any_of(operations, [](const operation_model* each) { return each->is_long; });
  }
  [[nodiscard]] bool has(int flag) const { return (flags & flag) != 0; }
  // Whether its function is called at all.
  [[nodiscard]] bool is_called() const { return !fails() || has(MPIX_CONT_INVOKE_FAILED); }
  [[nodiscard]] int error_of_home() const { return is_called() ? answer : MPI_ERR_TRUNCATE; }

  static int run(int error, void* data) {
    auto& self = *static_cast<continuation_model*>(data);
    self.check(error);
    // [random_continuations.run] release -> [random_continuations.see]: its findings.
    self.runs.fetch_add(1, std::memory_order_release);
    if (self.home != nullptr && !self.has(MPIX_CONT_FORGET)) {
      // [random_continuations.run] release -> [random_continuations.see]: likewise.
      self.home->counted.fetch_add(1, std::memory_order_release);
    }
    return self.answer;
  }

  void check(int error) const {
    EXPECT_EQ(error, fails() ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    EXPECT_TRUE(is_called());
    if (here.is_in_continue) {
      EXPECT_TRUE(has(MPIX_CONT_IMMEDIATE) && !has(MPIX_CONT_DEFER_COMPLETE));
    }
    if (home != nullptr && home->is_poll_only) {
      EXPECT_EQ(here.tested_home, home);
    }
    if (home != nullptr && starts % 2 == 0) {
      // relaxed: a number that grows.
      EXPECT_GT(home->starts.load(std::memory_order_relaxed), starts);
    }
    for (std::size_t each = 0; each < operations.size(); ++each) {
      const operation_model& operation = *operations[each];
      EXPECT_TRUE(operation.is_sent);
      if (!operation.is_long) {
        EXPECT_EQ(operation.into[0], operation.tag);
      }
      EXPECT_EQ(statuses[each].MPI_TAG, operation.tag);
      EXPECT_EQ(handles[each], MPI_REQUEST_NULL);
      if (fails()) {
        EXPECT_EQ(statuses[each].MPI_ERROR, operation.is_long ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
      }
    }
  }
};

// The program of a thread, on a communicator of one rank, where its tags are its own.
class program {
 public:
  program(std::uint64_t seed, int number)
      : random_{seed + static_cast<std::uint64_t>(number)}, first_tag_{number * 10'000} {
    for (home_model& each : homes_) {
      each.is_poll_only = draw(3) == 0;
      EXPECT_EQ(MPIX_Continue_init(each.is_poll_only ? MPIX_CONT_POLL_ONLY : 0, static_cast<int>(draw(3)),
                                   MPI_INFO_NULL, &each.handle),
                MPI_SUCCESS);
      if (draw(2) == 0) start(each);
    }
  }

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      switch (draw(6)) {
        case 0:
        case 1: attach(); break;
        case 2:
        case 3: send_one(); break;
        case 4: test(homes_[draw(homes_.size())]); break;
        default: EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
      }
    }
    end();
  }

 private:
  std::size_t draw(std::size_t bound) { return random_() % bound; }

  void attach() {
    made_.push_back(std::make_unique<continuation_model>());
    continuation_model& made = *made_.back();
    const std::size_t count = draw(4);
    for (std::size_t each = 0; each < count; ++each) made.operations.push_back(&post());
    for (int flag : {MPIX_CONT_IMMEDIATE, MPIX_CONT_DEFER_COMPLETE, MPIX_CONT_REQBUF_VOLATILE, MPIX_CONT_INVOKE_FAILED,
                     MPIX_CONT_FORGET}) {
      if (draw(2) == 0) made.flags |= flag;
    }
    if (draw(4) != 0) {
      made.home = &homes_[draw(homes_.size())];
      // relaxed: a number of this thread's.
      made.starts = made.home->starts.load(std::memory_order_relaxed);
      if (draw(5) == 0) made.answer = MPI_ERR_IO;
      if (!made.has(MPIX_CONT_FORGET)) ++made.home->attached;
    } else {
      made.flags |= MPIX_CONT_INVOKE_FAILED;  // else its error goes to a handler
    }
    if (count > 1 && draw(2) == 0) send(*made.operations.front());
    attach_to_operations(made);
  }

  void attach_to_operations(continuation_model& made) {
    const std::size_t count = made.operations.size();
    made.statuses.resize(count);
    for (operation_model* const each : made.operations) made.handles.push_back(each->handle);
    auto array = made.handles;  // of the program, gone when the call has returned
    MPI_Request* const handles = made.has(MPIX_CONT_REQBUF_VOLATILE) ? array.data() : made.handles.data();
    const MPI_Request home = made.home != nullptr ? made.home->handle : MPI_REQUEST_NULL;
    if (made.has(MPIX_CONT_REQBUF_VOLATILE)) std::ranges::fill(made.handles, MPI_REQUEST_NULL);
    here.is_in_continue = true;
    if (count == 1) {
      EXPECT_EQ(MPIX_Continue(handles, &continuation_model::run, &made, made.flags, made.statuses.data(), home),
                MPI_SUCCESS);
    } else {
      EXPECT_EQ(MPIX_Continueall(static_cast<int>(count), handles, &continuation_model::run, &made, made.flags,
                                 made.statuses.data(), home),
                MPI_SUCCESS);
    }
    here.is_in_continue = false;
    if (made.has(MPIX_CONT_REQBUF_VOLATILE)) {
      EXPECT_EQ(std::ranges::count(array, MPI_REQUEST_NULL), static_cast<std::ptrdiff_t>(count));
    }
  }

  operation_model& post() {
    posted_.push_back(std::make_unique<operation_model>());
    operation_model& out = *posted_.back();
    out.tag = first_tag_ + static_cast<int>(posted_.size());
    out.is_long = draw(8) == 0;
    EXPECT_EQ(MPI_Irecv(out.into.data(), 1, MPI_INT, 0, out.tag, MPI_COMM_SELF, &out.handle), MPI_SUCCESS);
    unsent_.push_back(&out);
    return out;
  }
  void send(operation_model& operation) {
    operation.is_sent = true;
    std::erase(unsent_, &operation);
    const std::array<int, 2> numbers{operation.tag, 0};
    EXPECT_EQ(MPI_Send(numbers.data(), operation.is_long ? 2 : 1, MPI_INT, 0, operation.tag, MPI_COMM_SELF),
              MPI_SUCCESS);
  }
  void send_one() {
    if (!unsent_.empty()) send(*unsent_[draw(unsent_.size())]);
  }

  void start(home_model& home) {
    // relaxed: first, so that callbacks that the start releases find it.
    home.starts.fetch_add(1, std::memory_order_relaxed);
    home.is_started = true;
    EXPECT_EQ(MPI_Start(&home.handle), MPI_SUCCESS);
  }
  bool test(home_model& home) {
    if (!home.is_started) {
      start(home);
      return false;
    }
    int flag = 0;
    here.tested_home = &home;
    const int error = MPI_Test(&home.handle, &flag, MPI_STATUS_IGNORE);
    here.tested_home = nullptr;
    if (flag == 0) return false;
    home.is_started = false;
    // relaxed: a number of this thread's.
    home.starts.fetch_add(1, std::memory_order_relaxed);
    // All that count have run by now, and the callbacks that were left out have failed it.
    int left_out = 0, errors = 0;
    for (const auto& each : made_) {
      if (each->home != &home) continue;
      if (!each->is_called() && !each->has(MPIX_CONT_FORGET)) ++left_out;
      errors += each->error_of_home() != MPI_SUCCESS;
    }
    // [random_continuations.see] acquire <- [random_continuations.run]: their findings.
    EXPECT_EQ(home.counted.load(std::memory_order_acquire) + left_out, home.attached);
    if (errors == 0) {
      EXPECT_EQ(error, MPI_SUCCESS);
    }
    if (error != MPI_SUCCESS) {
      EXPECT_TRUE(error == MPI_ERR_IO || error == MPI_ERR_TRUNCATE);
    }
    return true;
  }

  [[nodiscard]] bool have_all_run() const {
    return std::ranges::all_of(made_, [](const auto& each) {
      // [random_continuations.see] acquire <- [random_continuations.run]: their findings.
      return !each->is_called() || each->runs.load(std::memory_order_acquire) == 1;
    });
  }
  void end() {
    while (!unsent_.empty()) send_one();
    while (!have_all_run()) {
      for (home_model& each : homes_) test(each);
      EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
    }
    for (home_model& each : homes_) {
      while (!each.is_started || !test(each)) {
        if (!each.is_started) start(each);
      }
      // One that is forgotten, and whose function is not called, may be left.
      while (MPI_Request_free(&each.handle) != MPI_SUCCESS) {
        if (!each.is_started) start(each);
        test(each);
        EXPECT_EQ(MPIX_Stream_progress(MPIX_STREAM_NULL), MPI_SUCCESS);
      }
    }
    for (const auto& each : made_) {
      // [random_continuations.see] acquire <- [random_continuations.run]: their findings.
      EXPECT_EQ(each->runs.load(std::memory_order_acquire), each->is_called() ? 1 : 0);
    }
  }

  std::mt19937_64 random_;
  const int first_tag_;
  std::array<home_model, 3> homes_{};
  std::vector<std::unique_ptr<operation_model>> posted_;
  std::vector<operation_model*> unsent_;
  std::vector<std::unique_ptr<continuation_model>> made_;
};

void run_programs(int threads, int steps) {
  const std::uint64_t seed = test::random_seed();
  run_ranks(
      1,
      [&](numbers_of_rank) {
        test::run_threads_of_rank(threads, [&](int thread) { program{seed, thread}.run(steps); });
      },
      {}, MPI_THREAD_MULTIPLE);
}

TEST(mpi_random_continuations, of_one_thread_are_as_the_model_says) { run_programs(1, 2000); }

TEST(mpi_random_continuations, of_several_threads_are_as_the_model_says) { run_programs(3, 500); }

}  // namespace
}  // namespace weft::random_continued

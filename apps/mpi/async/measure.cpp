// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include <time.h>

#include <atomic>
#include <barrier>
#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "stream.hpp"

namespace mpi_async {

namespace {

double cpu_seconds() noexcept {
  timespec out{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &out);
  return static_cast<double>(out.tv_sec) + static_cast<double>(out.tv_nsec) * 1e-9;
}

// Calls of progress of a thread, and the time that they took.
class progress_calls {
 public:
  template <class Condition>
  void make_until(MPIX_Stream stream, Condition&& is_over) {
    const double wall = MPI_Wtime(), cpu = cpu_seconds();
    do {
      MPIX_Stream_progress(stream);
      ++count_;
    } while (!is_over());
    wall_ += MPI_Wtime() - wall;
    cpu_ += cpu_seconds() - cpu;
  }
  void add(const progress_calls& other) noexcept {
    count_ += other.count_;
    wall_ += other.wall_;
    cpu_ += other.cpu_;
  }
  [[nodiscard]] double wall_ns() const noexcept { return wall_ * 1e9 / static_cast<double>(count_); }
  [[nodiscard]] double cpu_ns() const noexcept { return cpu_ * 1e9 / static_cast<double>(count_); }

 private:
  std::uint64_t count_ = 0;
  double wall_ = 0;
  double cpu_ = 0;
};

// What a thread has measured; on lines of its own.
struct alignas(64) thread_result {
  lateness late;
  progress_calls calls;
};

void run_batches(const point& chosen, MPIX_Stream stream, std::uint32_t seed, thread_result& out) {
  task_batch batch{chosen.tasks, chosen.delay_ns, seed};
  const double until = MPI_Wtime() + chosen.seconds;
  do {
    chosen.kind == measured::task_class ? batch.start_class(stream) : batch.start_each(stream);
    out.calls.make_until(stream, [&] { return batch.is_over(); });
    batch.collect(out.late);
  } while (MPI_Wtime() < until);
}

result result_of(const std::deque<thread_result>& threads) {
  result out;
  progress_calls calls;
  for (const thread_result& each : threads) {
    out.late.add(each.late);
    calls.add(each.calls);
  }
  out.call_ns = calls.wall_ns();
  out.call_cpu_ns = calls.cpu_ns();
  return out;
}

// Tasks on the default stream: one thread has them, and all make progress.
result measure_tasks(const point& chosen) {
  std::deque<thread_result> found(static_cast<std::size_t>(chosen.threads));
  std::atomic<bool> is_over{false};
  {
    std::vector<std::jthread> others;
    for (int number = 1; number < chosen.threads; ++number) {
      others.emplace_back([&found, &is_over, number] {
        // [measure.is_over] relaxed: it orders nothing.
        found[static_cast<std::size_t>(number)].calls.make_until(
            MPIX_STREAM_NULL, [&] { return is_over.load(std::memory_order_relaxed); });
      });
    }
    run_batches(chosen, MPIX_STREAM_NULL, 0, found.front());
    // [measure.is_over] relaxed: it orders nothing.
    is_over.store(true, std::memory_order_relaxed);
  }
  return result_of(found);
}

// Each thread has tasks and a stream of its own.
result measure_streams(const point& chosen) {
  std::deque<own_stream<MPIX_Stream>> streams(static_cast<std::size_t>(chosen.threads));
  std::deque<thread_result> found(streams.size());
  std::barrier begin{chosen.threads};
  {
    std::vector<std::jthread> threads;
    for (std::size_t number = 0; number < streams.size(); ++number) {
      threads.emplace_back([&, number] {
        begin.arrive_and_wait();
        run_batches(chosen, streams[number].get(), static_cast<std::uint32_t>(number), found[number]);
      });
    }
  }
  return result_of(found);
}

// A hook that is not over until it is asked to end.
struct idle_hook {
  const bool* is_over;
  std::uint64_t polls = 0;
  int ends = 0;

  static int poll(MPIX_Async_thing thing) {
    idle_hook& polled = *static_cast<idle_hook*>(MPIX_Async_get_state(thing));
    ++polled.polls;
    if (!*polled.is_over) return MPIX_ASYNC_NOPROGRESS;
    ++polled.ends;
    return MPIX_ASYNC_DONE;
  }
};

progress_calls make_calls(double seconds) {
  constexpr int stride = 64;  // calls between two looks at the clock
  progress_calls out;
  const double until = MPI_Wtime() + seconds;
  int left = stride;
  out.make_until(MPIX_STREAM_NULL, [&left, until] {
    if (--left != 0) return false;
    left = stride;
    return MPI_Wtime() >= until;
  });
  return out;
}

result measure_call(const point& chosen) {
  result out;
  out.empty_call_ns = make_calls(chosen.seconds / 2).wall_ns();
  bool is_over = false;
  std::vector<idle_hook> hooks(static_cast<std::size_t>(chosen.tasks), idle_hook{&is_over});
  for (idle_hook& each : hooks) MPIX_Async_start(&idle_hook::poll, &each, MPIX_STREAM_NULL);
  const progress_calls calls = make_calls(chosen.seconds / 2);
  is_over = true;
  MPIX_Stream_progress(MPIX_STREAM_NULL);
  out.call_ns = calls.wall_ns();
  out.call_cpu_ns = calls.cpu_ns();
  for (const idle_hook& each : hooks) {
    ++out.late.ended;
    if (each.polls < 2 || each.ends != 1) ++out.late.wrong;
  }
  return out;
}

}  // namespace

result measure(const point& chosen) {
  switch (chosen.kind) {
    case measured::call: return measure_call(chosen);
    case measured::streams: return measure_streams(chosen);
    case measured::queries: return measure_queries(chosen);
    case measured::allreduce: return measure_allreduce(chosen);
    default: return measure_tasks(chosen);
  }
}

}  // namespace mpi_async

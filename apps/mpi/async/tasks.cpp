// SPDX-License-Identifier: BSD-3-Clause
#include "tasks.hpp"

namespace mpi_async {

namespace {

constexpr std::size_t kept_max = 1 << 18;
constexpr double microsecond = 1e-6;

}  // namespace

void lateness::add(double late_ns) {
  if (ns.size() < kept_max) ns.push_back(late_ns);
}

void lateness::add(const lateness& other) {
  for (const double each : other.ns) add(each);
  ended += other.ended;
  wrong += other.wrong;
}

task_batch::task_batch(int count, std::uint32_t delay_ns, std::uint32_t seed)
    : tasks_(static_cast<std::size_t>(count)), delay_{delay_ns * 1e-9}, random_{seed + 1} {}

// `distance`: between the ends of two tasks that follow each other.
void task_batch::begin(double first_end, double spread, double distance) {
  const double now = MPI_Wtime();
  for (std::size_t number = 0; number < tasks_.size(); ++number) {
    const double end = now + first_end + static_cast<double>(number) * distance + between(0, spread);
    tasks_[number] = {.batch = this, .end = end, .noticed = 0, .ends = 0};
  }
  // relaxed: MPIX_Async_start orders what it starts.
  pending_.store(tasks_.size(), std::memory_order_relaxed);
}

void task_batch::start_each(MPIX_Stream stream) {
  // All are started, and each has been polled, before the first one ends.
  const double lead = 50 * microsecond + static_cast<double>(tasks_.size()) * (0.5 * microsecond + 2 * delay_);
  begin(lead + between(0, 10 * microsecond), 10 * microsecond, 0);
  for (task& each : tasks_) MPIX_Async_start(&poll_task, &each, stream);
}

void task_batch::start_class(MPIX_Stream stream) {
  first_ = 0;
  begin(20 * microsecond + static_cast<double>(tasks_.size()) * 0.05 * microsecond, microsecond, 2 * microsecond);
  MPIX_Async_start(&poll_class, this, stream);
}

void task_batch::end(task& ended, double now) noexcept {
  ended.noticed = now;
  ++ended.ends;
  // [task_batch.end] release -> [task_batch.is_over]: the task, which may begin again then.
  pending_.fetch_sub(1, std::memory_order_release);
}

int task_batch::poll_task(MPIX_Async_thing thing) {
  task& polled = *static_cast<task*>(MPIX_Async_get_state(thing));
  const double now = MPI_Wtime();
  if (now >= polled.end) {
    polled.batch->end(polled, now);
    return MPIX_ASYNC_DONE;
  }
  if (const double delay = polled.batch->delay_; delay > 0) {
    while (MPI_Wtime() < now + delay) {
    }
  }
  return MPIX_ASYNC_NOPROGRESS;
}

int task_batch::poll_class(MPIX_Async_thing thing) {
  task_batch& batch = *static_cast<task_batch*>(MPIX_Async_get_state(thing));
  const double now = MPI_Wtime();
  while (batch.tasks_[batch.first_].end <= now) {
    const std::size_t ended = batch.first_++;
    const bool is_last = batch.first_ == batch.tasks_.size();
    batch.end(batch.tasks_[ended], now);
    if (is_last) return MPIX_ASYNC_DONE;
  }
  return MPIX_ASYNC_NOPROGRESS;
}

void task_batch::collect(lateness& out) const {
  for (const task& each : tasks_) {
    ++out.ended;
    const double late_ns = (each.noticed - each.end) * 1e9;
    if (each.ends != 1 || late_ns < 0) ++out.wrong;
    out.add(late_ns);
  }
}

}  // namespace mpi_async

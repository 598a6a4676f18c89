// SPDX-License-Identifier: BSD-3-Clause
// Tasks that are over at a time that is known before (zhou2024, 4.1): how late their end is noticed is what progress
// adds.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "extensions.hpp"

namespace mpi_async {

/// What tasks have shown.
struct lateness {
  std::vector<double> ns;   ///< how late the ends of tasks were noticed; of the first ones, if there are very many
  std::uint64_t ended = 0;  ///< tasks
  std::uint64_t wrong = 0;  ///< tasks that ended too early, twice or never

  void add(double late_ns);
  void add(const lateness& other);
};

/// Tasks that begin together, and may do so again when all are over.
///
/// **Threads**: one starts, asks and collects; any may make progress meanwhile.
class task_batch {
 public:
  /// A poll of a task that is not over takes `delay_ns` more.
  task_batch(int count, std::uint32_t delay_ns, std::uint32_t seed);

  /// A hook for each task (Listing 3). Their ends lie within 10 us, some time from now.
  void start_each(MPIX_Stream stream);
  /// One hook for all, which end one after the other: it looks at the first alone (Listing 4).
  void start_class(MPIX_Stream stream);
  [[nodiscard]] bool is_over() const noexcept {
    // [task_batch.is_over] acquire <- [task_batch.end]: what the poll functions have written.
    return pending_.load(std::memory_order_acquire) == 0;
  }
  /// All are over.
  void collect(lateness& out) const;

 private:
  struct task {
    task_batch* batch = nullptr;
    double end = 0;  // times of MPI_Wtime
    double noticed = 0;
    int ends = 0;
  };

  static int poll_task(MPIX_Async_thing thing);
  static int poll_class(MPIX_Async_thing thing);
  void end(task& ended, double now) noexcept;
  [[nodiscard]] double between(double low, double high) {
    return std::uniform_real_distribution<double>{low, high}(random_);
  }
  void begin(double first_end, double spread, double distance);

  std::vector<task> tasks_;
  const double delay_;
  std::minstd_rand random_;
  std::size_t first_ = 0;  // of a class: the first that is not over
  std::atomic<std::size_t> pending_{0};
};

}  // namespace mpi_async

// SPDX-License-Identifier: BSD-3-Clause
// What the program measures: a point is one of these with its numbers.
#pragma once

#include <cstdint>

#include "tasks.hpp"

namespace mpi_async {

inline constexpr int tasks_max = 65'536;
inline constexpr int threads_max = 64;

enum class measured : std::uint8_t {
  call,        ///< a call of progress, without hooks and with hooks that are never over
  tasks,       ///< a hook for each task, on the default stream (Figures 7, 8 and 9)
  task_class,  ///< one hook for all tasks (Figure 10)
  streams,     ///< a hook for each task, on a stream of the thread's own (Figure 11)
  queries,     ///< a hook that asks requests whether they are complete (Figure 12)
  allreduce,   ///< a collective by hooks, and the library's (Figure 13)
};

struct point {
  measured kind;
  int tasks;  // of queries: requests
  std::uint32_t delay_ns;
  int threads;
  double seconds;  // about so long
};

struct result {
  lateness late;
  double call_ns = 0;      ///< a call of progress; 0: not measured, as all below
  double call_cpu_ns = 0;  ///< its processor time, in the mean over threads
  double empty_call_ns = 0;
  double query_ns = 0;
  double own_ns = 0;  ///< an allreduce by hooks
  double library_ns = 0;
};

/// **Errors**: std::bad_alloc; std::system_error for threads; std::runtime_error where the library has too few streams.
/// Collective for `allreduce`; others are of the calling rank alone. **Blocking**: about `point.seconds`.
[[nodiscard]] result measure(const point& chosen);

/// As `measure` for one kind each.
[[nodiscard]] result measure_queries(const point& chosen);
[[nodiscard]] result measure_allreduce(const point& chosen);

}  // namespace mpi_async

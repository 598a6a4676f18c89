// SPDX-License-Identifier: BSD-3-Clause
// Runs a small multithreaded program again and again, each time with another interleaving of its threads and other
// stale values for its loads, until one run fails or the budget is spent.
//
// A program is a function. It sets up, calls `threads` with a function for each thread, and looks at the outcome:
//
//   explore({}, [] {
//     bounded_queue<record, model_atomics> queue(2, 2);
//     threads([&] { check(queue.try_push(one), "there is room"); }, [&] { ... });
//   });
//
// The search is systematic first: all runs that deviate from the plain one (each thread runs until it waits, each load
// sees the newest value) at no point, then at one, then at two, ...; then random, from a seed. A failure is reported
// with a trace, and with the numbers of the deviations, which replay it. A thread that waits calls `await_change`; it
// continues when another thread has written something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <type_traits>
#include <vector>

#include "model/sites.hpp"

namespace weft::model {

/// A bug planted into one site.
enum class bug : std::uint8_t {
  none,
  drop_acquire,          // the order loses its acquire half
  drop_release,          // the order loses its release half
  drop_total_order,      // seq_cst becomes acq_rel
  drop_failure_acquire,  // so does a compare-and-exchange that fails
  tear,                  // a read-modify-write starts from a value that may be old
  ignore_mismatch,       // a compare-and-exchange succeeds whatever it finds
  lie,                   // a load gives the value that `lie` makes of it: a check is dropped
};

struct planted {
  bug kind = bug::none;
  unsigned site = 0;
  std::uint64_t (*lie)(std::uint64_t actual, std::uint64_t previous) = nullptr;  // previous: the value seen before
};

struct search {
  std::uint64_t executions_max = 30000;         // systematic ones
  std::uint64_t random_executions_max = 10000;  // after that
  unsigned deviations_max = 4;
  unsigned steps_max = 2000;  // in one execution: beyond it, it does not end
  std::uint64_t seed = 20250901;
  std::string replay = {};  // the deviations of one execution; then nothing else is run
  planted planting = {};
};

struct outcome {
  bool failed = false;
  std::string failure;  // empty unless failed
  std::string trace;    // the steps of the execution that failed
  std::string replay;   // its deviations
  std::uint64_t executions = 0;
  int deviations_done = -1;     // all executions with at most so many deviations were run
  bool complete = false;        // all executions there are
  std::vector<unsigned> sites;  // that were reached
};
std::ostream& operator<<(std::ostream& out, const outcome& result);

/// Not reentrant; one exploration at a time in a process.
[[nodiscard]] outcome explore(const search& how, const std::function<void()>& body);

// Within the body.

/// Runs the functions as threads and returns when all have ended.
template <class... Functions>
void threads(Functions&&... functions);

/// Ends the execution as a failure unless `holds`.
void check(bool holds, const char* description);

/// The thread waits for something that another one will write.
void await_change();

/// Where true, the calling thread has no thread slot; every thread starts with one of its own.
void forget_thread_slot();

/// Can the explorer run here? Not under ThreadSanitizer, which would have to know its contexts.
[[nodiscard]] bool can_explore();

// For `atomics.hpp`.

namespace hooks {

[[nodiscard]] bool exploring();
void construct(const void* address, std::uint64_t value);
/// The value that the load sees. `raw`: the value at the address, where it is new to the explorer.
std::uint64_t load(const void* address, std::uint64_t raw, unsigned site, std::memory_order order);
void store(const void* address, std::uint64_t raw, std::uint64_t value, unsigned site, std::memory_order order);
/// Returns the old value; `change` makes the new one of it.
using change = std::uint64_t (*)(std::uint64_t old, std::uint64_t operand);
std::uint64_t modify(const void* address, std::uint64_t raw, change made, std::uint64_t operand, unsigned site,
                     std::memory_order order);
/// True: exchanged. False: `expected` is the value that was found.
bool compare(const void* address, std::uint64_t raw, std::uint64_t& expected, std::uint64_t desired, bool weak,
             unsigned site, std::memory_order order, std::memory_order failure_order);
void lock(std::uint64_t* held);
bool try_lock(std::uint64_t* held);
void unlock(std::uint64_t* held);
void read_nonatomic(const void* begin, std::size_t bytes);
void write_nonatomic(const void* begin, std::size_t bytes);
void confirm(const void* begin, std::size_t bytes);
void* allocate(std::size_t bytes);
void release(void* begin, std::size_t bytes);

struct thread_body {
  void (*run)(void*);
  void* state;
};
void run_threads(const thread_body* bodies, unsigned count);

}  // namespace hooks

template <class... Functions>
void threads(Functions&&... functions) {
  const hooks::thread_body bodies[] = {
      {[](void* state) { (*static_cast<std::remove_reference_t<Functions>*>(state))(); },
       const_cast<void*>(static_cast<const void*>(&functions))}...};
  hooks::run_threads(bodies, sizeof...(Functions));
}

}  // namespace weft::model

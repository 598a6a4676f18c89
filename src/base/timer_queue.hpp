// SPDX-License-Identifier: BSD-3-Clause
// Resumes fibers at a time: of the waits of fibers that have a time limit.
//
// One thread of the process, started with the first timer, sleeps until the next timer is due. Threads that wait need
// no timer, as they sleep until their limit themselves.
//
// Cost of a timer: memory and a lock at its beginning and its end. Waits without a time limit have none.
#pragma once

#include <map>

#include "base/clock.hpp"
#include "weft/suspender.hpp"

namespace weft::base {

class timer_queue;

/// Lies on the stack of the fiber that waits. Once it is destroyed, the queue's thread uses neither the fiber nor its
/// suspender. **Threads**: the fiber's.
class timer {
 public:
  /// Lets `suspender` resume the fiber `which` at the time `deadline`. **Errors**: std::bad_alloc; std::system_error if
  /// the system gives no thread.
  timer(suspender& suspender, void* which, clock::time_point deadline);
  /// **Blocking**: while the queue's thread resumes fibers.
  ~timer();
  timer(const timer&) = delete;
  timer& operator=(const timer&) = delete;

 private:
  friend class timer_queue;

  timer_queue* queue_;
  suspender& suspender_;
  void* which_;
  bool is_pending_ = true;
  std::multimap<clock::time_point, timer*>::iterator position_;
};

}  // namespace weft::base

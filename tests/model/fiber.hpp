// SPDX-License-Identifier: BSD-3-Clause
// A context that the explorer switches to and from; its stack is used again, execution after execution.
#pragma once

#include <cstddef>

namespace weft::model {

class fiber {
 public:
  fiber();
  ~fiber();
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;

  /// The next `resume` starts `entry(argument)`, which must not return, but end with `suspend`. What was on the stack
  /// is forgotten without being destroyed.
  void prepare(void (*entry)(void*), void* argument);

  /// From outside: runs until `suspend`.
  void resume();

  /// From within.
  void suspend();

 private:
  struct entry_point;

  void* stack_;
  void* context_ = nullptr;  // of whichever side isn't running
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;

  // What AddressSanitizer wants to know about the stack that a switch leaves and the one that it enters.
  void* inside_ = nullptr;
  void* outside_ = nullptr;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_bytes_ = 0;
};

}  // namespace weft::model

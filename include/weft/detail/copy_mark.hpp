// SPDX-License-Identifier: BSD-3-Clause
// Tells objects of this process from copies that fork() has made of its parent's objects.
//
// Cost: 4 bytes in the object, and one comparison for each question.
#pragma once

#include <cstdint>

namespace weft::detail {

/// How many calls of fork() lie between the process that started the program and this one. Defined in
/// src/base/not_inherited.cpp; changes only in a child, before fork() returns there.
extern std::uint32_t fork_count;

/// Whether this process is a child that fork() has made.
[[nodiscard]] inline bool is_child_of_fork() noexcept { return fork_count != 0; }

/// A member of an object that a child of fork() must leave to its parent: the child's destructors ask it first, and
/// leave what waits, locks, signals, or lies in shared memory undone. **Threads**: any; the answer changes only while a
/// process has one thread.
class copy_mark final {
 public:
  copy_mark() noexcept = default;
  copy_mark(const copy_mark&) = delete;
  copy_mark& operator=(const copy_mark&) = delete;

  /// Whether a parent of this process has made the object.
  [[nodiscard]] bool is_copy() const noexcept { return made_at_ != fork_count; }

 private:
  std::uint32_t made_at_ = fork_count;
};

}  // namespace weft::detail

// SPDX-License-Identifier: BSD-3-Clause
// Code that fork() must not interrupt, and objects that a child of fork() must neither use nor keep open.
#pragma once

#include <mutex>

namespace weft::base {

/// An object that has to do something when the process forks: a file whose lock tells the living from the dead is
/// closed in the child, a gate stays closed there. For objects that only have to know that they are copies,
/// `detail::copy_mark` is enough. Of children that are made without fork(), by clone() or vfork(), nothing is known
/// here. **Threads**: any, each object as its owner says.
class not_inherited {
 public:
  not_inherited() = default;
  not_inherited(const not_inherited&) = delete;
  not_inherited& operator=(const not_inherited&) = delete;

 protected:
  ~not_inherited() = default;

  /// Called in the child, which has one thread, before fork() returns there: no more than a signal handler may do.
  virtual void become_copy() noexcept {}
  /// Called in the parent, before the fork; and in both processes after it. Objects are made and destroyed in neither.
  virtual void before_fork() noexcept {}
  virtual void after_fork() noexcept {}

 private:
  friend class inheritance;
  not_inherited* before_ = nullptr;
  not_inherited* behind_ = nullptr;
};

/// Makes forks call, while it lives, the functions of `entry`. The last member of the class of
/// `entry`, so that a fork in another thread meets the object whole or not at all.
class fork_entry {
 public:
  explicit fork_entry(not_inherited& entry);
  ~fork_entry();
  fork_entry(const fork_entry&) = delete;
  fork_entry& operator=(const fork_entry&) = delete;

 private:
  not_inherited& entry_;
};

/// A lock of the whole process, such as the one of a table of all threads. fork() waits until it is free: so a child
/// finds it free, and the data that it guards complete. A thread that holds it takes no other one and makes no
/// `not_inherited`. Never destroyed. **Threads**: any. **Blocking**: for as long as another thread holds it.
class process_lock final : private not_inherited {
 public:
  process_lock() = default;
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  void before_fork() noexcept override { mutex_.lock(); }
  void after_fork() noexcept override { mutex_.unlock(); }

  std::mutex mutex_;
  fork_entry at_forks_{*this};
};

}  // namespace weft::base

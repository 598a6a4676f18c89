// SPDX-License-Identifier: BSD-3-Clause
#include "base/not_inherited.hpp"

#include <pthread.h>

#include <mutex>

#include "weft/detail/copy_mark.hpp"

namespace weft {

constinit std::uint32_t detail::fork_count = 0;

namespace base {

// All such objects of the process. A fork waits until none is being added or removed.
class inheritance {
 public:
  static inheritance& of_this_process() {
    static inheritance& instance = *new inheritance;  // never destroyed: children are made until the end
    return instance;
  }

  void add(not_inherited& entry) noexcept {
    const std::scoped_lock lock{mutex_};
    entry.behind_ = first_;
    if (first_ != nullptr) first_->before_ = &entry;
    first_ = &entry;
  }
  void remove(not_inherited& entry) noexcept {
    const std::scoped_lock lock{mutex_};
    (entry.before_ != nullptr ? entry.before_->behind_ : first_) = entry.behind_;
    if (entry.behind_ != nullptr) entry.behind_->before_ = entry.before_;
  }

 private:
  inheritance() {
    pthread_atfork([] { of_this_process().before_fork(); }, [] { of_this_process().after_fork(); },
                   [] { of_this_process().become_copies(); });
  }
  void before_fork() noexcept {
    mutex_.lock();
    for (not_inherited* each = first_; each != nullptr; each = each->behind_) each->before_fork();
  }
  void after_fork() noexcept {
    for (not_inherited* each = first_; each != nullptr; each = each->behind_) each->after_fork();
    mutex_.unlock();
  }
  void become_copies() noexcept {
    ++detail::fork_count;
    for (not_inherited* each = first_; each != nullptr; each = each->behind_) each->become_copy();
    after_fork();
  }

  std::mutex mutex_;
  not_inherited* first_ = nullptr;
};

namespace {
// Counts forks from the start of the program on: an object with a `copy_mark` may be the only one.
[[maybe_unused]] const inheritance& counts_from_the_start = inheritance::of_this_process();
}  // namespace

fork_entry::fork_entry(not_inherited& entry) : entry_{entry} { inheritance::of_this_process().add(entry); }
fork_entry::~fork_entry() { inheritance::of_this_process().remove(entry_); }

}  // namespace base
}  // namespace weft

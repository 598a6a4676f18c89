// SPDX-License-Identifier: BSD-3-Clause
// The groups of a runtime, for reports of a process in which nothing moves.
#pragma once

#include <mutex>

#include "weft/detail/copy_mark.hpp"

namespace weft::coll {

class group_state;
class listed_group;

/// **Threads**: any.
class group_list {
 public:
  group_list() = default;
  group_list(const group_list&) = delete;
  group_list& operator=(const group_list&) = delete;

  /// Calls `visit(group_state&)` for each; none ends meanwhile. **Blocking**: until no group is made or ended.
  template <class Visit>
  void each(const Visit& visit);

 private:
  friend class listed_group;
  std::mutex mutex_;
  listed_group* first_ = nullptr;
};

/// The last member of a group: while it lives, the group is in the list.
class listed_group {
 public:
  listed_group(group_list& list, group_state& group) noexcept : list_{list}, group_{group} {
    const std::scoped_lock lock{list_.mutex_};
    next_ = list_.first_;
    if (next_ != nullptr) next_->before_ = this;
    list_.first_ = this;
  }
  ~listed_group() {
    if (copy_.is_copy()) return;  // a report of the parent may have held the lock
    const std::scoped_lock lock{list_.mutex_};
    (before_ != nullptr ? before_->next_ : list_.first_) = next_;
    if (next_ != nullptr) next_->before_ = before_;
  }
  listed_group(const listed_group&) = delete;
  listed_group& operator=(const listed_group&) = delete;

 private:
  friend class group_list;
  group_list& list_;
  group_state& group_;
  listed_group* next_ = nullptr;
  listed_group* before_ = nullptr;
  detail::copy_mark copy_;
};

template <class Visit>
void group_list::each(const Visit& visit) {
  const std::scoped_lock lock{mutex_};
  for (const listed_group* each = first_; each != nullptr; each = each->next_) visit(each->group_);
}

}  // namespace weft::coll

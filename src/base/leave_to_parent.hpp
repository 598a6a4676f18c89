// SPDX-License-Identifier: BSD-3-Clause
// The one way in which a child of fork() gets rid of its parent's objects.
#pragma once

#include <utility>

#include "base/intrusive_stack.hpp"

namespace weft::base {

/// Something that a child keeps until it ends.
struct left_to_parent {
  left_to_parent() = default;
  left_to_parent(const left_to_parent&) = delete;
  left_to_parent& operator=(const left_to_parent&) = delete;
  virtual ~left_to_parent() = default;

  left_to_parent* behind = nullptr;
};

/// Keeps `object` for ever. **Threads**: any.
inline void keep_for_ever(left_to_parent& object) noexcept {
  static intrusive_stack<left_to_parent>& all = *new intrusive_stack<left_to_parent>;
  all.add(object);
}

/// Takes over, in a child of fork(), the object that `its` owns, and never destroys it. The destructor of a copied
/// object can wait for a thread that only the parent has, take a lock that was held at the fork, or change memory that
/// the parent and its peers share. A thread can be neither joined nor detached here. The objects stay reachable, so
/// that no tool calls them a leak. **Threads**: any.
template <class Owner>
void leave_to_parent(Owner& its) noexcept {
  struct left final : left_to_parent {
    explicit left(Owner&& owner) noexcept : kept{std::move(owner)} {}
    Owner kept;
  };
  keep_for_ever(*new left{std::move(its)});
}

}  // namespace weft::base

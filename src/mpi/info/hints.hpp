// SPDX-License-Identifier: BSD-3-Clause
// The hints of communicators that this library knows (MPI 5.0, 7.4.4): an assertion is one of the user's, which allows
// the library to do less.
#pragma once

#include <atomic>

#include "mpi.h"

namespace weft::mpi {

class info;

/// Aligned so that an atomic of it takes one instruction, also with clang.
struct alignas(8) communicator_hints {
  bool allow_overtaking = false;  ///< messages need not be matched in the order in which they were sent
  bool no_any_source = false;     ///< no receive has MPI_ANY_SOURCE
  bool no_any_tag = false;        ///< no receive has MPI_ANY_TAG
  bool exact_length = false;      ///< a message is as long as its receive buffer
  bool strict_persistent_collective_ordering = false;  ///< members start persistent collectives in one order

  /// Whether messages need not be ordered, and no receive has a wildcard: an unordered engine does.
  [[nodiscard]] bool allow_unordered() const noexcept { return allow_overtaking && no_any_source && no_any_tag; }
};

/// The hints of one communicator. **Threads**: any, several at once.
class kept_hints {
 public:
  [[nodiscard]] communicator_hints get() const noexcept {
    // [hint] Nothing else is read by it: members set it in a collective call.
    return value_.load(std::memory_order_relaxed);
  }
  void set(const communicator_hints& to) noexcept {
    // [hint]
    value_.store(to, std::memory_order_relaxed);
  }

 private:
  static_assert(std::atomic<communicator_hints>::is_always_lock_free);
  std::atomic<communicator_hints> value_{};
};

/// `before` with the hints of an info object, which may be null: values but "true" and "false" change nothing.
/// **Errors**: std::bad_alloc.
[[nodiscard]] communicator_hints read_hints(const info* from, communicator_hints before = {});
/// A new info object with these hints alone, all of them.
int report_hints(const communicator_hints& hints, MPI_Info* made) noexcept;

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
// The hints of communicators that this library knows (MPI 5.0, 7.4.4, and one of Weft's own): an assertion is one of
// the user's, which allows the library to do less.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpi.h"

namespace weft::mpi {

class info;

/// How a communicator matches messages and receives. Members agree on the bits that all of them propose.
enum class matching_kind : std::uint32_t {
  in_order = 0,         ///< in the order of MPI: receives may leave rank and tag open
  by_rank_and_tag = 1,  ///< without order: each receive names both
  by_tag = 2,           ///< without order: each receive names the tag, and takes any source
};
[[nodiscard]] constexpr matching_kind common_kind(matching_kind a, matching_kind b) noexcept {
  return matching_kind{static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b)};
}

/// Aligned so that an atomic of it takes one instruction, also with clang.
struct alignas(8) communicator_hints {
  bool allow_overtaking = false;  ///< messages need not be matched in the order in which they were sent
  bool no_any_source = false;     ///< no receive has MPI_ANY_SOURCE
  bool no_any_tag = false;        ///< no receive has MPI_ANY_TAG
  bool exact_length = false;      ///< a message is as long as its receive buffer
  bool strict_persistent_collective_ordering = false;  ///< members start persistent collectives in one order
  bool any_source_by_tag = false;                      ///< receives have MPI_ANY_SOURCE, and name the tag
  std::uint8_t vci = 0;                                ///< `weft_vci`, the number of a VCI, plus one; 0: none is named

  /// The kind that these assertions allow. MPI's own count before Weft's where they contradict each other.
  [[nodiscard]] matching_kind matching() const noexcept {
    if (!allow_overtaking) return matching_kind::in_order;
    if (no_any_source) return no_any_tag ? matching_kind::by_rank_and_tag : matching_kind::in_order;
    return any_source_by_tag ? matching_kind::by_tag : matching_kind::in_order;
  }
  /// These hints with the values that a communicator of this kind has, whatever the program asks for.
  [[nodiscard]] communicator_hints kept_by(matching_kind kind) const noexcept {
    communicator_hints out = *this;
    if (kind != matching_kind::in_order) out.allow_overtaking = out.no_any_tag = true;
    if (kind == matching_kind::by_rank_and_tag) out.no_any_source = true;
    if (kind == matching_kind::by_tag) out.no_any_source = false;
    out.any_source_by_tag = kind == matching_kind::by_tag;
    return out;
  }
};

/// The hints of one communicator, whose kind of matching never changes. **Threads**: any, several at once.
class kept_hints {
 public:
  explicit kept_hints(matching_kind kind) noexcept : kind_{kind} {}
  [[nodiscard]] matching_kind matching() const noexcept { return kind_; }
  [[nodiscard]] communicator_hints get() const noexcept {
    // [hint] Nothing else is read by it: members set it in a collective call.
    return value_.load(std::memory_order_relaxed);
  }
  /// Those of the kind stay as they are.
  void set(const communicator_hints& asked) noexcept {
    // [hint]
    value_.store(asked.kept_by(kind_), std::memory_order_relaxed);
  }

 private:
  static_assert(std::atomic<communicator_hints>::is_always_lock_free);
  matching_kind kind_;
  std::atomic<communicator_hints> value_{};
};

/// `before` with the hints of an info object, which may be null: values that a hint does not have change nothing.
/// **Errors**: std::bad_alloc.
[[nodiscard]] communicator_hints read_hints(const info* from, communicator_hints before = {});
/// A new info object with these hints alone, all of them.
int report_hints(const communicator_hints& hints, MPI_Info* made) noexcept;

}  // namespace weft::mpi

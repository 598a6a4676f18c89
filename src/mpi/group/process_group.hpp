// SPDX-License-Identifier: BSD-3-Clause
// Groups of processes: ranks of the job in an order. Communicators have them, and handles of programs name them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "mpi.h"
#include "mpi/handle/object.hpp"

namespace weft::mpi {

/// It never changes, so that communicators and handles have one group together. All functions: **Threads**: any.
class process_group {
 public:
  /// These ranks of the job, no rank twice. **Errors**: `std::bad_alloc`.
  explicit process_group(std::vector<std::uint32_t> ranks);

  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ranks_.size()); }
  /// The rank in the job of a member that there is.
  [[nodiscard]] std::uint32_t world_rank(std::uint32_t member) const noexcept { return ranks_[member]; }
  [[nodiscard]] const std::vector<std::uint32_t>& world_ranks() const noexcept { return ranks_; }
  /// The number here of a rank of the job; nothing if it is no member. Cost: an access, or a binary search where the
  /// ranks lie far apart.
  [[nodiscard]] std::optional<std::uint32_t> member(std::uint32_t world) const noexcept;
  /// A number of these ranks, in their order: mostly another one for others.
  [[nodiscard]] std::uint64_t hash() const noexcept { return hash_; }
  /// Whether it has the ranks 0, 1, 2 and so on, in this order.
  [[nodiscard]] bool counts_from_zero() const noexcept { return counts_from_zero_; }

 private:
  struct numbered {
    std::uint32_t world;
    std::uint32_t member;
  };

  std::vector<std::uint32_t> ranks_;
  std::uint64_t hash_;
  bool counts_from_zero_;
  std::uint32_t lowest_ = 0;
  std::vector<std::uint32_t> dense_;  // 1 + member, or 0, from the lowest rank on
  std::vector<numbered> sorted_;      // ascending by rank; used where `dense_` would be too large
};

using shared_group = std::shared_ptr<const process_group>;

/// What MPI_Group points to.
struct group_handle {
  object_kind kind = object_kind::group;
  shared_group members;
};

/// The object of a handle; null if it is none.
[[nodiscard]] const group_handle* find_group(MPI_Group handle) noexcept;
/// A handle for a group; MPI_GROUP_EMPTY if it has no members. **Errors**: `std::bad_alloc`.
[[nodiscard]] MPI_Group new_handle(shared_group members);

/// MPI_Group_free: the group lives as long as others have it.
int free_group(MPI_Group* handle) noexcept;

}  // namespace weft::mpi

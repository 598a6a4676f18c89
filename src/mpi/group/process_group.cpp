// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/group/process_group.hpp"

#include <algorithm>
#include <utility>

#include "mpi/error/error.hpp"

namespace weft::mpi {
namespace {

const group_handle& empty_group() {
  // Never destroyed: the last functions of a process may call MPI.
  static const group_handle& out =
      *new group_handle{.members = std::make_shared<process_group>(std::vector<std::uint32_t>{})};
  return out;
}

// FNV-1a of whole numbers.
std::uint64_t hash_of(const std::vector<std::uint32_t>& ranks) noexcept {
  std::uint64_t out = 0xcbf2'9ce4'8422'2325U;
  for (const std::uint32_t each : ranks) out = (out ^ each) * 0x100'0000'01b3U;
  return out;
}

}  // namespace

process_group::process_group(std::vector<std::uint32_t> ranks)
    : ranks_{std::move(ranks)}, hash_{hash_of(ranks_)}, counts_from_zero_{true} {
  for (std::uint32_t member = 0; member < size(); ++member) counts_from_zero_ &= ranks_[member] == member;
  if (counts_from_zero_) return;
  const auto [lowest, highest] = std::ranges::minmax(ranks_);
  // A table of ranks, if it has at most 8 entries for a member.
  if (highest - lowest < 8 * ranks_.size()) {
    lowest_ = lowest;
    dense_.resize(highest - lowest + 1);
    for (std::uint32_t member = 0; member < size(); ++member) dense_[ranks_[member] - lowest] = member + 1;
    return;
  }
  for (std::uint32_t member = 0; member < size(); ++member) sorted_.push_back({ranks_[member], member});
  std::ranges::sort(sorted_, {}, &numbered::world);
}

std::optional<std::uint32_t> process_group::member(std::uint32_t world) const noexcept {
  if (counts_from_zero_) return world < size() ? std::optional{world} : std::nullopt;
  if (!dense_.empty()) {
    const std::uint32_t index = world - lowest_;  // a lower rank gives a very large number
    if (index >= dense_.size() || dense_[index] == 0) return std::nullopt;
    return dense_[index] - 1;
  }
  const auto found = std::ranges::lower_bound(sorted_, world, {}, &numbered::world);
  if (found == sorted_.end() || found->world != world) return std::nullopt;
  return found->member;
}

const group_handle* find_group(MPI_Group handle) noexcept {
  if (handle == MPI_GROUP_EMPTY) return &empty_group();
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<const group_handle*>(handle);
  return found->kind == object_kind::group ? found : nullptr;
}

MPI_Group new_handle(shared_group members) {
  if (members->size() == 0) return MPI_GROUP_EMPTY;
  return reinterpret_cast<MPI_Group>(new group_handle{.members = std::move(members)});
}

int free_group(MPI_Group* handle) noexcept {
  const group_handle* const found = find_group(*handle);
  if (found == nullptr) return fail(MPI_ERR_GROUP, "it is no group");
  if (!is_predefined(*handle)) {
    auto* const object = reinterpret_cast<group_handle*>(*handle);
    object->kind = object_kind::freed;
    delete object;
  }
  *handle = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/group/sets.hpp"

#include <utility>
#include <vector>

#include "mpi/error/error.hpp"

namespace weft::mpi {
namespace {

int write_group(std::vector<std::uint32_t> ranks, MPI_Group* out) {
  *out = new_handle(std::make_shared<process_group>(std::move(ranks)));
  return MPI_SUCCESS;
}

// The members of `a` that are in `b`, or that are not.
std::vector<std::uint32_t> common(const process_group& a, const process_group& b, bool are_in) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t each : a.world_ranks()) {
    if (b.member(each).has_value() == are_in) out.push_back(each);
  }
  return out;
}

// Which members a list names, and in which order.
class choice {
 public:
  explicit choice(const process_group& group) : group_{group}, is_chosen_(group.size()) {}

  int add(std::int64_t rank) {
    if (rank < 0 || rank >= group_.size())
      return fail(MPI_ERR_RANK, "rank %lld in a group of %u", static_cast<long long>(rank), group_.size());
    const auto member = static_cast<std::uint32_t>(rank);
    if (is_chosen_[member]) return fail(MPI_ERR_RANK, "rank %u is named twice", member);
    is_chosen_[member] = true;
    chosen_.push_back(group_.world_rank(member));
    return MPI_SUCCESS;
  }
  int add(std::span<const int> ranks) {
    int error = MPI_SUCCESS;
    for (std::size_t index = 0; index < ranks.size() && error == MPI_SUCCESS; ++index) error = add(ranks[index]);
    return error;
  }
  int add(std::span<const rank_range> ranges) {
    int error = MPI_SUCCESS;
    for (std::size_t index = 0; index < ranges.size() && error == MPI_SUCCESS; ++index) error = add(ranges[index]);
    return error;
  }

  [[nodiscard]] std::vector<std::uint32_t> chosen() && { return std::move(chosen_); }
  [[nodiscard]] std::vector<std::uint32_t> others() const {
    std::vector<std::uint32_t> out;
    for (std::uint32_t member = 0; member < group_.size(); ++member) {
      if (!is_chosen_[member]) out.push_back(group_.world_rank(member));
    }
    return out;
  }

 private:
  // The ranks first, first + stride, and so on, up to last (MPI 5.0, 7.3.2).
  int add(const rank_range& range) {
    const std::int64_t first = range[0], last = range[1], stride = range[2];
    if (stride == 0) return fail(MPI_ERR_ARG, "a range of ranks with stride 0");
    if (stride > 0 ? first > last : first < last)
      return fail(MPI_ERR_ARG, "stride %d leads from rank %d away from rank %d", range[2], range[0], range[1]);
    int error = MPI_SUCCESS;
    for (std::int64_t rank = first; error == MPI_SUCCESS && (stride > 0 ? rank <= last : rank >= last); rank += stride)
      error = add(rank);
    return error;
  }

  const process_group& group_;
  std::vector<bool> is_chosen_;
  std::vector<std::uint32_t> chosen_;
};

template <class Ranks>
int include_all(const group_handle& group, Ranks ranks, MPI_Group* out) noexcept {
  return guarded([&] {
    choice made{*group.members};
    const int error = made.add(ranks);
    return error != MPI_SUCCESS ? error : write_group(std::move(made).chosen(), out);
  });
}

template <class Ranks>
int exclude_all(const group_handle& group, Ranks ranks, MPI_Group* out) noexcept {
  return guarded([&] {
    choice made{*group.members};
    const int error = made.add(ranks);
    return error != MPI_SUCCESS ? error : write_group(made.others(), out);
  });
}

}  // namespace

int unite(const group_handle& a, const group_handle& b, MPI_Group* out) noexcept {
  return guarded([&] {
    std::vector<std::uint32_t> ranks = a.members->world_ranks();
    const std::vector<std::uint32_t> added = common(*b.members, *a.members, false);
    ranks.insert(ranks.end(), added.begin(), added.end());
    return write_group(std::move(ranks), out);
  });
}

int intersect(const group_handle& a, const group_handle& b, MPI_Group* out) noexcept {
  return guarded([&] { return write_group(common(*a.members, *b.members, true), out); });
}

int subtract(const group_handle& a, const group_handle& b, MPI_Group* out) noexcept {
  return guarded([&] { return write_group(common(*a.members, *b.members, false), out); });
}

int include(const group_handle& group, std::span<const int> ranks, MPI_Group* out) noexcept {
  return include_all(group, ranks, out);
}
int exclude(const group_handle& group, std::span<const int> ranks, MPI_Group* out) noexcept {
  return exclude_all(group, ranks, out);
}
int include_ranges(const group_handle& group, std::span<const rank_range> ranges, MPI_Group* out) noexcept {
  return include_all(group, ranges, out);
}
int exclude_ranges(const group_handle& group, std::span<const rank_range> ranges, MPI_Group* out) noexcept {
  return exclude_all(group, ranges, out);
}

}  // namespace weft::mpi

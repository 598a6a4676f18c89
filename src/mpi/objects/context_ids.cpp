// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/context_ids.hpp"

#include <bit>

#include "mpi/objects/error.hpp"

namespace weft::mpi {
namespace {

constexpr std::uint32_t ids = 0x8000'0000 - first_context;
constexpr std::uint32_t own_ids = 16;  // the first ones, which no rank gives

}  // namespace

// Ranks have equal numbers of ids, powers of two.
context_ids::context_ids(std::uint32_t rank, std::uint32_t ranks) noexcept
    : next_{first_context + rank * (ids / std::bit_ceil(ranks))}, end_{next_ + ids / std::bit_ceil(ranks)} {
  if (rank == 0) next_ += own_ids;
}

std::uint32_t context_ids::take() noexcept {
  const std::lock_guard locked{mutex_};
  if (!returned_.empty()) {
    const std::uint32_t out = returned_.back();
    returned_.pop_back();
    return out;
  }
  return next_ < end_ ? next_++ : no_context;
}

void context_ids::give_back(std::uint32_t id) noexcept {
  if (id == no_context) return;
  const std::lock_guard locked{mutex_};
  if (id + 1 == next_) {
    --next_;
    return;
  }
  static_cast<void>(guarded([&] {
    returned_.push_back(id);
    return MPI_SUCCESS;
  }));  // without memory the id is lost
}

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/context_ids.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "mpi/error/error.hpp"

namespace weft::mpi {
namespace {

constexpr std::uint32_t ids = 0x8000'0000 - first_context;
constexpr std::uint32_t own_ids = 16;  // the first ones, which no rank gives
constexpr std::uint32_t first_block = 16, largest_block = 1U << 20;

}  // namespace

// Ranks have equal numbers of ids, powers of two. Weft finds an engine by the low bits of its id alone if no other one
// has them (src/base/id_table.hpp). So a rank begins beside MPI's own ids, and beside those of most other ranks.
context_ids::context_ids(std::uint32_t rank, std::uint32_t ranks) noexcept {
  const std::uint32_t own = ids / std::bit_ceil(ranks), first = first_context + rank * own;
  const std::uint32_t lowest = rank == 0 ? first + own_ids : first;
  const std::uint32_t begin = std::min(first + own_ids * (1 + rank % 3), first + own);
  unused_ = {begin, first + own};
  last_ = {lowest, begin};
}

std::uint32_t context_ids::take(context_stream stream) {
  const std::lock_guard locked{mutex_};
  stream_state& found = find(stream);
  if (found.ids.size() == 0) {
    found.block_size = std::clamp(2 * found.block_size, first_block, largest_block);
    found.ids = take_block(found.block_size);
  }
  return found.ids.size() != 0 ? found.ids.next++ : take_of_others();
}

void context_ids::release(std::uint32_t id, context_stream stream) noexcept {
  if (id == no_context) return;
  const std::lock_guard locked{mutex_};
  const auto found = streams_.find(stream);
  if (found != streams_.end() && found->second.ids.next == id + 1) {
    --found->second.ids.next;
    return;
  }
  static_cast<void>(guarded([&] {
    left_.push_back({id, id + 1});
    return MPI_SUCCESS;
  }));  // without memory the id is lost
}

context_ids::stream_state& context_ids::find(context_stream stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end() && streams_.size() == streams_max) {
    const auto oldest = std::ranges::min_element(streams_, {}, [](const auto& each) { return each.second.last_use; });
    if (oldest->second.ids.size() != 0) left_.push_back(oldest->second.ids);
    streams_.erase(oldest);
  }
  stream_state& out = found != streams_.end() ? found->second : streams_[stream];
  out.last_use = ++uses_;
  return out;
}

// The rest of a dropped stream's block first, so that many streams that are used once do not use up all blocks. Else a
// part of the ids that no stream has had, so that others find some, too.
context_ids::block context_ids::take_block(std::uint32_t wanted) noexcept {
  if (!left_.empty()) {
    const block out = left_.back();
    left_.pop_back();
    return out;
  }
  if (unused_.size() == 0) std::swap(unused_, last_);
  const std::uint32_t size = std::min({wanted, std::max(unused_.size() / 8, first_block), unused_.size()});
  const block out{unused_.next, unused_.next + size};
  unused_.next = out.end;
  return out;
}

// The last id of a stream that has some left.
std::uint32_t context_ids::take_of_others() noexcept {
  for (auto& [stream, other] : streams_) {
    if (other.ids.size() != 0) return --other.ids.end;
  }
  return no_context;
}

}  // namespace weft::mpi

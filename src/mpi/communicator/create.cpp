// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/create.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/communicator/agree.hpp"
#include "mpi/communicator/make.hpp"
#include "mpi/error/error.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

int check_members(const communicator& parent, const process_group& members) {
  const auto is_member = [&](std::uint32_t each) { return parent.local->member(each).has_value(); };
  if (std::ranges::all_of(members.world_ranks(), is_member)) return MPI_SUCCESS;
  return fail(MPI_ERR_GROUP, "a member of the group is none of the communicator");
}

// What a member says of itself before a split.
struct split_entry {
  std::int64_t color;
  std::int32_t key;
  std::uint32_t has_color;
  std::uint32_t context;  // if it turns out to be the first member
  std::uint32_t unused = 0;
};

// Splits of one parent by one color give mostly the same members, which are not known when a member proposes an id.
context_stream stream_of_part(const process_group& parent, std::int64_t color) noexcept {
  return (parent.hash() ^ static_cast<std::uint64_t>(color)) * 0x9e37'79b9'7f4a'7c15U;
}

}  // namespace

int create(rank_state& rank, communicator& parent, const group_handle& group, MPI_Comm* out) noexcept {
  return guarded([&] {
    const process_group& members = *group.members;
    if (const int error = check_members(parent, members); error != MPI_SUCCESS) return error;
    const std::uint32_t me = rank.world.rank;
    const bool is_first = members.size() > 0 && members.world_rank(0) == me;
    const std::uint32_t mine = is_first ? rank.communicators.contexts().take(members.hash()) : no_context;
    std::vector<std::uint32_t> contexts(parent.size);
    collective::allgather({&mine, sizeof mine}, contexts).run(parent.members);
    *out = MPI_COMM_NULL;
    if (!members.member(me)) return MPI_SUCCESS;
    const std::uint32_t context = contexts[*parent.local->member(members.world_rank(0))];
    *out = handle_of(rank, make_communicator(rank, parent, {.context = context, .local = group.members}));
    return MPI_SUCCESS;
  });
}

int create_in_group(rank_state& rank, communicator& parent, const group_handle& group, int tag,
                    MPI_Comm* out) noexcept {
  return guarded([&] {
    const process_group& members = *group.members;
    if (const int error = check_members(parent, members); error != MPI_SUCCESS) return error;
    *out = MPI_COMM_NULL;
    if (!members.member(rank.world.rank)) return MPI_SUCCESS;
    const std::uint32_t context = agree_in_group(rank, parent, members, tag);
    *out = handle_of(rank, make_communicator(rank, parent, {.context = context, .local = group.members}));
    return MPI_SUCCESS;
  });
}

communicator* split_by(rank_state& rank, communicator& parent, std::optional<std::int64_t> color, int key) {
  const context_stream stream = stream_of_part(*parent.local, color.value_or(0));
  const split_entry mine{.color = color.value_or(0),
                         .key = key,
                         .has_color = color ? 1U : 0U,
                         .context = color ? rank.communicators.contexts().take(stream) : no_context};
  std::vector<split_entry> entries(parent.size);
  collective::allgather({&mine, sizeof mine}, entries).run(parent.members);
  if (!color) return nullptr;
  std::vector<std::uint32_t> members;
  for (std::uint32_t member = 0; member < parent.size; ++member) {
    if (entries[member].has_color != 0 && entries[member].color == *color) members.push_back(member);
  }
  std::ranges::stable_sort(members, {}, [&](std::uint32_t member) { return entries[member].key; });
  const std::uint32_t first = members.front();
  if (first != parent.rank) rank.communicators.contexts().release(mine.context, stream);
  for (std::uint32_t& each : members) each = parent.local->world_rank(each);
  const bool are_all = members == parent.local->world_ranks();
  auto local = are_all ? parent.local : std::make_shared<process_group>(std::move(members));
  return &make_communicator(rank, parent, {.context = entries[first].context, .local = std::move(local)});
}

int split(rank_state& rank, communicator& parent, int color, int key, MPI_Comm* out) noexcept {
  if (color < 0 && color != MPI_UNDEFINED) return fail(MPI_ERR_ARG, "color %d", color);
  return guarded([&] {
    const auto wanted = color == MPI_UNDEFINED ? std::nullopt : std::optional<std::int64_t>{color};
    *out = handle_or_null(split_by(rank, parent, wanted, key));
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi

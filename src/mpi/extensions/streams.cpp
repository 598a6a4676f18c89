// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/extensions/streams.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "mpi/communicator/make.hpp"
#include "mpi/error/error.hpp"
#include "mpi/objects/context_ids.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {
namespace {

// A member's part of the agreement on a stream communicator.
struct stream_entry {
  std::uint32_t context;  // the id, which the first member gives
  std::uint32_t device;   // the number that the others' messages name
};

// An id, which the first member gives.
std::uint32_t proposed_context(rank_state& rank, const communicator& parent) {
  return parent.rank == 0 ? rank.communicators.contexts().take(parent.local->hash()) : no_context;
}

std::uint32_t device_of(rank_state& rank, const stream* own) noexcept {
  return own != nullptr ? own->device.index() : rank.device.index();
}

// The streams of this member, null for the default one, and their devices.
struct member_streams {
  std::vector<stream*> streams;
  std::vector<std::uint32_t> devices;
};

member_streams streams_of(rank_state& rank, std::span<const MPIX_Stream> handles) {
  member_streams out;
  for (const MPIX_Stream each : handles) {
    out.streams.push_back(find_stream(each));
    out.devices.push_back(device_of(rank, out.streams.back()));
  }
  return out;
}

// The agreement of the members of a multiplex communicator: an id for each lane, as many as the member with the most
// streams has; how many streams each member has, and their devices, one member after the other.
struct agreed_lanes {
  std::vector<std::uint32_t> contexts;
  std::vector<std::uint32_t> counts;
  std::vector<std::uint32_t> devices;
};

agreed_lanes agree_on_lanes(rank_state& rank, communicator& parent, std::span<const std::uint32_t> mine) {
  agreed_lanes out;
  const auto count = static_cast<std::uint32_t>(mine.size());
  out.counts.resize(parent.size);
  collective::allgather({&count, sizeof count}, out.counts).run(parent.members);
  const std::size_t lanes = *std::ranges::max_element(out.counts);
  // A member's block: ids, which only the first one gives, then its devices.
  std::vector<std::uint32_t> block(2 * lanes), blocks(block.size() * parent.size);
  for (std::size_t lane = 0; lane < lanes; ++lane) block[lane] = proposed_context(rank, parent);
  std::ranges::copy(mine, block.begin() + static_cast<std::ptrdiff_t>(lanes));
  collective::allgather(block, blocks).run(parent.members);
  out.contexts.assign(blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(lanes));
  for (std::size_t member = 0; member < parent.size; ++member) {
    const auto first = blocks.begin() + static_cast<std::ptrdiff_t>(member * block.size() + lanes);
    out.devices.insert(out.devices.end(), first, first + static_cast<std::ptrdiff_t>(out.counts[member]));
  }
  return out;
}

}  // namespace

int create_stream(rank_state& rank, MPIX_Stream* made) noexcept {
  if (rank.session.thread_level != MPI_THREAD_MULTIPLE)
    return fail(MPI_ERR_OTHER, "the thread level is below MPI_THREAD_MULTIPLE");
  return guarded([&] {
    *made = handle_of(rank.vcis.streams().make(rank.runtime, rank.signals));
    return MPI_SUCCESS;
  });
}

int free_stream(rank_state& rank, MPIX_Stream* handle) noexcept {
  stream* const found = find_stream(*handle);
  if (found == nullptr) return fail(MPI_ERR_ARG, "it is no stream of the program's");
  if (found->thread != nullptr) return fail(MPI_ERR_OTHER, "the stream's progress thread runs");
  if (found->hooks.open() != 0) return fail(MPI_ERR_OTHER, "the stream has hooks that have not ended");
  rank.requests.release_done();
  rank.communicators.destroy_ended();
  // [stream.is_unused] acquire <- [stream.unuse]: other threads have used its communicators for the last time.
  if (const std::uint32_t count = found->communicators.load(std::memory_order_acquire); count != 0)
    return fail(MPI_ERR_OTHER, "the stream has %u communicators, or operations of freed ones that are not complete",
                count);
  rank.vcis.streams().end(*found);
  *handle = MPIX_STREAM_NULL;
  return MPI_SUCCESS;
}

int create_stream_communicator(rank_state& rank, communicator& parent, MPIX_Stream own, MPI_Comm* made) noexcept {
  return guarded([&] {
    stream* const mine = find_stream(own);
    const stream_entry entry{.context = proposed_context(rank, parent), .device = device_of(rank, mine)};
    std::vector<stream_entry> entries(parent.size);
    collective::allgather({&entry, sizeof entry}, entries).run(parent.members);
    std::vector<std::uint32_t> devices;
    for (const stream_entry& each : entries) devices.push_back(each.device);
    auto routes = std::make_shared<const stream_routes>(std::vector{mine}, std::vector<std::uint32_t>(parent.size, 1),
                                                        std::move(devices));
    communicator& out = make_communicator(rank, parent,
                                          {.context = entries.front().context,
                                           .local = parent.local,
                                           .stream = &interface_of(rank, mine),
                                           .streams = std::move(routes)});
    *made = handle_of(rank, out);
    return MPI_SUCCESS;
  });
}

int create_multiplex_communicator(rank_state& rank, communicator& parent, int count, const MPIX_Stream* own,
                                  MPI_Comm* made) noexcept {
  if (count == 0 || count >= own_lane) return fail(MPI_ERR_COUNT, "%d streams", count);
  return guarded([&] {
    const member_streams mine = streams_of(rank, std::span{own, static_cast<std::size_t>(count)});
    const agreed_lanes agreed = agree_on_lanes(rank, parent, mine.devices);
    auto routes = std::make_shared<const stream_routes>(mine.streams, agreed.counts, agreed.devices);
    std::vector<communicator*> lanes;
    try {
      for (std::size_t index = 0; index < agreed.contexts.size(); ++index) {
        stream* const of_lane = index < mine.streams.size() ? mine.streams[index] : nullptr;
        lanes.push_back(&make_communicator(rank, parent,
                                           {.context = agreed.contexts[index],
                                            .local = parent.local,
                                            .stream = &interface_of(rank, of_lane),
                                            .streams = routes}));
      }
      for (communicator* const each : lanes) each->route.lanes = lanes;
    } catch (...) {
      for (communicator* const each : lanes) each->remove_reference();
      throw;
    }
    *made = handle_of(rank, *lanes.front());
    return MPI_SUCCESS;
  });
}

int get_stream(const communicator& comm, int index, MPIX_Stream* found) noexcept {
  const std::size_t count = comm.route.streams != nullptr ? comm.route.streams->own().size() : 1;
  if (index < 0 || static_cast<std::size_t>(index) >= count)
    return fail(MPI_ERR_ARG, "index %d where this member has %zu stream%s", index, count, count == 1 ? "" : "s");
  stream* const own =
      comm.route.streams != nullptr ? comm.route.streams->own()[static_cast<std::size_t>(index)] : nullptr;
  *found = own != nullptr ? handle_of(*own) : MPIX_STREAM_NULL;
  return MPI_SUCCESS;
}

}  // namespace weft::mpi

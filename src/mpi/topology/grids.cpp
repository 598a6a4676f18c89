// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topology/grids.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "mpi/communicator/agree.hpp"
#include "mpi/communicator/create.hpp"
#include "mpi/communicator/make.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"
#include "mpi/topology/cartesian.hpp"

namespace weft::mpi {
namespace {

int refuse_no_grid() noexcept { return fail(MPI_ERR_TOPOLOGY, "the communicator has no cartesian topology"); }

int check_grid(const described_grid& of, std::uint32_t processes) noexcept {
  if (of.count < 0) return fail(MPI_ERR_DIMS, "%d dimensions", of.count);
  std::int64_t size = 1;
  for (int in = 0; in < of.count; ++in) {
    if (of.lengths[in] <= 0) return fail(MPI_ERR_DIMS, "dimension %d has the length %d", in, of.lengths[in]);
    size *= of.lengths[in];
    if (size > processes)
      return fail(MPI_ERR_DIMS, "the grid has more ranks than the %u of the communicator", processes);
  }
  return MPI_SUCCESS;
}

std::shared_ptr<const cartesian> grid_of(const described_grid& of) {
  std::vector<cartesian::dimension> dimensions;
  for (int in = 0; in < of.count; ++in) dimensions.push_back({of.lengths[in], of.are_periodic[in] != 0});
  return std::make_shared<cartesian>(std::move(dimensions));
}

// The first members of `old`, as many as the grid has ranks.
shared_group first_members(const communicator& old, int count) {
  if (static_cast<std::uint32_t>(count) == old.size) return old.local;
  const std::vector<std::uint32_t>& all = old.local->world_ranks();
  return std::make_shared<process_group>(std::vector<std::uint32_t>{all.begin(), all.begin() + count});
}

int check_room(const communicator& of, int room) noexcept {
  if (of.topology == nullptr) return refuse_no_grid();
  const std::size_t dimensions = of.topology->dimensions().size();
  if (room >= 0 && static_cast<std::size_t>(room) >= dimensions) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "room for %d of %zu dimensions", room, dimensions);
}

void give_coordinates(const cartesian& of, int rank, int* out) noexcept {
  for (std::size_t in = 0; in < of.dimensions().size(); ++in) out[in] = of.coordinate(rank, in);
}

}  // namespace

int create_grid(rank_state& rank, communicator& old, const described_grid& of, MPI_Comm* out) noexcept {
  return guarded([&] {
    if (const int error = check_grid(of, old.size); error != MPI_SUCCESS) return error;
    std::shared_ptr<const cartesian> grid = grid_of(of);
    agreement all = proposal(rank, old, false);
    broadcast_of(all).run(old.members);
    *out = MPI_COMM_NULL;
    if (old.rank >= static_cast<std::uint32_t>(grid->size())) return MPI_SUCCESS;
    communicator& made =
        make_communicator(rank, old, {.context = all.context, .local = first_members(old, grid->size())});
    made.topology = std::move(grid);
    *out = handle_of(rank, made);
    return MPI_SUCCESS;
  });
}

int create_slice(rank_state& rank, communicator& of, const int* remains, MPI_Comm* out) noexcept {
  return guarded([&] {
    if (of.topology == nullptr) return refuse_no_grid();
    const cartesian& whole = *of.topology;
    if (remains == nullptr && !whole.dimensions().empty()) return fail(MPI_ERR_ARG, "a null pointer for dimensions");
    const int me = static_cast<int>(of.rank);
    std::vector<cartesian::dimension> dimensions;
    std::int64_t slice = 0;
    for (std::size_t in = 0; in < whole.dimensions().size(); ++in) {
      if (remains[in] != 0) {
        dimensions.push_back(whole.dimensions()[in]);
      } else {
        slice = slice * whole.dimensions()[in].length + whole.coordinate(me, in);
      }
    }
    auto grid = std::make_shared<cartesian>(std::move(dimensions));
    communicator& made = *split_by(rank, of, slice, me);
    made.topology = std::move(grid);
    *out = handle_of(rank, made);
    return MPI_SUCCESS;
  });
}

int map_to_grid(const communicator& of, const described_grid& to, int* out) noexcept {
  if (const int error = check_grid(to, of.size); error != MPI_SUCCESS) return error;
  std::uint32_t size = 1;
  for (int in = 0; in < to.count; ++in) size *= static_cast<std::uint32_t>(to.lengths[in]);
  *out = of.rank < size ? static_cast<int>(of.rank) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int kind_of_topology(const communicator& of) noexcept { return of.topology != nullptr ? MPI_CART : MPI_UNDEFINED; }

int count_dimensions(const communicator& of, int* out) noexcept {
  if (of.topology == nullptr) return refuse_no_grid();
  *out = static_cast<int>(of.topology->dimensions().size());
  return MPI_SUCCESS;
}

int get_grid(const communicator& of, int room, int* lengths, int* are_periodic, int* coordinates) noexcept {
  if (const int error = check_room(of, room); error != MPI_SUCCESS) return error;
  for (const auto [length, is_periodic] : of.topology->dimensions()) {
    *lengths++ = length;
    *are_periodic++ = is_periodic ? 1 : 0;
  }
  give_coordinates(*of.topology, static_cast<int>(of.rank), coordinates);
  return MPI_SUCCESS;
}

int get_coordinates(const communicator& of, int rank, int room, int* out) noexcept {
  if (const int error = check_room(of, room); error != MPI_SUCCESS) return error;
  give_coordinates(*of.topology, rank, out);
  return MPI_SUCCESS;
}

int get_rank(const communicator& of, const int* coordinates, int* out) noexcept {
  if (of.topology == nullptr) return refuse_no_grid();
  if (coordinates == nullptr && !of.topology->dimensions().empty())
    return fail(MPI_ERR_ARG, "a null pointer for coordinates");
  const int found = of.topology->rank_at(coordinates);
  if (found == MPI_PROC_NULL)
    return fail(MPI_ERR_ARG, "coordinates beyond the end of a dimension that is not periodic");
  *out = found;
  return MPI_SUCCESS;
}

int get_shift(const communicator& of, int dimension, int distance, int* source, int* destination) noexcept {
  if (of.topology == nullptr) return refuse_no_grid();
  const std::size_t dimensions = of.topology->dimensions().size();
  if (dimension < 0 || static_cast<std::size_t>(dimension) >= dimensions)
    return fail(MPI_ERR_DIMS, "dimension %d of %zu", dimension, dimensions);
  const auto in = static_cast<std::size_t>(dimension);
  *source = of.topology->shifted(static_cast<int>(of.rank), in, -std::int64_t{distance});
  *destination = of.topology->shifted(static_cast<int>(of.rank), in, distance);
  return MPI_SUCCESS;
}

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topology/grids.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "mpi/communicator/agree.hpp"
#include "mpi/communicator/create.hpp"
#include "mpi/communicator/make.hpp"
#include "mpi/error/error.hpp"
#include "mpi/rank/rank_state.hpp"
#include "mpi/topology/cartesian.hpp"

namespace weft::mpi {
namespace {

int refuse_no_grid() noexcept { return fail(MPI_ERR_TOPOLOGY, "the communicator has no cartesian topology"); }

int check_grid(const described_grid& described, std::uint32_t processes) noexcept {
  if (described.count < 0) return fail(MPI_ERR_DIMS, "%d dimensions", described.count);
  std::int64_t size = 1;
  for (int dimension = 0; dimension < described.count; ++dimension) {
    if (described.lengths[dimension] <= 0)
      return fail(MPI_ERR_DIMS, "dimension %d has the length %d", dimension, described.lengths[dimension]);
    size *= described.lengths[dimension];
    if (size > processes)
      return fail(MPI_ERR_DIMS, "the grid has more ranks than the %u of the communicator", processes);
  }
  return MPI_SUCCESS;
}

std::shared_ptr<const cartesian> grid_of(const described_grid& described) {
  std::vector<cartesian::dimension> dimensions;
  for (int dimension = 0; dimension < described.count; ++dimension)
    dimensions.push_back({described.lengths[dimension], described.are_periodic[dimension] != 0});
  return std::make_shared<cartesian>(std::move(dimensions));
}

// The first members of `old`, as many as the grid has ranks.
shared_group first_members(const communicator& old, int count) {
  if (static_cast<std::uint32_t>(count) == old.size) return old.local;
  const std::vector<std::uint32_t>& all = old.local->world_ranks();
  return std::make_shared<process_group>(std::vector<std::uint32_t>{all.begin(), all.begin() + count});
}

int check_room(const communicator& comm, int room) noexcept {
  if (comm.topology == nullptr) return refuse_no_grid();
  const std::size_t dimensions = comm.topology->dimensions().size();
  if (room >= 0 && static_cast<std::size_t>(room) >= dimensions) return MPI_SUCCESS;
  return fail(MPI_ERR_ARG, "room for %d of %zu dimensions", room, dimensions);
}

void write_coordinates(const cartesian& grid, int rank, int* out) noexcept {
  for (std::size_t dimension = 0; dimension < grid.dimensions().size(); ++dimension)
    out[dimension] = grid.coordinate(rank, dimension);
}

}  // namespace

int create_grid(rank_state& rank, communicator& old, const described_grid& described, MPI_Comm* out) noexcept {
  return guarded([&] {
    if (const int error = check_grid(described, old.size); error != MPI_SUCCESS) return error;
    std::shared_ptr<const cartesian> grid = grid_of(described);
    agreement all = proposal(rank, old, matching_kind::in_order);
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

int create_slice(rank_state& rank, communicator& comm, const int* remains, MPI_Comm* out) noexcept {
  return guarded([&] {
    if (comm.topology == nullptr) return refuse_no_grid();
    const cartesian& whole = *comm.topology;
    if (remains == nullptr && !whole.dimensions().empty()) return fail(MPI_ERR_ARG, "a null pointer for dimensions");
    const int me = static_cast<int>(comm.rank);
    std::vector<cartesian::dimension> dimensions;
    std::int64_t slice = 0;
    for (std::size_t dimension = 0; dimension < whole.dimensions().size(); ++dimension) {
      if (remains[dimension] != 0) {
        dimensions.push_back(whole.dimensions()[dimension]);
      } else {
        slice = slice * whole.dimensions()[dimension].length + whole.coordinate(me, dimension);
      }
    }
    auto grid = std::make_shared<cartesian>(std::move(dimensions));
    communicator& made = *split_by(rank, comm, slice, me);
    made.topology = std::move(grid);
    *out = handle_of(rank, made);
    return MPI_SUCCESS;
  });
}

int map_to_grid(const communicator& comm, const described_grid& to, int* out) noexcept {
  if (const int error = check_grid(to, comm.size); error != MPI_SUCCESS) return error;
  std::uint32_t size = 1;
  for (int dimension = 0; dimension < to.count; ++dimension) size *= static_cast<std::uint32_t>(to.lengths[dimension]);
  *out = comm.rank < size ? static_cast<int>(comm.rank) : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int kind_of_topology(const communicator& comm) noexcept { return comm.topology != nullptr ? MPI_CART : MPI_UNDEFINED; }

int get_dimension_count(const communicator& comm, int* out) noexcept {
  if (comm.topology == nullptr) return refuse_no_grid();
  *out = static_cast<int>(comm.topology->dimensions().size());
  return MPI_SUCCESS;
}

int get_grid(const communicator& comm, int room, int* lengths, int* are_periodic, int* coordinates) noexcept {
  if (const int error = check_room(comm, room); error != MPI_SUCCESS) return error;
  for (const auto [length, is_periodic] : comm.topology->dimensions()) {
    *lengths++ = length;
    *are_periodic++ = is_periodic ? 1 : 0;
  }
  write_coordinates(*comm.topology, static_cast<int>(comm.rank), coordinates);
  return MPI_SUCCESS;
}

int get_coordinates(const communicator& comm, int rank, int room, int* out) noexcept {
  if (const int error = check_room(comm, room); error != MPI_SUCCESS) return error;
  write_coordinates(*comm.topology, rank, out);
  return MPI_SUCCESS;
}

int get_rank(const communicator& comm, const int* coordinates, int* out) noexcept {
  if (comm.topology == nullptr) return refuse_no_grid();
  if (coordinates == nullptr && !comm.topology->dimensions().empty())
    return fail(MPI_ERR_ARG, "a null pointer for coordinates");
  const int found = comm.topology->rank_at(coordinates);
  if (found == MPI_PROC_NULL)
    return fail(MPI_ERR_ARG, "coordinates beyond the end of a dimension that is not periodic");
  *out = found;
  return MPI_SUCCESS;
}

int get_shift(const communicator& comm, int dimension, int distance, int* source, int* destination) noexcept {
  if (comm.topology == nullptr) return refuse_no_grid();
  const std::size_t dimensions = comm.topology->dimensions().size();
  if (dimension < 0 || static_cast<std::size_t>(dimension) >= dimensions)
    return fail(MPI_ERR_DIMS, "dimension %d of %zu", dimension, dimensions);
  const auto index = static_cast<std::size_t>(dimension);
  *source = comm.topology->shifted(static_cast<int>(comm.rank), index, -std::int64_t{distance});
  *destination = comm.topology->shifted(static_cast<int>(comm.rank), index, distance);
  return MPI_SUCCESS;
}

}  // namespace weft::mpi

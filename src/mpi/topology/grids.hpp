// SPDX-License-Identifier: BSD-3-Clause
// Communicators with a cartesian topology.
#pragma once

#include "mpi.h"

namespace weft::mpi {

struct communicator;
struct rank_state;

/// A grid as programs describe it.
struct described_grid {
  int count;  // dimensions
  const int* lengths;
  const int* are_periodic;
};

/// MPI_Cart_create. Ranks keep their order, as the standard allows.
int create_grid(rank_state& rank, communicator& old, const described_grid& described, MPI_Comm* out) noexcept;
/// MPI_Cart_sub: the slices in which the dimensions remain that `remains` names.
int create_slice(rank_state& rank, communicator& comm, const int* remains, MPI_Comm* out) noexcept;
/// MPI_Cart_map: the rank here of the calling process in such a grid.
int map_to_grid(const communicator& comm, const described_grid& to, int* out) noexcept;

/// MPI_CART or MPI_UNDEFINED.
[[nodiscard]] int kind_of_topology(const communicator& comm) noexcept;
int get_dimension_count(const communicator& comm, int* out) noexcept;
/// MPI_Cart_get: lists of `room` elements.
int get_grid(const communicator& comm, int room, int* lengths, int* are_periodic, int* coordinates) noexcept;
int get_coordinates(const communicator& comm, int rank, int room, int* out) noexcept;
int get_rank(const communicator& comm, const int* coordinates, int* out) noexcept;
int get_shift(const communicator& comm, int dimension, int distance, int* source, int* destination) noexcept;

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Packs and unpacks: runs a dataloop over any bytes of its data, in either direction. Each send and receive of a
// derived type passes here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi/datatype/dataloop.hpp"

namespace weft::mpi {

/// Copies bytes `offset` to `offset + bytes - 1` of the data at `address` to `to`. The address may be null: the
/// displacements are addresses then. Cost: one pass over the blocks; to find the first one, a division for each loop
/// and a search by halves for each list.
void pack_bytes(const part& from, const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) noexcept;

/// Copies `bytes` bytes from `from` to where byte `offset` of the data at `address` and those behind it belong.
void unpack_bytes(const part& to, void* address, std::uint64_t offset, const std::byte* from,
                  std::size_t bytes) noexcept;

}  // namespace weft::mpi

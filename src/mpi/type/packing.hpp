// SPDX-License-Identifier: BSD-3-Clause
// MPI_Pack, MPI_Unpack and their sizes. `Bytes` is the type of positions, int or a longer one.
#pragma once

#include "mpi.h"
#include "mpi/check/types.hpp"
#include "mpi/datatype/packed_buffer.hpp"
#include "mpi/message/typed_buffer.hpp"
#include "mpi/type/inquiries.hpp"

namespace weft::mpi {

/// Packed bytes of a caller's, and the position in them.
template <class Bytes>
struct packed {
  MPI_Count bytes;
  Bytes* position;
};
template <class Bytes>
packed(MPI_Count, Bytes*) -> packed<Bytes>;

template <class Bytes>
int pack(const typed_bytes& from, packing format, void* to, packed<Bytes> room) noexcept {
  std::int64_t position = *room.position;
  const error_class failure = pack(from.type, from.address, from.count, format, to, room.bytes, position);
  *room.position = static_cast<Bytes>(position);
  return static_cast<int>(failure);
}

template <class Bytes>
int unpack(const typed_buffer& into, packing format, const void* from, packed<Bytes> room) noexcept {
  std::int64_t position = *room.position;
  const error_class failure = unpack(into.type, into.address, into.count, format, from, room.bytes, position);
  *room.position = static_cast<Bytes>(position);
  return static_cast<int>(failure);
}

template <class Bytes>
int pack_external(const char* datarep, const typed_bytes& from, void* to, packed<Bytes> room) noexcept {
  const error_class failure = check::datarep(datarep);
  return failure != error_class::success ? static_cast<int>(failure) : pack(from, packing::external32, to, room);
}

template <class Bytes>
int unpack_external(const char* datarep, const typed_buffer& into, const void* from, packed<Bytes> room) noexcept {
  const error_class failure = check::datarep(datarep);
  return failure != error_class::success ? static_cast<int>(failure) : unpack(into, packing::external32, from, room);
}

template <class Bytes>
int pack_size(const datatype& type, MPI_Count count, packing format, Bytes* size) noexcept {
  std::int64_t bytes = 0;
  const error_class failure = packed_bytes_of(type, count, format, bytes);
  return failure != error_class::success ? static_cast<int>(failure) : write_number(size, bytes);
}

template <class Bytes>
int pack_external_size(const char* datarep, const datatype& type, MPI_Count count, Bytes* size) noexcept {
  const error_class failure = check::datarep(datarep);
  return failure != error_class::success ? static_cast<int>(failure)
                                         : pack_size(type, count, packing::external32, size);
}

}  // namespace weft::mpi

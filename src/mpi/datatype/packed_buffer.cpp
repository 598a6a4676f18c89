// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/packed_buffer.hpp"

#include "mpi/datatype/elements.hpp"
#include "mpi/datatype/external32.hpp"

namespace weft::mpi {

namespace {

// Finds the bytes that `count` elements take at `position` of so many packed ones.
error_class find_room(const datatype& type, std::int64_t count, packing format, const void* packed,
                      std::int64_t packed_bytes, std::int64_t position, std::int64_t& bytes) noexcept {
  const error_class failure = packed_bytes_of(type, count, format, bytes);
  if (failure != error_class::success) return failure;
  if (packed_bytes < 0 || position < 0 || position > packed_bytes) return error_class::argument;
  if (bytes > packed_bytes - position) return error_class::truncate;
  return packed == nullptr && bytes != 0 ? error_class::buffer : error_class::success;
}

}  // namespace

error_class packed_bytes_of(const datatype& type, std::int64_t count, packing format, std::int64_t& bytes) noexcept {
  if (count < 0) return error_class::count;
  if (type.is_absent()) return error_class::type;
  const std::optional<std::int64_t> element_bytes = format == packing::native ? type.size() : external_bytes_of(type);
  const bool fits = element_bytes && !__builtin_mul_overflow(*element_bytes, count, &bytes);
  return fits ? error_class::success : error_class::value_too_large;
}

error_class pack(const datatype& type, const void* address, std::int64_t count, packing format, void* to,
                 std::int64_t to_bytes, std::int64_t& position) noexcept {
  std::int64_t bytes = 0;
  const error_class failure = find_room(type, count, format, to, to_bytes, position, bytes);
  if (failure != error_class::success || bytes == 0) return failure;
  std::byte* const begin = static_cast<std::byte*>(to) + position;
  if (format == packing::native) {
    type.pack(address, 0, begin, static_cast<std::size_t>(bytes));
  } else {
    write_external(type, address, count, begin);
  }
  position += bytes;
  return error_class::success;
}

error_class unpack(const datatype& type, void* address, std::int64_t count, packing format, const void* from,
                   std::int64_t from_bytes, std::int64_t& position) noexcept {
  std::int64_t bytes = 0;
  const error_class failure = find_room(type, count, format, from, from_bytes, position, bytes);
  if (failure != error_class::success || bytes == 0) return failure;
  const std::byte* const begin = static_cast<const std::byte*>(from) + position;
  if (format == packing::native) {
    type.unpack(address, 0, begin, static_cast<std::size_t>(bytes));
  } else {
    read_external(type, address, count, begin);
  }
  position += bytes;
  return error_class::success;
}

}  // namespace weft::mpi

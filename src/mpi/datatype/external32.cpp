// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/external32.hpp"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cstring>

namespace weft::mpi {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers are reversed");
static_assert(LDBL_MANT_DIG == 64 || LDBL_MANT_DIG == 113, "long doubles of x87, or quads");

// A long double of x87 as a quad, little endian, and back: a fraction of 112 bits, and no leading 1.
void quad_of_extended(const std::byte* extended, std::byte* quad) noexcept {
  std::uint64_t significand = 0;
  std::uint16_t head = 0;
  std::memcpy(&significand, extended, 8);
  std::memcpy(&head, extended + 8, 2);
  if ((head & 0x7fff) == 0 && significand >> 63 != 0) head |= 1;  // what x87 calls pseudo-denormal
  const std::uint64_t fraction = significand << 1;                // 63 bits, at the top of 112
  const std::uint64_t low = fraction << 48, high = fraction >> 16 | std::uint64_t{head} << 48;
  std::memcpy(quad, &low, 8);
  std::memcpy(quad + 8, &high, 8);
}

void extended_of_quad(const std::byte* quad, std::byte* extended) noexcept {
  std::uint64_t low = 0, high = 0;
  std::memcpy(&low, quad, 8);
  std::memcpy(&high, quad + 8, 8);
  auto head = static_cast<std::uint16_t>(high >> 48);
  const std::uint64_t fraction = (high & 0xffff'ffff'ffff) << 15 | low >> 49;
  const std::uint64_t lost = low & ((std::uint64_t{1} << 49) - 1), half = std::uint64_t{1} << 48;
  std::uint64_t significand = fraction | ((head & 0x7fff) != 0 ? std::uint64_t{1} << 63 : 0);
  if ((head & 0x7fff) == 0x7fff) {
    if (lost != 0) significand |= std::uint64_t{1} << 62;  // still no number
  } else if (lost > half || (lost == half && (significand & 1) != 0)) {
    ++significand;
    if (significand == 0 || ((head & 0x7fff) == 0 && significand >> 63 != 0)) {
      significand = std::uint64_t{1} << 63;
      ++head;
    }
  }
  std::memset(extended, 0, 16);
  std::memcpy(extended, &significand, 8);
  std::memcpy(extended + 8, &head, 2);
}

// One number of a basic type; a complex one has two.
struct number {
  std::size_t bytes;
  std::size_t external_bytes;
  representation is;
  bool is_long_double;  // x87's, which has 80 bits
};

number number_of(const basic& type) noexcept {
  const std::size_t parts = type.is == representation::complex ? 2 : 1;
  const bool is_long = std::string_view{type.name}.find("LONG_DOUBLE") != std::string_view::npos;
  return {type.bytes / parts, type.external_bytes / parts, type.is, is_long && LDBL_MANT_DIG == 64};
}

void write_number(const number& format, const std::byte* memory, std::byte* to) noexcept {
  if (format.is_long_double) {
    std::byte quad[16];
    quad_of_extended(memory, quad);
    std::reverse_copy(quad, quad + 16, to);
  } else {
    std::reverse_copy(memory, memory + format.external_bytes, to);
  }
}

void read_number(const number& format, const std::byte* from, std::byte* memory) noexcept {
  if (format.is_long_double) {
    std::byte quad[16];
    std::reverse_copy(from, from + 16, quad);
    extended_of_quad(quad, memory);
    return;
  }
  if (format.is == representation::boolean) {  // any byte but 0 is true, and memory knows no other true than 1
    *memory = std::byte{from[0] != std::byte{0}};
    return;
  }
  std::reverse_copy(from, from + format.external_bytes, memory);
  const bool is_negative = format.is == representation::signed_integer && (from[0] & std::byte{0x80}) != std::byte{0};
  std::fill(memory + format.external_bytes, memory + format.bytes, is_negative ? std::byte{0xff} : std::byte{0});
}

// Calls `convert(number, address, external bytes)` for each number of `count` elements, in their order.
template <class Convert>
void each_number(const datatype& type, std::uintptr_t address, std::int64_t count, const Convert& convert) noexcept {
  std::size_t external = 0;
  for (std::int64_t i = 0; i < count; ++i, address += static_cast<std::uintptr_t>(type.extent())) {
    each_block(type.map().elements(), 0, [&](std::int64_t displacement, std::int64_t bytes, const basic* element) {
      const number format = number_of(*element);
      const std::uintptr_t begin = address + static_cast<std::uintptr_t>(displacement);
      for (std::uintptr_t memory = begin; memory != begin + static_cast<std::uintptr_t>(bytes);
           memory += format.bytes) {
        convert(format, memory, external);
        external += format.external_bytes;
      }
    });
  }
}

}  // namespace

void write_external(const datatype& type, const void* address, std::int64_t count, std::byte* to) noexcept {
  each_number(type, reinterpret_cast<std::uintptr_t>(address), count,
              [&](const number& format, std::uintptr_t memory, std::size_t external) {
                write_number(format, reinterpret_cast<const std::byte*>(memory), to + external);
              });
}

void read_external(const datatype& type, void* address, std::int64_t count, const std::byte* from) noexcept {
  each_number(type, reinterpret_cast<std::uintptr_t>(address), count,
              [&](const number& format, std::uintptr_t memory, std::size_t external) {
                read_number(format, from + external, reinterpret_cast<std::byte*>(memory));
              });
}

}  // namespace weft::mpi

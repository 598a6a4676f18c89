// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/basic.hpp"

#include <algorithm>
#include <complex>
#include <cwchar>

namespace weft::mpi {

namespace {

using enum representation;

template <class Type>
constexpr basic row(std::uint32_t handle, std::uint32_t external_bytes, representation is, const char* name) noexcept {
  return {handle, sizeof(Type), alignof(Type), external_bytes, is, name};
}

struct alignas(2) half {
  std::byte bytes[2];
};
struct alignas(2) complex_of_halves {
  std::byte bytes[4];
};
struct alignas(16) sixteen_bytes {
  std::byte bytes[16];
};
struct alignas(16) complex_of_sixteen {
  std::byte bytes[32];
};

constexpr basic table[] = {
    row<std::intptr_t>(0x201, 8, signed_integer, "MPI_AINT"),
    row<std::int64_t>(0x202, 8, signed_integer, "MPI_COUNT"),
    row<std::int64_t>(0x203, 8, signed_integer, "MPI_OFFSET"),
    row<std::byte>(0x207, 1, bytes, "MPI_PACKED"),
    row<short>(0x208, 2, signed_integer, "MPI_SHORT"),
    row<int>(0x209, 4, signed_integer, "MPI_INT"),
    row<long>(0x20a, 4, signed_integer, "MPI_LONG"),
    row<long long>(0x20b, 8, signed_integer, "MPI_LONG_LONG"),
    row<unsigned short>(0x20c, 2, unsigned_integer, "MPI_UNSIGNED_SHORT"),
    row<unsigned>(0x20d, 4, unsigned_integer, "MPI_UNSIGNED"),
    row<unsigned long>(0x20e, 4, unsigned_integer, "MPI_UNSIGNED_LONG"),
    row<unsigned long long>(0x20f, 8, unsigned_integer, "MPI_UNSIGNED_LONG_LONG"),
    row<float>(0x210, 4, real, "MPI_FLOAT"),
    row<std::complex<float>>(0x212, 8, complex, "MPI_C_FLOAT_COMPLEX"),
    row<std::complex<float>>(0x213, 8, complex, "MPI_CXX_FLOAT_COMPLEX"),
    row<double>(0x214, 8, real, "MPI_DOUBLE"),
    row<std::complex<double>>(0x216, 16, complex, "MPI_C_DOUBLE_COMPLEX"),
    row<std::complex<double>>(0x217, 16, complex, "MPI_CXX_DOUBLE_COMPLEX"),
    row<long double>(0x220, 16, real, "MPI_LONG_DOUBLE"),
    row<std::complex<long double>>(0x224, 32, complex, "MPI_C_LONG_DOUBLE_COMPLEX"),
    row<std::complex<long double>>(0x225, 32, complex, "MPI_CXX_LONG_DOUBLE_COMPLEX"),
    row<bool>(0x238, 1, boolean, "MPI_C_BOOL"),
    row<bool>(0x239, 1, boolean, "MPI_CXX_BOOL"),
    row<wchar_t>(0x23c, 2, unsigned_integer, "MPI_WCHAR"),
    row<std::int8_t>(0x240, 1, signed_integer, "MPI_INT8_T"),
    row<std::uint8_t>(0x241, 1, unsigned_integer, "MPI_UINT8_T"),
    row<char>(0x243, 1, bytes, "MPI_CHAR"),
    row<signed char>(0x244, 1, signed_integer, "MPI_SIGNED_CHAR"),
    row<unsigned char>(0x245, 1, unsigned_integer, "MPI_UNSIGNED_CHAR"),
    row<std::byte>(0x247, 1, bytes, "MPI_BYTE"),
    row<std::int16_t>(0x248, 2, signed_integer, "MPI_INT16_T"),
    row<std::uint16_t>(0x249, 2, unsigned_integer, "MPI_UINT16_T"),
    row<std::int32_t>(0x250, 4, signed_integer, "MPI_INT32_T"),
    row<std::uint32_t>(0x251, 4, unsigned_integer, "MPI_UINT32_T"),
    row<std::int64_t>(0x258, 8, signed_integer, "MPI_INT64_T"),
    row<std::uint64_t>(0x259, 8, unsigned_integer, "MPI_UINT64_T"),
    row<std::int8_t>(0x2c0, 1, signed_integer, "MPI_LOGICAL1"),
    row<std::int8_t>(0x2c1, 1, signed_integer, "MPI_INTEGER1"),
    row<std::int16_t>(0x2c8, 2, signed_integer, "MPI_LOGICAL2"),
    row<std::int16_t>(0x2c9, 2, signed_integer, "MPI_INTEGER2"),
    row<half>(0x2ca, 2, real, "MPI_REAL2"),
    row<std::int32_t>(0x2d0, 4, signed_integer, "MPI_LOGICAL4"),
    row<std::int32_t>(0x2d1, 4, signed_integer, "MPI_INTEGER4"),
    row<float>(0x2d2, 4, real, "MPI_REAL4"),
    row<complex_of_halves>(0x2d3, 4, complex, "MPI_COMPLEX4"),
    row<std::int64_t>(0x2d8, 8, signed_integer, "MPI_LOGICAL8"),
    row<std::int64_t>(0x2d9, 8, signed_integer, "MPI_INTEGER8"),
    row<double>(0x2da, 8, real, "MPI_REAL8"),
    row<std::complex<float>>(0x2db, 8, complex, "MPI_COMPLEX8"),
    row<sixteen_bytes>(0x2e0, 16, signed_integer, "MPI_LOGICAL16"),
    row<sixteen_bytes>(0x2e1, 16, signed_integer, "MPI_INTEGER16"),
    row<sixteen_bytes>(0x2e2, 16, real, "MPI_REAL16"),
    row<std::complex<double>>(0x2e3, 16, complex, "MPI_COMPLEX16"),
    row<complex_of_sixteen>(0x2eb, 32, complex, "MPI_COMPLEX32"),
};

constexpr absent_type absent[] = {
    {0x218, "MPI_LOGICAL", default_kind::logical, default_form::number},
    {0x219, "MPI_INTEGER", default_kind::integer, default_form::number},
    {0x21a, "MPI_REAL", default_kind::real, default_form::number},
    {0x21b, "MPI_COMPLEX", default_kind::real, default_form::complex},
    {0x21c, "MPI_DOUBLE_PRECISION", default_kind::double_precision, default_form::number},
    {0x21d, "MPI_DOUBLE_COMPLEX", default_kind::double_precision, default_form::complex},
    {0x21e, "MPI_CHARACTER", default_kind::character, default_form::number},
    {0x230, "MPI_2REAL", default_kind::real, default_form::pair},
    {0x231, "MPI_2DOUBLE_PRECISION", default_kind::double_precision, default_form::pair},
    {0x232, "MPI_2INTEGER", default_kind::integer, default_form::pair},
};

constexpr std::uint32_t index_of_pairs = 0x209;  // MPI_INT
constexpr basic_pair pairs[] = {
    {0x228, 0x210, index_of_pairs, "MPI_FLOAT_INT"}, {0x229, 0x214, index_of_pairs, "MPI_DOUBLE_INT"},
    {0x22a, 0x20a, index_of_pairs, "MPI_LONG_INT"},  {0x22b, 0x209, index_of_pairs, "MPI_2INT"},
    {0x22c, 0x208, index_of_pairs, "MPI_SHORT_INT"}, {0x22d, 0x220, index_of_pairs, "MPI_LONG_DOUBLE_INT"},
};

constexpr bool is_encoded(const basic& type) noexcept {
  return encoded_bytes(type.handle) == 0 || encoded_bytes(type.handle) == type.bytes;
}
static_assert(std::ranges::all_of(table, is_encoded), "a handle of a fixed-size type has its size");
static_assert(std::ranges::is_sorted(table, {}, &basic::handle), "find_basic searches by halves");

}  // namespace

std::span<const basic> basics() noexcept { return table; }
std::span<const basic_pair> basic_pairs() noexcept { return pairs; }
std::span<const absent_type> absent_types() noexcept { return absent; }

const basic* find_basic(std::uint32_t handle) noexcept {
  const basic* const found = std::ranges::lower_bound(table, handle, {}, &basic::handle);
  return found != std::end(table) && found->handle == handle ? found : nullptr;
}

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/predefined_reductions.hpp"

#include <algorithm>
#include <complex>
#include <functional>

#include "mpi/objects/fortran_numbers.hpp"

namespace weft::mpi {
namespace {

enum column : std::uint8_t { none, sum, min, max, product, band, bor, bxor, land, lor, lxor, min_located, max_located };
static_assert(max_located + 1 == detail::reduction_columns);

struct operation_handle {
  std::uintptr_t handle;
  column column_index;
};
// mpi.h has handles as pointers, which are no constants.
constexpr operation_handle operation_handles[] = {
    {0x21, sum},  {0x22, min},  {0x23, max}, {0x24, product}, {0x28, band},        {0x29, bor},
    {0x2a, bxor}, {0x30, land}, {0x31, lor}, {0x32, lxor},    {0x38, min_located}, {0x39, max_located},
};

using row = detail::reduction_row;

template <class Value, class Callable>
constexpr void add(row& to, column column_index) noexcept {
  to[column_index] = reduction::callable<Value, Callable>();
}
template <class Value>
constexpr void add_sums(row& to) noexcept {
  add<Value, std::plus<>>(to, sum);
  add<Value, std::multiplies<>>(to, product);
}
template <class Value>
constexpr void add_extremes(row& to) noexcept {
  add<Value, reductions::min>(to, min);
  add<Value, reductions::max>(to, max);
}
template <class Value>
constexpr void add_logicals(row& to) noexcept {
  add<Value, std::logical_and<>>(to, land);
  add<Value, std::logical_or<>>(to, lor);
  add<Value, reductions::logical_xor>(to, lxor);
}
template <class Value>
constexpr void add_bits(row& to) noexcept {
  add<Value, std::bit_and<>>(to, band);
  add<Value, std::bit_or<>>(to, bor);
  add<Value, std::bit_xor<>>(to, bxor);
}

// Functions that fill a row.
template <class Value>
constexpr void integer(row& to) noexcept {
  add_sums<Value>(to);
  add_extremes<Value>(to);
  add_logicals<Value>(to);
  add_bits<Value>(to);
}
template <class Value>
constexpr void floating(row& to) noexcept {
  add_sums<Value>(to);
  add_extremes<Value>(to);
}
template <class Value>
constexpr void pair(row& to) noexcept {
  add<packed_pair<Value>, smaller_of_pairs>(to, min_located);
  add<packed_pair<Value>, larger_of_pairs>(to, max_located);
}
constexpr void no_operation(row& /*to*/) noexcept {}

struct type_handles {
  void (*fill)(row& to) noexcept;
  std::array<std::uint16_t, 8> handles;  // 0 fills the rest
};
constexpr type_handles table[] = {
    {no_operation, {}},
    // Integers: MPI_SIGNED_CHAR, INT8_T, INTEGER1; SHORT, INT16_T, INTEGER2; INT, INT32_T, INTEGER4; LONG, LONG_LONG,
    // INT64_T, INTEGER8, AINT, COUNT, OFFSET.
    {integer<std::int8_t>, {0x244, 0x240, 0x2c1}},
    // MPI_CHAR, which the standard leaves out and other libraries take, as the compiler's `char`.
    {integer<char>, {0x243}},
    {integer<std::int16_t>, {0x208, 0x248, 0x2c9}},
    {integer<std::int32_t>, {0x209, 0x250, 0x2d1}},
    {integer<std::int64_t>, {0x20a, 0x20b, 0x258, 0x2d9, 0x201, 0x202, 0x203}},
    {integer<int128>, {0x2e1}},
    // MPI_UNSIGNED_CHAR, UINT8_T; UNSIGNED_SHORT, UINT16_T; UNSIGNED, UINT32_T; UNSIGNED_LONG, UNSIGNED_LONG_LONG,
    // UINT64_T.
    {integer<std::uint8_t>, {0x245, 0x241}},
    {integer<std::uint16_t>, {0x20c, 0x249}},
    {integer<std::uint32_t>, {0x20d, 0x251}},
    {integer<std::uint64_t>, {0x20e, 0x20f, 0x259}},
    // MPI_REAL2; FLOAT, REAL4; DOUBLE, REAL8; LONG_DOUBLE; REAL16.
    {floating<half>, {0x2ca}},
    {floating<float>, {0x210, 0x2d2}},
    {floating<double>, {0x214, 0x2da}},
    {floating<long double>, {0x220}},
    {floating<quad>, {0x2e2}},
    // MPI_COMPLEX4; C_FLOAT_COMPLEX, CXX_FLOAT_COMPLEX, COMPLEX8; those of double, COMPLEX16; of long double;
    // COMPLEX32.
    {add_sums<complex_of<half>>, {0x2d3}},
    {add_sums<std::complex<float>>, {0x212, 0x213, 0x2db}},
    {add_sums<std::complex<double>>, {0x216, 0x217, 0x2e3}},
    {add_sums<std::complex<long double>>, {0x224, 0x225}},
    {add_sums<complex_of<quad>>, {0x2eb}},
    // MPI_C_BOOL, CXX_BOOL; LOGICAL1 to LOGICAL16.
    {add_logicals<bool>, {0x238, 0x239}},
    {add_logicals<std::int8_t>, {0x2c0}},
    {add_logicals<std::int16_t>, {0x2c8}},
    {add_logicals<std::int32_t>, {0x2d0}},
    {add_logicals<std::int64_t>, {0x2d8}},
    {add_logicals<int128>, {0x2e0}},
    {add_bits<std::uint8_t>, {0x247}},  // MPI_BYTE
    // MPI_FLOAT_INT, DOUBLE_INT, LONG_INT, 2INT, SHORT_INT, LONG_DOUBLE_INT.
    {pair<float>, {0x228}},
    {pair<double>, {0x229}},
    {pair<std::int64_t>, {0x22a}},
    {pair<std::int32_t>, {0x22b}},
    {pair<std::int16_t>, {0x22c}},
    {pair<long double>, {0x22d}},
};

constexpr std::array<row, std::size(table)> rows = [] {
  std::array<row, std::size(table)> out{};
  for (std::size_t index = 0; index < out.size(); ++index) table[index].fill(out[index]);
  return out;
}();

struct pair_reductions {
  std::uintptr_t number;
  reduction min_located, max_located;
};
template <class Number>
constexpr pair_reductions pair_of(std::uintptr_t number) noexcept {
  using pair = packed_pair<Number, Number>;
  static_assert(sizeof(pair) == 2 * sizeof(Number));
  return {number, reduction::callable<pair, smaller_of_pairs>(), reduction::callable<pair, larger_of_pairs>()};
}
// MPI_INTEGER1 to INTEGER16, MPI_REAL4 to REAL16.
constexpr pair_reductions pairs[] = {
    pair_of<std::int8_t>(0x2c1),  pair_of<std::int16_t>(0x2c9), pair_of<std::int32_t>(0x2d1),
    pair_of<std::int64_t>(0x2d9), pair_of<int128>(0x2e1),       pair_of<float>(0x2d2),
    pair_of<double>(0x2da),       pair_of<quad>(0x2e2),
};

}  // namespace

const reduction* find_reduction_of_pair(std::uintptr_t operation, std::uintptr_t number) noexcept {
  const std::uintptr_t op = operation - detail::first_operation;
  const auto* const found = std::ranges::find(pairs, number, &pair_reductions::number);
  if (op >= detail::operations || found == std::end(pairs)) return nullptr;
  const std::uint8_t column = detail::column_of_operation[op];
  if (column == min_located) return &found->min_located;
  return column == max_located ? &found->max_located : nullptr;
}

namespace detail {

constexpr std::array<std::uint8_t, operations> column_of_operation = [] {
  std::array<std::uint8_t, operations> out{};
  for (const operation_handle& each : operation_handles) out[each.handle - first_operation] = each.column_index;
  return out;
}();

constexpr std::array<std::uint8_t, types> row_of_type = [] {
  std::array<std::uint8_t, types> out{};
  for (std::size_t index = 0; index < std::size(table); ++index) {
    for (const std::uint16_t handle : table[index].handles) {
      if (handle != 0) out[handle - first_type] = static_cast<std::uint8_t>(index);
    }
  }
  return out;
}();

constexpr const reduction_row* const reduction_rows = rows.data();

}  // namespace detail

}  // namespace weft::mpi

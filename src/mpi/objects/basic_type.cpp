#include "mpi/objects/basic_type.hpp"

#include <array>
#include <cstddef>
#include <cwchar>

#include "mpi/objects/object.hpp"

namespace weft::mpi {
namespace {

constexpr std::uintptr_t handles_begin = 0x200;
constexpr std::size_t handles = 0x100;
using table = std::array<basic_type, handles>;

template <class Value>
struct with_index {
  Value value;
  int index;
};

// Handles are addresses, which constant expressions may not turn into numbers: the table is made at the first use.
template <class Value>
void add(table& to, MPI_Datatype handle, type_class of) noexcept {
  to[number_of(handle) - handles_begin] = {.of = of, .bytes = sizeof(Value), .extent = sizeof(Value)};
}

template <class Value>
void add_pair(table& to, MPI_Datatype handle, bool is_floating) noexcept {
  to[number_of(handle) - handles_begin] = {.of = type_class::pair,
                                           .bytes = sizeof(Value) + sizeof(int),
                                           .extent = sizeof(with_index<Value>),
                                           .value_bytes = sizeof(Value),
                                           .has_floating_value = is_floating};
}

void add_of_c(table& to) noexcept {
  using enum type_class;
  add<MPI_Aint>(to, MPI_AINT, signed_integer);
  add<MPI_Count>(to, MPI_COUNT, signed_integer);
  add<MPI_Offset>(to, MPI_OFFSET, signed_integer);
  add<char>(to, MPI_PACKED, byte);
  add<short>(to, MPI_SHORT, signed_integer);
  add<int>(to, MPI_INT, signed_integer);
  add<long>(to, MPI_LONG, signed_integer);
  add<long long>(to, MPI_LONG_LONG, signed_integer);
  add<unsigned short>(to, MPI_UNSIGNED_SHORT, unsigned_integer);
  add<unsigned>(to, MPI_UNSIGNED, unsigned_integer);
  add<unsigned long>(to, MPI_UNSIGNED_LONG, unsigned_integer);
  add<unsigned long long>(to, MPI_UNSIGNED_LONG_LONG, unsigned_integer);
  add<float>(to, MPI_FLOAT, floating);
  add<double>(to, MPI_DOUBLE, floating);
  add<long double>(to, MPI_LONG_DOUBLE, floating);
  for (const MPI_Datatype each : {MPI_C_FLOAT_COMPLEX, MPI_CXX_FLOAT_COMPLEX}) add<float[2]>(to, each, complex);
  for (const MPI_Datatype each : {MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX}) add<double[2]>(to, each, complex);
  for (const MPI_Datatype each : {MPI_C_LONG_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX})
    add<long double[2]>(to, each, complex);
  add<bool>(to, MPI_C_BOOL, logical);
  add<bool>(to, MPI_CXX_BOOL, logical);
  add<wchar_t>(to, MPI_WCHAR, character);
  add<char>(to, MPI_CHAR, character);
  add<signed char>(to, MPI_SIGNED_CHAR, signed_integer);
  add<unsigned char>(to, MPI_UNSIGNED_CHAR, unsigned_integer);
  add<char>(to, MPI_BYTE, byte);
}

void add_of_fixed_size(table& to) noexcept {
  using enum type_class;
  add<std::int8_t>(to, MPI_INT8_T, signed_integer);
  add<std::int16_t>(to, MPI_INT16_T, signed_integer);
  add<std::int32_t>(to, MPI_INT32_T, signed_integer);
  add<std::int64_t>(to, MPI_INT64_T, signed_integer);
  add<std::uint8_t>(to, MPI_UINT8_T, unsigned_integer);
  add<std::uint16_t>(to, MPI_UINT16_T, unsigned_integer);
  add<std::uint32_t>(to, MPI_UINT32_T, unsigned_integer);
  add<std::uint64_t>(to, MPI_UINT64_T, unsigned_integer);
  add<std::int8_t>(to, MPI_INTEGER1, signed_integer);
  add<std::int16_t>(to, MPI_INTEGER2, signed_integer);
  add<std::int32_t>(to, MPI_INTEGER4, signed_integer);
  add<std::int64_t>(to, MPI_INTEGER8, signed_integer);
  add<float>(to, MPI_REAL4, floating);
  add<double>(to, MPI_REAL8, floating);
  add<float[2]>(to, MPI_COMPLEX8, complex);
  add<double[2]>(to, MPI_COMPLEX16, complex);
}

void add_pairs(table& to) noexcept {
  add_pair<float>(to, MPI_FLOAT_INT, true);
  add_pair<double>(to, MPI_DOUBLE_INT, true);
  add_pair<long double>(to, MPI_LONG_DOUBLE_INT, true);
  add_pair<short>(to, MPI_SHORT_INT, false);
  add_pair<int>(to, MPI_2INT, false);
  add_pair<long>(to, MPI_LONG_INT, false);
}

}  // namespace

basic_type basic_type_of(MPI_Datatype handle) noexcept {
  static const table all = [] {
    table out{};
    add_of_c(out);
    add_of_fixed_size(out);
    add_pairs(out);
    return out;
  }();
  const std::uintptr_t index = number_of(handle) - handles_begin;
  return index < handles ? all[index] : basic_type{};
}

}  // namespace weft::mpi

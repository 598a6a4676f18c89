// SPDX-License-Identifier: BSD-3-Clause
#include "basic_types.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <cwchar>
#include <string_view>
#include <type_traits>

#include "random_source.hpp"

namespace differential {
namespace {

template <class Value>
basic_type of(const char* name, MPI_Datatype type, family kind) {
  const std::size_t value_bytes = std::is_same_v<Value, long double> ? 10 : sizeof(Value);
  return {name, type, sizeof(Value), alignof(Value), kind, std::is_signed_v<Value>, value_bytes};
}

std::vector<basic_type> make_table() {
  using enum family;
  return {of<char>("char", MPI_CHAR, character),
          of<signed char>("signed char", MPI_SIGNED_CHAR, integer),
          of<unsigned char>("unsigned char", MPI_UNSIGNED_CHAR, integer),
          of<std::byte>("byte", MPI_BYTE, byte),
          of<short>("short", MPI_SHORT, integer),
          of<unsigned short>("unsigned short", MPI_UNSIGNED_SHORT, integer),
          of<int>("int", MPI_INT, integer),
          of<unsigned>("unsigned", MPI_UNSIGNED, integer),
          of<long>("long", MPI_LONG, integer),
          of<unsigned long>("unsigned long", MPI_UNSIGNED_LONG, integer),
          of<long long>("long long", MPI_LONG_LONG, integer),
          of<unsigned long long>("unsigned long long", MPI_UNSIGNED_LONG_LONG, integer),
          of<float>("float", MPI_FLOAT, floating),
          of<double>("double", MPI_DOUBLE, floating),
          of<long double>("long double", MPI_LONG_DOUBLE, floating),
          of<wchar_t>("wchar_t", MPI_WCHAR, character),
          of<bool>("bool", MPI_C_BOOL, logical),
          of<std::int8_t>("int8_t", MPI_INT8_T, integer),
          of<std::int16_t>("int16_t", MPI_INT16_T, integer),
          of<std::int32_t>("int32_t", MPI_INT32_T, integer),
          of<std::int64_t>("int64_t", MPI_INT64_T, integer),
          of<std::uint8_t>("uint8_t", MPI_UINT8_T, integer),
          of<std::uint16_t>("uint16_t", MPI_UINT16_T, integer),
          of<std::uint32_t>("uint32_t", MPI_UINT32_T, integer),
          of<std::uint64_t>("uint64_t", MPI_UINT64_T, integer),
          of<std::complex<float>>("complex float", MPI_C_FLOAT_COMPLEX, complex),
          of<std::complex<double>>("complex double", MPI_C_DOUBLE_COMPLEX, complex),
          of<MPI_Aint>("MPI_Aint", MPI_AINT, multi),
          of<MPI_Offset>("MPI_Offset", MPI_OFFSET, multi),
          of<MPI_Count>("MPI_Count", MPI_COUNT, multi)};
}

}  // namespace

const std::vector<basic_type>& basic_types() {
  static const std::vector<basic_type> all = make_table();
  return all;
}

int find_basic(const char* name) {
  int number = 0;
  for (const basic_type& each : basic_types()) {
    if (std::string_view{each.name} == name) return number;
    ++number;
  }
  return -1;
}

void write_value(void* to, const basic_type& type, std::uint64_t stream, std::uint64_t index) {
  const std::uint64_t bits = mix(stream * 0x2545f4914f6cdd1dU + index);
  if (type.of == family::logical) {
    *static_cast<bool*>(to) = (bits & 1) != 0;
  } else if (type.of == family::character && type.size == sizeof(wchar_t)) {
    const auto value = static_cast<wchar_t>(bits % 0x8000);  // external32 has two bytes for it
    std::memcpy(to, &value, sizeof value);
  } else if (type.type == MPI_LONG || type.type == MPI_UNSIGNED_LONG) {
    const auto value = static_cast<long>(bits % 0x80000000U);  // external32 has four
    std::memcpy(to, &value, sizeof value);
  } else if (type.value_bytes != type.size) {
    std::memset(to, 0, type.size);
    const auto value = static_cast<long double>(static_cast<std::int64_t>(bits)) / 1024;
    std::memcpy(to, &value, type.value_bytes);
  } else if (type.of == family::floating && type.size == sizeof(float)) {
    const float value = static_cast<float>(static_cast<std::int32_t>(bits)) / 64;
    std::memcpy(to, &value, sizeof value);
  } else if (type.of == family::floating) {
    const double value = static_cast<double>(static_cast<std::int64_t>(bits)) / 1024;
    std::memcpy(to, &value, sizeof value);
  } else {
    for (std::size_t done = 0; done < type.size; done += sizeof bits) {
      const std::uint64_t part = mix(bits + done);
      std::memcpy(static_cast<std::byte*>(to) + done, &part, std::min(sizeof part, type.size - done));
    }
  }
}

}  // namespace differential

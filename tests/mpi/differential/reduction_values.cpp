// SPDX-License-Identifier: BSD-3-Clause
#include "reduction_values.hpp"

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "scene.hpp"

namespace differential {
namespace {

using families = std::vector<family>;

struct operation {
  typed_operation of;
  families takes;
};

const std::vector<operation>& operations() {
  using enum family;
  static const std::vector<operation> all{
      {{"MPI_SUM", MPI_SUM, 0, [](long a, long b) { return a + b; }, 0, 20}, {integer, floating, complex, multi}},
      {{"MPI_PROD", MPI_PROD, 0, [](long a, long b) { return a * b; }, 1, 2}, {integer, floating, complex, multi}},
      {{"MPI_MAX", MPI_MAX, 0, [](long a, long b) { return std::max(a, b); }, 0, 100}, {integer, floating, multi}},
      {{"MPI_MIN", MPI_MIN, 0, [](long a, long b) { return std::min(a, b); }, 0, 100}, {integer, floating, multi}},
      {{"MPI_LAND", MPI_LAND, 0, [](long a, long b) { return long{a != 0 && b != 0}; }, 0, 1}, {integer, logical}},
      {{"MPI_LOR", MPI_LOR, 0, [](long a, long b) { return long{a != 0 || b != 0}; }, 0, 1}, {integer, logical}},
      {{"MPI_LXOR", MPI_LXOR, 0, [](long a, long b) { return long{(a != 0) != (b != 0)}; }, 0, 1}, {integer, logical}},
      {{"MPI_BAND", MPI_BAND, 0, [](long a, long b) { return a & b; }, 0, 63}, {integer, byte, multi}},
      {{"MPI_BOR", MPI_BOR, 0, [](long a, long b) { return a | b; }, 0, 63}, {integer, byte, multi}},
      {{"MPI_BXOR", MPI_BXOR, 0, [](long a, long b) { return a ^ b; }, 0, 63}, {integer, byte, multi}}};
  return all;
}

template <class Value>
void put(void* to, long value) {
  const auto typed = static_cast<Value>(value);
  std::memcpy(to, &typed, sizeof typed);
}

template <class Value>
Value get(const void* from) {
  Value out;
  std::memcpy(&out, from, sizeof out);
  return out;
}

}  // namespace

typed_operation draw_operation(random_source& random) {
  const operation& of = random.pick(operations());
  typed_operation out = of.of;
  do {
    out.basic = random.between(0, static_cast<int>(basic_types().size()) - 1);
  } while (std::find(of.takes.begin(), of.takes.end(), basic_types()[static_cast<std::size_t>(out.basic)].of) ==
           of.takes.end());
  return out;
}

void store(void* to, const basic_type& type, long value) {
  switch (type.of) {
    case family::floating:
      if (type.size == sizeof(float)) return put<float>(to, value);
      if (type.size == sizeof(double)) return put<double>(to, value);
      return put<long double>(to, value);
    case family::complex:
      if (type.size == sizeof(std::complex<float>)) return put<std::complex<float>>(to, value);
      return put<std::complex<double>>(to, value);
    case family::logical: return put<bool>(to, value);
    default: std::memcpy(to, &value, type.size);  // the lowest bytes are first
  }
}

long load(const void* from, const basic_type& type) {
  long out = 0;
  switch (type.of) {
    case family::floating:
      if (type.size == sizeof(float)) return static_cast<long>(get<float>(from));
      if (type.size == sizeof(double)) return static_cast<long>(get<double>(from));
      return static_cast<long>(get<long double>(from));
    case family::complex:
      if (type.size == sizeof(std::complex<float>)) return static_cast<long>(get<std::complex<float>>(from).real());
      return static_cast<long>(get<std::complex<double>>(from).real());
    case family::logical: return get<bool>(from) ? 1 : 0;
    default: std::memcpy(&out, from, type.size);  // no value is negative
  }
  return out;
}

}  // namespace differential

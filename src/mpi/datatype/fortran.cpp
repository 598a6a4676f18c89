// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/fortran.hpp"

#include <climits>
#include <map>
#include <mutex>
#include <tuple>

namespace weft::mpi {

namespace {

// The largest digits and range of a type, and its handle.
struct kind_of_number {
  int digits;
  int range;
  std::uint32_t handle;
};
constexpr kind_of_number reals[] = {{6, 37, 0x2d2}, {15, 307, 0x2da}, {33, 4931, 0x2e2}};
constexpr kind_of_number complexes[] = {{6, 37, 0x2db}, {15, 307, 0x2e3}, {33, 4931, 0x2eb}};
constexpr kind_of_number integers[] = {
    {INT_MAX, 2, 0x2c1}, {INT_MAX, 4, 0x2c9}, {INT_MAX, 9, 0x2d1}, {INT_MAX, 18, 0x2d9}, {INT_MAX, 38, 0x2e1}};

std::span<const kind_of_number> kinds(combiner kind) noexcept {
  if (kind == combiner::f90_real) return reals;
  if (kind == combiner::f90_complex) return complexes;
  return integers;
}

const basic* smallest(combiner kind, int digits, int range) noexcept {
  for (const kind_of_number& each : kinds(kind)) {
    if (digits <= each.digits && range <= each.range) return find_basic(each.handle);
  }
  return nullptr;
}

// MPI_UNDEFINED, as the contents of a type have it.
constexpr std::int64_t undefined = -32766;

constructor_arguments arguments_of(combiner kind, std::optional<int> digits, std::optional<int> range) {
  constructor_arguments out{.kind = kind};
  if (kind != combiner::f90_integer) out.numbers.push_back(digits ? *digits : undefined);
  out.numbers.push_back(range ? *range : undefined);
  return out;
}

}  // namespace

const datatype* find_of_fortran(combiner kind, std::optional<int> digits, std::optional<int> range) {
  if (!digits && !range) return nullptr;
  const int needed_digits = digits.value_or(0), needed_range = range.value_or(0);
  if (needed_digits < 0 || needed_range < 0) return nullptr;
  const basic* const element = smallest(kind, needed_digits, needed_range);
  if (element == nullptr) return nullptr;
  static std::mutex& mutex = *new std::mutex;  // all ranks of the process share it, to its end
  static auto& all = *new std::map<std::tuple<combiner, std::optional<int>, std::optional<int>>, datatype_ref>;
  const std::lock_guard locked{mutex};
  datatype_ref& found = all[{kind, digits, range}];
  if (!found) {
    found = datatype_ref::adopt(new datatype{type_map_of(*element), arguments_of(kind, digits, range)});
    found->commit();
  }
  return found.get();
}

}  // namespace weft::mpi

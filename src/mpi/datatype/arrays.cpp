// SPDX-License-Identifier: BSD-3-Clause
// Subarrays, and the parts that a process has of a distributed array.
#include <limits>

#include "mpi/datatype/constructing.hpp"

namespace weft::mpi {

namespace {

using namespace constructing;
using enum error_class;

// Calls `each(dimension)` for all, from the one whose elements lie closest. **Returns** the first failure.
template <class Each>
error_class from_the_closest(int dimensions, int order, const Each& each) {
  for (int i = 0; i < dimensions; ++i) {
    const error_class failure = each(order == order_c ? dimensions - 1 - i : i);
    if (failure != success) return failure;
  }
  return success;
}

bool is_order(int order) noexcept { return order == order_c || order == order_fortran; }

void append(std::vector<std::int64_t>& to, number_list from, int count) {
  for (int i = 0; i < count; ++i) to.push_back(from[i]);
}

// The indices of one dimension that a process has: `full` blocks of `length`, `distance` apart, then a shorter one.
struct owned {
  std::int64_t start = 0;
  std::int64_t length = 0;
  std::int64_t full = 0;
  std::int64_t distance = 0;
  std::int64_t rest = 0;
};

constexpr std::int64_t rounded_up(std::int64_t a, std::int64_t b) noexcept { return a / b + (a % b != 0); }

// The indices that the process with this coordinate owns: `ranks` processes share a dimension of `size` elements.
error_class own(std::int64_t size, int distribution, int argument_of, int ranks, int coordinate, owned& out) noexcept {
  if (distribution == distribute_none) {
    if (ranks != 1) return argument;
    out = {.start = 0, .length = size, .full = 1};
    return success;
  }
  const bool is_default = argument_of == distribute_default;
  if (!is_default && argument_of <= 0) return argument;
  if (distribution == distribute_block) {
    const std::int64_t block = is_default ? rounded_up(size, ranks) : argument_of;
    if (rounded_up(size, block) > ranks) return argument;
    const checked start = checked{block} * coordinate;
    if (!start.is_valid() || start.value() >= size) return success;
    out = {.start = start.value(), .length = std::min(block, size - start.value()), .full = 1};
    return success;
  }
  if (distribution != distribute_cyclic) return argument;
  const std::int64_t block = is_default ? 1 : argument_of;
  const std::int64_t start = block * coordinate, round = block * ranks;
  if (start >= size) return success;
  const std::int64_t behind = size - start;
  out = {.start = start, .length = block, .full = behind / round, .distance = round};
  const std::int64_t last = std::min(behind % round, block);
  if (last == block) {
    ++out.full;
  } else {
    out.rest = last;
  }
  return success;
}

// One dimension more: the elements that a process owns of it, each of which is `map`, `extent` bytes apart.
error_class add_dimension(const owned& indices, std::int64_t extent, type_map& map) {
  const auto bytes = [&](std::int64_t elements) { return checked{elements} * extent; };
  const checked rest_at = bytes(indices.start) + checked{indices.full} * bytes(indices.distance);
  if (!rest_at.is_valid()) return value_too_large;
  type_map block, row;
  if (!try_repeat({&map, 0, indices.length, extent}, block)) return value_too_large;
  const copies both[] = {{&block, bytes(indices.start).value(), indices.full, bytes(indices.distance).value()},
                         {&map, rest_at.value(), indices.rest, extent}};
  if (!try_join(both, row)) return value_too_large;
  map = std::move(row);
  return success;
}

error_class check_subarray(int dimensions, number_list sizes, number_list subsizes, number_list starts, int order,
                           const datatype* old) noexcept {
  if (dimensions < 1) return dims;
  if (sizes.is_null() || subsizes.is_null() || starts.is_null() || !is_order(order)) return argument;
  for (int i = 0; i < dimensions; ++i) {
    if (sizes[i] < 1 || subsizes[i] < 1 || subsizes[i] > sizes[i]) return argument;
    if (starts[i] < 0 || starts[i] > sizes[i] - subsizes[i]) return argument;
  }
  return is_usable(old) ? success : type;
}

error_class check_darray(const darray_arguments& array, const datatype* old) noexcept {
  if (array.dimensions < 1) return dims;
  if (array.ranks < 1 || array.rank < 0 || array.rank >= array.ranks || !is_order(array.order)) return argument;
  if (array.sizes.is_null() || array.distributions == nullptr || array.arguments == nullptr || array.grid == nullptr) {
    return argument;
  }
  std::int64_t cells = 1;
  for (int i = 0; i < array.dimensions; ++i) {
    if (array.sizes[i] < 1 || array.grid[i] < 1) return argument;
    cells *= array.grid[i];
    if (cells > array.ranks) return argument;
  }
  if (cells != array.ranks) return argument;
  return is_usable(old) ? success : type;
}

constructor_arguments arguments_of_darray(const darray_arguments& array, const datatype* old, width form) {
  constructor_arguments out = arguments_of(combiner::darray, form, old, {array.ranks, array.rank, array.dimensions});
  append(out.numbers, array.sizes, array.dimensions);
  append(out.numbers, array.distributions, array.dimensions);
  append(out.numbers, array.arguments, array.dimensions);
  append(out.numbers, array.grid, array.dimensions);
  out.numbers.push_back(array.order);
  return out;
}

}  // namespace

error_class make_subarray(int dimensions, number_list sizes, number_list subsizes, number_list starts, int order,
                          const datatype* old, width form, datatype_ref& out) noexcept {
  const error_class wrong = check_subarray(dimensions, sizes, subsizes, starts, order, old);
  if (wrong != success) return wrong;
  return without_exceptions([&] {
    type_map map = old->map();
    checked extent = old->extent();
    const error_class failure = from_the_closest(dimensions, order, [&](int i) {
      const error_class each = add_dimension({starts[i], subsizes[i], 1, 0, 0}, extent.value(), map);
      extent = extent * sizes[i];
      return extent.is_valid() ? each : value_too_large;
    });
    if (failure != success) return failure;
    if (!try_set_bounds(map, 0, extent)) return value_too_large;
    constructor_arguments from = arguments_of(combiner::subarray, form, old, {dimensions});
    append(from.numbers, sizes, dimensions);
    append(from.numbers, subsizes, dimensions);
    append(from.numbers, starts, dimensions);
    from.numbers.push_back(order);
    return finish(std::move(map), std::move(from), out);
  });
}

error_class make_darray(const darray_arguments& array, const datatype* old, width form, datatype_ref& out) noexcept {
  const error_class wrong = check_darray(array, old);
  if (wrong != success) return wrong;
  return without_exceptions([&] {
    std::vector<int> coordinates(static_cast<std::size_t>(array.dimensions));
    for (int i = array.dimensions - 1, rest = array.rank; i >= 0; rest /= array.grid[i--]) {
      coordinates[static_cast<std::size_t>(i)] = rest % array.grid[i];
    }
    type_map map = old->map();
    checked extent = old->extent();
    const error_class failure = from_the_closest(array.dimensions, array.order, [&](int i) {
      owned indices;
      const error_class refused = own(array.sizes[i], array.distributions[i], array.arguments[i], array.grid[i],
                                      coordinates[static_cast<std::size_t>(i)], indices);
      if (refused != success) return refused;
      const error_class each = add_dimension(indices, extent.value(), map);
      extent = extent * array.sizes[i];
      return extent.is_valid() ? each : value_too_large;
    });
    if (failure != success) return failure;
    if (!try_set_bounds(map, 0, extent)) return value_too_large;
    return finish(std::move(map), arguments_of_darray(array, old, form), out);
  });
}

}  // namespace weft::mpi

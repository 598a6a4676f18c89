// SPDX-License-Identifier: BSD-3-Clause
// What the constructors of datatypes have in common.
#pragma once

#include <new>
#include <utility>
#include <vector>

#include "mpi/datatype/construct.hpp"

namespace weft::mpi::constructing {

[[nodiscard]] inline bool is_usable(const datatype* type) noexcept { return type != nullptr && !type->is_absent(); }

/// Runs `make`, which may throw std::bad_alloc.
template <class Make>
error_class without_exceptions(const Make& make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return error_class::no_memory;
  } catch (const std::length_error&) {
    return error_class::no_memory;
  }
}

/// Makes the type of a map. **Errors**: std::bad_alloc.
inline error_class finish(type_map&& map, constructor_arguments&& from, datatype_ref& out) {
  out = datatype_ref::adopt(new datatype{std::move(map), std::move(from)});
  return error_class::success;
}

/// The arguments of a constructor that takes one old type.
inline constructor_arguments arguments_of(combiner kind, width form, const datatype* old,
                                          std::vector<std::int64_t>&& numbers) {
  constructor_arguments out{.kind = kind, .is_wide = form == width::wide, .numbers = std::move(numbers)};
  out.types.emplace_back(*old);
  return out;
}

/// `map` of one type, with other bounds. False: the upper one does not fit.
inline bool try_set_bounds(type_map& map, checked lower, checked extent) noexcept {
  const checked upper = lower + extent;
  // Strides are counted in extents, so an extent has to fit alone, too.
  if (!upper.is_valid()) return false;
  map.has_markers = true;
  map.markers = {lower.value(), upper.value()};
  return true;
}

}  // namespace weft::mpi::constructing

// SPDX-License-Identifier: BSD-3-Clause
// What a datatype means: the type map of MPI's standard (5.1), with its size and bounds, as dataloops.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "mpi/datatype/basic.hpp"
#include "mpi/datatype/checked.hpp"
#include "mpi/datatype/dataloop.hpp"

namespace weft::mpi {

/// The first byte, and the one behind the last.
struct interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Sizes and bounds fit in 64 bits, and so does the distance between bounds.
struct type_map {
  std::int64_t alignment = 1;  // the largest of its basic types
  bool is_dense =
      false;  // the data of any count of copies lie one behind the other, up to 2^48 bytes each; known in a datatype
  bool has_markers = false;  // its bounds were set by a constructor: those of resized, subarray and darray types
  interval markers{};
  interval extremes{};  // bounds of the data alone
  part data{};          // basic types that lie side by side are one block
  part typed{};         // all basic types stay apart; empty: the type has one basic type, so `data` shows it

  [[nodiscard]] std::int64_t size() const noexcept { return data.bytes; }
  [[nodiscard]] std::int64_t lower_bound() const noexcept { return has_markers ? markers.begin : extremes.begin; }
  /// Rounded up so that the extent is a multiple of the alignment, unless the bounds were set.
  [[nodiscard]] std::int64_t upper_bound() const noexcept;
  [[nodiscard]] std::int64_t extent() const noexcept { return upper_bound() - lower_bound(); }
  /// Whether it has neither data nor bounds.
  [[nodiscard]] bool is_empty() const noexcept { return size() == 0 && !has_markers; }
  /// The basic types of the data.
  [[nodiscard]] const part& elements() const noexcept { return typed.bytes != 0 ? typed : data; }
};

/// `count` copies of `map`, the first at `displacement`, the others `stride` apart.
struct copies {
  const type_map* map;
  std::int64_t displacement;
  std::int64_t count;
  std::int64_t stride;
};

[[nodiscard]] type_map type_map_of(const basic& type);

/// **Returns** false where a size or a bound does not fit in 64 bits; `out` is any then. **Errors**: std::bad_alloc.
[[nodiscard]] bool try_repeat(const copies& repeated, type_map& out);
/// All of a list, one behind the other.
[[nodiscard]] bool try_join(std::span<const copies> list, type_map& out);

}  // namespace weft::mpi

// SPDX-License-Identifier: BSD-3-Clause
// Data of a signature, and one rank's memory for it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout.hpp"
#include "scene.hpp"
#include "signature.hpp"

namespace differential {

/// `units` times a signature. Values are those of `stream`: element k is the k-th basic value.
struct cargo {
  signature unit;
  int units = 0;
  std::uint64_t stream = 0;
  [[nodiscard]] std::size_t elements() const { return unit.elements() * static_cast<std::size_t>(units); }
};
/// Types nested at most `depth` deep, 0 for a basic one; sometimes long, so that messages travel by another protocol.
cargo random_cargo(random_source& random, int depth);

/// Memory for a number of units of a signature, in a layout of its own, with gaps and margins that stay as they were.
/// The datatype is committed.
class side {
 public:
  /// Holds `units`, or some more where that number can't be had (`may_be_more`).
  side(random_source random, const signature& unit, int units, bool may_be_more = false);
  side(side&&) = default;

  /// The first argument of a call, its count and datatype.
  [[nodiscard]] void* address() { return absolute_.empty() ? origin() : MPI_BOTTOM; }
  [[nodiscard]] int count() const { return absolute_.empty() ? count_ : 1; }
  [[nodiscard]] MPI_Datatype type() const { return absolute_.empty() ? type_.type : absolute_.front().type; }
  [[nodiscard]] std::size_t elements_per_count() const;
  /// From now on the datatype has the addresses of this memory, and the first argument is MPI_BOTTOM.
  void make_absolute();
  [[nodiscard]] const layout& map() const { return type_; }

  /// Elements from `first` on get the values of `stream` from its element 0 on.
  void write(std::uint64_t stream, std::size_t elements, std::size_t first = 0);
  /// The bytes of what a receive has to leave: all as it was but the first `elements`, which are those of `stream`.
  [[nodiscard]] bool is_right(std::uint64_t stream, std::size_t elements) const;
  /// Clears what is no part of a value in elements of long double: no library need send it.
  void clear_padding(std::size_t elements);
  [[nodiscard]] std::uint64_t hash() const { return hash_of(bytes_.data(), bytes_.size()); }
  [[nodiscard]] std::vector<std::byte>& bytes() { return bytes_; }
  /// Where element `number` lies.
  [[nodiscard]] std::byte* element(std::size_t number);
  [[nodiscard]] int basic_of(std::size_t number) const { return type_.map[number % type_.map.size()].basic; }

 private:
  [[nodiscard]] std::byte* origin() { return bytes_.data() + before_; }

  int group_;  // units that an element of the count holds
  layout type_;
  int count_;
  std::vector<layout> absolute_;  // one, or none
  long before_ = 0;               // bytes in front of the origin
  std::vector<std::byte> bytes_;
};

}  // namespace differential

// SPDX-License-Identifier: BSD-3-Clause
// A datatype by the definition of MPI's standard: a list of basic types and their offsets. Slow and simple.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mpi/datatype/basic.hpp"

namespace weft::test {

struct type_model {
  struct entry {
    std::int64_t offset;
    const mpi::basic* type;
  };
  std::vector<entry> entries;
  bool has_bounds = false;
  std::int64_t lower = 0, upper = 0;

  static type_model of(std::uint32_t handle) {
    type_model out;
    out.entries.push_back({0, mpi::find_basic(handle)});
    return out;
  }

  [[nodiscard]] std::int64_t size() const {
    std::int64_t out = 0;
    for (const entry& each : entries) out += each.type->bytes;
    return out;
  }
  [[nodiscard]] std::int64_t true_lower_bound() const {
    std::optional<std::int64_t> out;
    for (const entry& each : entries) out = std::min(out.value_or(each.offset), each.offset);
    return out.value_or(0);
  }
  [[nodiscard]] std::int64_t true_upper_bound() const {
    std::optional<std::int64_t> out;
    for (const entry& each : entries) {
      const std::int64_t end = each.offset + each.type->bytes;
      out = std::max(out.value_or(end), end);
    }
    return out.value_or(0);
  }
  [[nodiscard]] std::int64_t lower_bound() const { return has_bounds ? lower : true_lower_bound(); }
  [[nodiscard]] std::int64_t extent() const {
    if (has_bounds) return upper - lower;
    std::int64_t alignment = 1, out = true_upper_bound() - true_lower_bound();
    for (const entry& each : entries) alignment = std::max<std::int64_t>(alignment, each.type->alignment);
    while (out % alignment != 0) ++out;
    return out;
  }

  void append(const type_model& other, std::int64_t displacement) {
    for (const entry& each : other.entries) entries.push_back({each.offset + displacement, each.type});
    if (!other.has_bounds) return;
    lower = has_bounds ? std::min(lower, other.lower + displacement) : other.lower + displacement;
    upper = has_bounds ? std::max(upper, other.upper + displacement) : other.upper + displacement;
    has_bounds = true;
  }
  /// `count` elements side by side, from `displacement` on.
  void append_block(const type_model& other, std::int64_t count, std::int64_t displacement) {
    for (std::int64_t i = 0; i < count; ++i) append(other, displacement + i * other.extent());
  }

  /// The offsets of all bytes, in the order in which they are packed, of `count` elements.
  [[nodiscard]] std::vector<std::int64_t> bytes_of(std::int64_t count) const {
    type_model all;
    all.append_block(*this, count, 0);
    std::vector<std::int64_t> out;
    for (const entry& each : all.entries) {
      for (std::int64_t i = 0; i < each.type->bytes; ++i) out.push_back(each.offset + i);
    }
    return out;
  }

  /// Basic elements in so many bytes; none: they end inside of one.
  [[nodiscard]] std::optional<std::int64_t> elements_in(std::int64_t bytes) const {
    if (size() == 0) return bytes == 0 ? std::optional<std::int64_t>{0} : std::nullopt;
    std::int64_t out = 0;
    for (;;) {
      for (const entry& each : entries) {
        if (bytes == 0) return out;
        if (bytes < each.type->bytes) return std::nullopt;
        bytes -= each.type->bytes;
        ++out;
      }
    }
  }
};

/// One dimension of an array that processes divide among them.
struct divided_dimension {
  std::int64_t size;
  std::int64_t block;  // of so many indices, in rounds over the ranks
  std::int64_t ranks;
  std::int64_t rank;  // this one

  [[nodiscard]] bool owns(std::int64_t index) const { return index / block % ranks == rank; }
};

/// The elements of an array whose index in each dimension `is_in`. `sizes`: the slowest dimension first.
template <class IsIn>
type_model model_of_array(const type_model& old, std::span<const std::int64_t> sizes, const IsIn& is_in) {
  std::int64_t total = 1;
  for (const std::int64_t each : sizes) total *= each;
  type_model out;
  for (std::int64_t at = 0; at < total; ++at) {
    bool is_wanted = true;
    std::int64_t rest = at;
    for (std::size_t i = sizes.size(); i-- > 0; rest /= sizes[i]) is_wanted &= is_in(i, rest % sizes[i]);
    if (is_wanted) out.append(old, at * old.extent());
  }
  out.has_bounds = true;
  out.lower = 0;
  out.upper = total * old.extent();
  return out;
}

}  // namespace weft::test

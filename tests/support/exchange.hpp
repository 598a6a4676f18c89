// SPDX-License-Identifier: BSD-3-Clause
// A collective with random arguments, which all members of a group draw alike, and its wanted results by a sequential
// oracle.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <random>
#include <string_view>
#include <vector>

#include "weft/collectives.hpp"
#include "weft/memory.hpp"

namespace weft::test {

/// A type of elements with a function of them.
struct element_kind {
  const char* name;
  reduction how;
  void (*make)(std::uint64_t from, std::byte* into);  // an element
};

struct exchange {
  collective_operation operation;
  std::string_view algorithm;
  std::uint32_t number;  // of the collective, from which its bytes are made
  std::uint32_t size;    // of the group
  std::uint32_t root;
  std::size_t count;  // elements of a block
  const element_kind* kind;
  bool is_inplace;

  [[nodiscard]] std::size_t block_bytes() const noexcept { return count * kind->how.element_bytes; }
};
std::ostream& operator<<(std::ostream& out, const exchange& of);

/// Any operation, algorithm (or none, so that the rules choose), root, type and size: also no element, an odd number of
/// them, and about as many bytes as a cell, a packet, or 64 KiB have.
[[nodiscard]] exchange any_exchange(std::mt19937& random, std::uint32_t number, std::uint32_t size);

/// Has all bytes one behind the other, but is no ordinary memory to a collective.
[[nodiscard]] const memory& layout_of_bytes();

/// The buffers of one member, and its wanted output.
class member_side {
 public:
  member_side(const exchange& of, std::uint32_t me);

  /// The collective, with these buffers, as ordinary memory or with a layout. The side has to stay where it is until
  /// the end.
  [[nodiscard]] collective call(const memory* in_memory = nullptr);
  /// Whether the output is as wanted, and the input as before.
  [[nodiscard]] bool is_right() const;
  [[nodiscard]] const exchange& of() const noexcept { return of_; }

 private:
  using bytes = std::vector<std::byte>;

  [[nodiscard]] bytes given(std::uint32_t member, std::size_t blocks = 1) const;
  [[nodiscard]] bytes reduced(std::uint32_t first, std::uint32_t last, std::size_t blocks = 1) const;
  [[nodiscard]] bytes block(const bytes& of, std::uint32_t which) const;
  void make_inplace();

  exchange of_;
  std::uint32_t me_;
  bytes in_, before_, out_, wanted_;  // of `out_`, only as many bytes as are wanted count
  bool has_in_ = true;
  bool has_out_ = true;
};

}  // namespace weft::test

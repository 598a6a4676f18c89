// SPDX-License-Identifier: BSD-3-Clause
// The constructors of datatypes, each with its type map.
#pragma once

#include <vector>

#include "layout.hpp"

namespace differential {

/// Makes one layout. `n` of an element, which follow each other in the signature, lie as a constructor puts them.
class layout_maker {
 public:
  explicit layout_maker(random_source& random) : random_{random} {}

  layout make(const signature& of);

 private:
  layout repeat(layout element, int n);
  layout contiguous(layout element, int n);
  layout vector(layout element, int n, bool by_bytes);
  layout indexed(layout element, int n, bool by_bytes, bool in_equal_blocks);
  layout subarray(layout element, int n);
  layout darray(layout element, int n);
  layout concatenate(const std::vector<signature>& parts);
  bool make_pair(const std::vector<signature>& parts, layout& out);
  void change(layout& of);
  void resize(layout& of);

  // Positions of blocks of these lengths (in elements) that don't overlap, with gaps, in any order.
  std::vector<long> positions_of(const std::vector<int>& lengths);
  static layout repeated(const layout& element, const std::vector<long>& at);
  int divisor_of(int n);

  random_source& random_;
};

}  // namespace differential

// SPDX-License-Identifier: BSD-3-Clause
// A type signature as a tree, from which different layouts can be made.
#pragma once

#include <cstddef>
#include <vector>

#include "random_source.hpp"

namespace differential {

/// A basic type, or `times` times the sequence of all `parts`.
struct signature {
  int basic = -1;  ///< in `basic_types`, or -1
  int times = 1;
  std::vector<signature> parts;

  [[nodiscard]] std::size_t elements() const;
  /// The basic types, in their order.
  void append_to(std::vector<int>& out) const;
  [[nodiscard]] signature repeated(int more) const;
};

inline signature signature_of(int basic) { return {basic, 1, {}}; }

/// Any basic types, at most `depth` deep, with at most some hundred elements.
signature random_signature(random_source& random, int depth);

}  // namespace differential

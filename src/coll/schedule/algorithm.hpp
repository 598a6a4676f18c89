// SPDX-License-Identifier: BSD-3-Clause
// An algorithm of a collective: a function that writes down the steps of one rank.
#pragma once

#include <string_view>

#include "coll/args/collective_args.hpp"

namespace weft::coll {

class schedule;

/// Writes the steps of this rank. **Errors**: std::bad_alloc.
using algorithm_function = void (*)(schedule& out, const collective_args& args);

/// A row of the table of algorithms (algorithms/table.hpp).
struct algorithm {
  coll::operation operation;
  std::string_view name;
  algorithm_function function;
  /// Whether it can do this; null: always.
  bool (*restriction)(const collective_args& args) = nullptr;

  [[nodiscard]] bool can(const collective_args& args) const { return restriction == nullptr || restriction(args); }
};

}  // namespace weft::coll

// SPDX-License-Identifier: BSD-3-Clause
// An algorithm of a collective: a function that writes down the steps of one rank.
#pragma once

#include <string_view>

#include "coll/args/collective_args.hpp"

namespace weft::coll {

class schedule;

/// Writes the steps of this rank. **Errors**: std::bad_alloc.
using algorithm_function = void (*)(schedule& out, const collective_args& args);

/// An entry of the table of algorithms.
struct algorithm {
  std::string_view name;
  coll::operation operation;
  algorithm_function make;
  /// Whether it can do this; null: always.
  bool (*can)(const collective_args& args) = nullptr;
};

}  // namespace weft::coll

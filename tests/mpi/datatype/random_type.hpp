// SPDX-License-Identifier: BSD-3-Clause
// Random datatypes, each with its model.
#pragma once

#include <cstdint>
#include <random>

#include "mpi/datatype/datatype.hpp"
#include "mpi/datatype/type_model.hpp"

namespace weft::test {

struct modelled_type {
  mpi::datatype_ref type;
  type_model model;
};

using generator = std::mt19937_64;

/// Uniform, both ends included.
inline std::int64_t between(generator& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

/// A basic type or a pair.
modelled_type random_predefined(generator& random);

/// Nested `depth` deep, with some hundred basic types at most.
modelled_type random_type(generator& random, int depth);

}  // namespace weft::test

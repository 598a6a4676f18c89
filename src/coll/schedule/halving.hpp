// SPDX-License-Identifier: BSD-3-Clause
// Recursive halving: a rank's part of a reduced value, cut in two again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/args/collective_args.hpp"
#include "coll/schedule/accumulator.hpp"
#include "coll/schedule/fold.hpp"

namespace weft::coll {

/// Each member sends half of its range of the value to the member 2^k away in round k, receives the other half's, and
/// reduces; the member with bit k keeps the upper half. The operands are in the order of ranks. **Returns** the range
/// before each round, and the last one: a member's part. **Errors**: std::bad_alloc.
std::vector<range> halve(accumulator& sum, const fold& group, const collective_args& args, std::uint32_t label);

}  // namespace weft::coll

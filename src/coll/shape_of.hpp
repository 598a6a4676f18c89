// SPDX-License-Identifier: BSD-3-Clause
// What the call of a collective asks for, checked: its shape.
#pragma once

#include <string>

#include "coll/group_state.hpp"
#include "coll/shape.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// **Errors**: invalid_argument, always, with the operation and `why`.
[[noreturn]] void refuse_call(operation which, const std::string& why);

/// **Errors**: invalid_argument for buffers, sizes and a root that are wrong; std::bad_alloc.
[[nodiscard]] shape shape_of(const collective::parts& of, group_state& in);

/// The shape of a blocking collective that has a body of its own (straight.hpp), which is the algorithm that the rules
/// choose. False if it has none, the call or WEFT_COLL names an algorithm, or anything is unusual or wrong: `shape_of`
/// finds that out. **Errors**: std::bad_alloc.
[[nodiscard]] bool make_straight_shape(shape& out, const collective::parts& of, group_state& in,
                                       const collective_options& options);

}  // namespace weft::coll

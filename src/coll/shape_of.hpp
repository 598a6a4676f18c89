// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a collective, made of its call and checked.
#pragma once

#include <string>

#include "coll/group_state.hpp"
#include "coll/shape.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// **Errors**: invalid_argument, always, with the operation and `why`.
[[noreturn]] void refuse_call(operation which, const std::string& why);

/// **Errors**: invalid_argument for buffers, sizes and a root that are wrong; std::bad_alloc.
[[nodiscard]] collective_args make_args(const collective::parts& call, group_state& group);

/// The arguments of a blocking collective that has a body of its own (direct.hpp), which is the algorithm that the
/// rules choose. False if it has none, the call or WEFT_COLL names an algorithm, or anything is unusual or wrong:
/// `make_args` finds that out. **Errors**: std::bad_alloc.
[[nodiscard]] bool make_direct_args(collective_args& args, const collective::parts& call, group_state& group,
                                    const collective_options& options);

}  // namespace weft::coll

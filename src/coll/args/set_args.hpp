// SPDX-License-Identifier: BSD-3-Clause
// The arguments of a collective, made of its call and checked.
#pragma once

#include <string>

#include "coll/args/collective_args.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// **Errors**: invalid_argument, always, with the operation and `why`.
[[noreturn]] void refuse_call(operation which, const std::string& why);

/// Sets the arguments that the call of a member names. `args` has the rank and size of this member and group.
/// **Errors**: invalid_argument for buffers, sizes and a root that are wrong; std::bad_alloc.
void set_args(collective_args& args, const collective::parts& call);

}  // namespace weft::coll

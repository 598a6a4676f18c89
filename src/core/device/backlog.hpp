// Operations that a device has to continue later, because a ring was full, a lock was taken, or the work is long
// (yan2025-lci, 5.1.5). Any thread adds operations; the thread that holds the device's poll gate takes them out.
//
// Cost if it is empty: one read of a line that is not written then.
#pragma once

#include "base/intrusive_stack.hpp"
#include "core/operation/operation_state.hpp"

namespace weft::core {

using backlog = base::intrusive_stack<operation_state>;

}  // namespace weft::core

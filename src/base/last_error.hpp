// SPDX-License-Identifier: BSD-3-Clause
// The last exception of this fiber or thread, for the report of a wrong use that it may have caused.
#pragma once

#include <array>

namespace weft::base {

/// The text of the last `weft::error` that this fiber or thread has made, perhaps empty, if an exception is on its way
/// out of the scopes that are left now; null if none is. An exception of another kind hides its text until it is
/// caught.
[[nodiscard]] const char* uncaught_error() noexcept;

/// Has a fixed size: to be remembered it may need no memory.
using error_text = std::array<char, 512>;
/// The last text of the calling thread. A fiber that is suspended while an exception is on its way takes it along.
[[nodiscard]] error_text& last_error_text() noexcept;

}  // namespace weft::base

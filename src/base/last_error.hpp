// The last exception of this thread, for the report of a wrong use that it may have caused.
#pragma once

namespace weft::base {

/// The text of the last `weft::error` that this thread has made, perhaps empty, if an exception is on its way out of
/// the scopes that are left now; null if none is. An exception of another kind hides its text until it is caught.
[[nodiscard]] const char* uncaught_error() noexcept;

}  // namespace weft::base

// What this thread was about when it is found to do something wrong: an exception may be why.
#pragma once

namespace weft::base {

/// The text of the last `weft::error` that this thread has made, perhaps empty, if an exception is on its way out of
/// the scopes that are left now; null if none is. An exception of another kind hides its text until it is caught.
[[nodiscard]] const char* error_on_its_way() noexcept;

}  // namespace weft::base

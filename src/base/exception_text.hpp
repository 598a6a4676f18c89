// SPDX-License-Identifier: BSD-3-Clause
// The text of the exception that leaves scopes now, for the line that ends the process: after that line no handler
// gets the exception.
#pragma once

#include <exception>
#include <string>

namespace weft::base {

/// Whether an exception is leaving scopes: a destructor that runs now belongs to an object in one of them.
[[nodiscard]] inline bool is_unwinding() noexcept { return std::uncaught_exceptions() != 0; }

/// The `what()` of the exception that the calling thread or fiber handles, or that is leaving its scopes; the name of
/// its type if it is no `std::exception`. Empty if there is none, or if it can't be found.
[[nodiscard]] std::string exception_text() noexcept;

}  // namespace weft::base

// SPDX-License-Identifier: BSD-3-Clause
// The end of a process that breaks a rule of use: for what can't be an exception, as in destructors.
#pragma once

namespace weft::base {

/// Ends the process with a line that says which rule was broken.
[[noreturn]] void misuse(const char* description) noexcept;

/// Ends a child of fork() that uses an `object` of its parent: "a device".
[[noreturn]] void refuse_to_child(const char* object) noexcept;

}  // namespace weft::base

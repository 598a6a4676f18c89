// SPDX-License-Identifier: BSD-3-Clause
// The version of Weft: of these headers, and of the library that runs.
#pragma once

#include <cstdint>

/// The version of these headers: that of the CMake project, whose configuration refuses other numbers here.
#define WEFT_VERSION_MAJOR 0
/// Interfaces change with it, as long as the major version is 0.
#define WEFT_VERSION_MINOR 1
/// Repairs only.
#define WEFT_VERSION_PATCH 0
/// The version in one number, which grows: `#if WEFT_VERSION >= 10203` asks for 1.2.3.
#define WEFT_VERSION (WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 + WEFT_VERSION_PATCH)
/// The version as text.
#define WEFT_VERSION_TEXT "0.1.0"

namespace weft {

static_assert(WEFT_VERSION_MINOR < 100 && WEFT_VERSION_PATCH < 100);

/// The version of the library that runs: `WEFT_VERSION` when it was built. A program that finds another one here than
/// in its headers was linked with a library of another version. **Blocking**: never. **Threads**: any. **Errors**:
/// none.
[[nodiscard]] std::uint32_t version() noexcept;

/// The version as text, as in `0.1.0`. **Blocking**: never. **Threads**: any. **Errors**: none.
[[nodiscard]] const char* version_text() noexcept;

}  // namespace weft

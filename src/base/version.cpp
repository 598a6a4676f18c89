// SPDX-License-Identifier: BSD-3-Clause
#include "weft/version.hpp"

namespace weft {

std::uint32_t version() noexcept { return WEFT_VERSION; }
const char* version_text() noexcept { return WEFT_VERSION_TEXT; }

}  // namespace weft

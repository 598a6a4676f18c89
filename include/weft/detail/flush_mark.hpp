// SPDX-License-Identifier: BSD-3-Clause
// The moment at which a flush begins: it waits for the operations that have begun before.
#pragma once

#include <cstdint>

namespace weft::detail {

/// Epochs of the counts that the flush looks at (src/core/runtime/flush_word.hpp).
struct flush_mark {
  bool is_set = false;
  std::uint8_t first = 0;
  std::uint8_t second = 0;
};

}  // namespace weft::detail

// SPDX-License-Identifier: BSD-3-Clause
// What a remote atomic does to its word: in the post, in the operation, and where it is applied.
#pragma once

#include <cstdint>

namespace weft::core {

struct atomic_command {
  std::uint32_t code = 0;  // operation and size of the word (`atomic_code`)
  std::uint64_t operand = 0;
  std::uint64_t compare = 0;
};

}  // namespace weft::core

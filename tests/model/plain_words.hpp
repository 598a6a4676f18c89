// SPDX-License-Identifier: BSD-3-Clause
// Words that threads use without atomics, as the explorer sees them: it finds two that use one at a time.
#pragma once

#include <cstdint>

#include "model/atomics.hpp"

namespace weft::model {

inline void write(std::uint64_t& to, std::uint64_t value) { model_atomics::write_nonatomic(&to, &value, sizeof value); }
[[nodiscard]] inline std::uint64_t read(const std::uint64_t& from) {
  std::uint64_t out = 0;
  model_atomics::read_nonatomic(&out, &from, sizeof out);
  return out;
}

}  // namespace weft::model

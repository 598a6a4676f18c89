// SPDX-License-Identifier: BSD-3-Clause
#include "base/assertion.hpp"

#include <cstdlib>

#include "base/log.hpp"

namespace weft::base {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  log_error("a bug in Weft: {} does not hold at {}:{}; please report it", condition, file, line);
  std::abort();
}

}  // namespace weft::base

// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/switching.hpp"

#include <cxxabi.h>

#include "fiber/worker.hpp"

namespace weft::fibers {

void switching::use_this_thread() noexcept {
  WEFT_ASSERT(exceptions_ == nullptr);
  exceptions_ = reinterpret_cast<exception_globals*>(abi::__cxa_get_globals());
}

[[gnu::noinline]] void switching::end_overrun(fiber_state& fiber) noexcept {
  switching& here = worker::here()->switches();
  here.has_overrun_ = true;
  fiber.registers.end_for(here.own_);
}

}  // namespace weft::fibers

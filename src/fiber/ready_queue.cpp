// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/ready_queue.hpp"

namespace weft::fibers {

fiber_state* ready_queue::refill() noexcept {
  do {
    if (switches_ >= switches_max) [[unlikely]] {
      switches_ = 0;
      return nullptr;
    }
    if (!bits_.refill()) return nullptr;
    switches_ += bits_.taken_count();
    if (fiber_state* const out = next(); out != nullptr) [[likely]]
      return out;
  } while (true);
}

}  // namespace weft::fibers

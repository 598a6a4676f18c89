// Who says how the calling thread waits (weft/suspender.hpp).
#pragma once

#include "weft/suspender.hpp"

namespace weft::base {

[[nodiscard]] inline suspender*& this_suspender() noexcept {
  static thread_local constinit suspender* by = nullptr;
  return by;
}
[[nodiscard]] inline suspender* current_suspender() noexcept { return this_suspender(); }

}  // namespace weft::base

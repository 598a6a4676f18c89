// SPDX-License-Identifier: BSD-3-Clause
// One call of progress, in parts that its shortcut (core/fast/short_pass.cpp) and polls of other devices share.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"

namespace weft::core::progress {

/// One or more of so many calls of progress that move something poll all transports, however busy one of them is.
inline constexpr unsigned skips_max = 64;

/// All steps in order. Called inside the gate, which it leaves. **Returns** whether it has moved something.
bool pass(device_state& dev) noexcept;
/// The end of a call that has moved something, `arrived` messages among it. Called inside the gate, which it leaves.
bool end_moved(device_state& dev, unsigned arrived) noexcept;
/// Another thread is inside the gate, or, in a child of fork(), the parent has the device.
bool found_busy(device_state& dev) noexcept;

struct passed {
  unsigned moved;
  std::uint32_t calls;  // the device's count of calls after it
};
/// The steps of a call by a thread of another device, which has entered the gate of `dev`. Leaves it.
passed pass_for_other(device_state& dev) noexcept;
/// A last look at the device by a thread of another device that is about to sleep, and has entered the gate of `dev`.
/// Leaves it.
stillness look_for_other(device_state& dev) noexcept;
/// The steps of a call that receives what ranks have sent that have ended, by a thread of another device, which has
/// entered the gate of `dev`. Leaves it.
passed pass_for_ended(device_state& dev) noexcept;

}  // namespace weft::core::progress

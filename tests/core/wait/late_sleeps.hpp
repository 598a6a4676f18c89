// SPDX-License-Identifier: BSD-3-Clause
// Sleeps that a wake-up should have ended.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>

#include "core/runtime/runtime_state.hpp"
#include "weft/test/local_job.hpp"

namespace weft::test {

/// On a loaded machine a message may arrive while a thread that has slept to its limit waits for a processor. Those are
/// few; where wake-ups are lost, a good part of all messages is late.
inline void expect_few_late_sleeps(runtime& rt, std::uint64_t messages) {
  EXPECT_LE(local_job::state_of(rt).parking().late_count(), 3 + messages / 20) << "wake-ups are lost";
}

}  // namespace weft::test

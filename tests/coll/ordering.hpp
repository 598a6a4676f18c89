// SPDX-License-Identifier: BSD-3-Clause
// Which steps of a collective run before which, whatever the order in which it is carried out.
#pragma once

#include <span>
#include <string>

#include "coll/schedule/schedule.hpp"

namespace weft::coll::test {

/// Two steps of a rank that use the same bytes, one of them writing, and may run at once. **Returns** them, or nothing.
[[nodiscard]] std::string find_race(std::span<const schedule> all);

/// A rank that can be done before another has begun. **Returns** both, or nothing.
[[nodiscard]] std::string find_early_end(std::span<const schedule> all);

}  // namespace weft::coll::test

// SPDX-License-Identifier: BSD-3-Clause
// Collectives by a seed, in groups that overlap, several in flight, in every form, and by threads with a group and a
// device each.
#pragma once

#include <cstdint>
#include <string>

#include "weft/runtime.hpp"

namespace weft::test {

/// All ranks of a job call this with one seed. **Blocking**: until all have. **Returns** the faults, a line each.
[[nodiscard]] std::string run_random_collectives(runtime& rt, std::uint64_t seed, unsigned steps);

}  // namespace weft::test

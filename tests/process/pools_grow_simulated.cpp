// SPDX-License-Identifier: BSD-3-Clause
// The same over a simulated network, with fewer.
// ranks: 2
// launchers: weft-run
// stages: release
// timeout: 300
// subject: src/core/memory src/core/operation src/core/matching src/core/device src/core/protocol
#include "process/pools_grow.hpp"

int main() {
  ::setenv("WEFT_TRANSPORT", "sim:shm,sim:self", 1);
  return weft::test::run_pools(16);
}

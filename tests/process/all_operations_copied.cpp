// SPDX-License-Identifier: BSD-3-Clause
// The same where no process may read another's memory, in small packets, over short rings.
// ranks: 2 3
// launchers: weft-run
#include "process/all_operations_runs.hpp"

int main() {
  ::setenv("WEFT_SHM_CMA", "off", 1);
  ::setenv("WEFT_PACKET_BYTES", "1024", 1);
  ::setenv("WEFT_RING_CELLS", "16", 1);
  return weft::test::run_all_operations_as_a_rank();
}

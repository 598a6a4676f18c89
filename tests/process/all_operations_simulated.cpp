// SPDX-License-Identifier: BSD-3-Clause
// The same over a simulated network.
// ranks: 2 3
// launchers: weft-run
#include "process/all_operations_runs.hpp"

int main() {
  ::setenv("WEFT_TRANSPORT", "sim:shm,sim:self", 1);
  return weft::test::run_all_operations_as_a_rank();
}

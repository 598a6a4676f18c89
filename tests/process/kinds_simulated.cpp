// SPDX-License-Identifier: BSD-3-Clause
// The same over a simulated network, which denies copies now and then.
// ranks: 2
// launchers: weft-run
#include "process/kinds_runs.hpp"

int main() {
  weft::test::set("WEFT_TRANSPORT", "sim:shm,sim:self");
  return weft::test::run_kinds_of_memory({.long_one_in = 10, .one_in = 4});
}

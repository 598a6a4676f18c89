// SPDX-License-Identifier: BSD-3-Clause
// Lists of buffers where no process may read another's memory: they travel in packets.
// ranks: 2
// launchers: weft-run
#include "process/lists_load.hpp"

int main() {
  weft::test::set("WEFT_SHM_CMA", "off");
  return weft::test::run_lists(100);
}

// SPDX-License-Identifier: BSD-3-Clause
// Sends, puts and gets of more than 4 GiB where no process may read another's memory: they come in packets.
// ranks: 2
// launchers: weft-run
// stages: release asan tsan
// not under sanitizers
#include "process/huge_load.hpp"

int main() {
  weft::test::set("WEFT_SHM_CMA", "off");
  return weft::test::run_huge(false);
}

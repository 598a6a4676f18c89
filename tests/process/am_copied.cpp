// SPDX-License-Identifier: BSD-3-Clause
// Active messages of all sizes where no process may read another's memory: long ones come in packets.
// ranks: 2 3
#include "process/am_load.hpp"

int main() {
  weft::test::set("WEFT_SHM_CMA", "off");
  return weft::test::run_loads({.messages = 120});
}

// SPDX-License-Identifier: BSD-3-Clause
// The same as am_tiny where no process may read another's memory, with no packet of a peer ever kept.
// ranks: 2 3
#include "process/am_load.hpp"

int main() {
  using weft::test::set;
  set("WEFT_SHM_CMA", "off");
  set("WEFT_PACKET_COUNT", "64");
  set("WEFT_PACKET_BYTES", "4096");
  set("WEFT_RING_CELLS", "8");
  set("WEFT_FOREIGN_PACKETS_MAX", "0");
  set("WEFT_OPERATIONS_MAX", "1");
  return weft::test::run_loads({.messages = 60, .inbox_capacity = 8, .kept_max = 6});
}

// SPDX-License-Identifier: BSD-3-Clause
// Active messages between processes over a simulated network, in packets as small and few as in am_tiny.
// ranks: 2 3
// launchers: weft-run
#include "process/am_load.hpp"

int main() {
  using weft::test::set;
  set("WEFT_TRANSPORT", "sim:shm,sim:self");
  set("WEFT_PACKET_COUNT", "64");
  set("WEFT_PACKET_BYTES", "4096");
  set("WEFT_RING_CELLS", "8");
  set("WEFT_OPERATIONS_MAX", "4");
  return weft::test::run_loads({.messages = 120, .inbox_capacity = 8, .kept_max = 6});
}

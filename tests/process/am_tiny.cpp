// SPDX-License-Identifier: BSD-3-Clause
// Active messages with hardly any room anywhere: every way to be short of something is walked.
// ranks: 2 3 4
#include "process/am_load.hpp"

int main() {
  using weft::test::set;
  set("WEFT_PACKET_COUNT", "64");
  set("WEFT_PACKET_BYTES", "4096");
  set("WEFT_RING_CELLS", "8");
  set("WEFT_FOREIGN_PACKETS_MAX", "1");
  set("WEFT_OPERATIONS_MAX", "2");
  return weft::test::run_loads({.messages = 120, .inbox_capacity = 8, .kept_max = 6});
}

// SPDX-License-Identifier: BSD-3-Clause
// Lists of buffers over a simulated network, which denies copies now and then, in few and small packets.
// ranks: 2
// launchers: weft-run
#include "process/lists_load.hpp"

int main() {
  weft::test::set("WEFT_TRANSPORT", "sim:shm,sim:self");
  weft::test::set("WEFT_PACKET_COUNT", "64");
  weft::test::set("WEFT_PACKET_BYTES", "4096");
  return weft::test::run_lists(60);
}

// SPDX-License-Identifier: BSD-3-Clause
// The same where no process may read another's memory, in packets of few bytes.
// ranks: 2
// launchers: weft-run
#include "process/kinds_runs.hpp"

int main() {
  weft::test::set("WEFT_SHM_CMA", "off");
  weft::test::set("WEFT_PACKET_BYTES", "2048");
  return weft::test::run_kinds_of_memory({.long_one_in = 10, .one_in = 2, .knows_addresses = true});
}

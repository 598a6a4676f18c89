// SPDX-License-Identifier: BSD-3-Clause
// A rank leaves while an answer to its peer still waits, and the network refuses messages now and then.
// ranks: 2
// launchers: weft-run
// subject: src/core/runtime src/net/sim
#include "process/left_early.hpp"

int main() {
  weft::test::set("WEFT_TRANSPORT", "sim:shm,sim:self");
  return weft::test::leave_early();
}

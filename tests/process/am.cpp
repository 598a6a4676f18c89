// SPDX-License-Identifier: BSD-3-Clause
// Active messages of all sizes between processes, with the settings that users have by default.
// ranks: 2 3 4
#include "process/am_load.hpp"

int main() { return weft::test::run_loads({}); }

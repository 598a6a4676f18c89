// SPDX-License-Identifier: BSD-3-Clause
// Every operation from and to every kind of memory, between processes that copy from and to each other's memory.
// ranks: 2
// launchers: weft-run
#include "process/kinds_runs.hpp"

int main() { return weft::test::run_kinds_of_memory({.long_one_in = 4}); }

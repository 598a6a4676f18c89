// SPDX-License-Identifier: BSD-3-Clause
// Messages, puts and gets of more than 4 GiB, copied from process to process.
// ranks: 2
// launchers: weft-run
// stages: release asan tsan
// not under sanitizers
#include "process/huge_load.hpp"

int main() { return weft::test::run_huge(true); }

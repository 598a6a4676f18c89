// SPDX-License-Identifier: BSD-3-Clause
// Lists of buffers between processes that copy from and to each other's memory.
// ranks: 2
#include "process/lists_load.hpp"

int main() { return weft::test::run_lists(150); }

// SPDX-License-Identifier: BSD-3-Clause
// All operations together between processes, with whatever transport the environment names.
// ranks: 1 2 4
#include "process/all_operations_runs.hpp"

int main() { return weft::test::run_all_operations_as_a_rank(); }

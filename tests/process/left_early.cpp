// SPDX-License-Identifier: BSD-3-Clause
// A rank leaves while an answer to its peer still waits.
// ranks: 2
// subject: src/core/runtime src/core/protocol
#include "process/left_early.hpp"

int main() { return weft::test::leave_early(); }

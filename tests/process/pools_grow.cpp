// SPDX-License-Identifier: BSD-3-Clause
// A million receives posted at once, a million posts to a rank that makes no progress, a hundred thousand messages
// without a receive: the pools grow, and all messages arrive. Between processes, and from a rank to itself.
// ranks: 2
// launchers: weft-run
// stages: release asan
// timeout: 300
// subject: src/core/memory src/core/operation src/core/matching src/core/device src/core/protocol
#include "process/pools_grow.hpp"

// An argument, for tests/ofi/pools_test.py: how much smaller the load is.
int main(int count, char** arguments) {
  return weft::test::run_pools(count > 1 ? static_cast<std::uint32_t>(std::stoul(arguments[1])) : 1);
}

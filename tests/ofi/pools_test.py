# SPDX-License-Identifier: BSD-3-Clause
# subject: src/net/ofi src/core/memory src/core/operation src/core/matching tests/process/pools_grow.cpp tests/process/pools_grow.hpp
# stages: release
"""Receives, posts and waiting messages by the hundred thousand, with shared memory left out."""

import unittest

from ofi_program import PROCESS, providers_here, run

WANTED = ("tcp", "tcp;ofi_rxm", "net")
SMALLER = 4  # a system call for each message


class Pools(unittest.TestCase):
    def test_grow_over_a_provider(self):
        here = [name for name in WANTED if name in providers_here()]
        if not here:
            self.skipTest("libfabric has none of the providers " + ", ".join(WANTED))
        result = run(2, PROCESS / "pools_grow", str(SMALLER), WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER=here[0])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()

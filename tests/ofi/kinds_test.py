# SPDX-License-Identifier: BSD-3-Clause
# subject: src/net/ofi src/core/memory src/core/message src/core/protocol tests/process/kinds.cpp tests/process/kinds_runs.hpp
# stages: release asan
"""Every operation from and to every kind of memory, with shared memory left out."""

import unittest

from ofi_program import PROCESS, providers_here, run

WANTED = ("tcp;ofi_rxm", "tcp", "shm")


class Kinds(unittest.TestCase):
    def test_arrive_whole_over_a_provider(self):
        here = [name for name in WANTED if name in providers_here()]
        if not here:
            self.skipTest("libfabric has none of the providers " + ", ".join(WANTED))
        for name in here:
            with self.subTest(provider=name):
                result = run(2, PROCESS / "kinds", WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER=name)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: src/coll src/net/ofi tests/process/collectives_by_seeds.cpp tests/support/random_collectives.cpp tests/support/exchange.cpp
# stages: release asan
"""Collectives by seeds, with shared memory left out."""

import unittest

from ofi_program import CACHE, PROCESS, SANITIZED, providers_here, run

WANTED = ("tcp;ofi_rxm", "tcp", "shm")
SEEDS = 200 if "WEFT_LONG:BOOL=ON" in CACHE.read_text() else 2 if SANITIZED else 8


class Collectives(unittest.TestCase):
    def test_give_what_the_oracle_gives_over_a_provider(self):
        here = [name for name in WANTED if name in providers_here()]
        if not here:
            self.skipTest("libfabric has none of the providers " + ", ".join(WANTED))
        for name in here:
            for ranks in (2, 3):
                with self.subTest(provider=name, ranks=ranks):
                    result = run(ranks, PROCESS / "collectives_by_seeds", 1000 * ranks, SEEDS, WEFT_TRANSPORT="ofi",
                                 WEFT_OFI_PROVIDER=name)
                    self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()

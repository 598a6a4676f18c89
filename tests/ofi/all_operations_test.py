# SPDX-License-Identifier: BSD-3-Clause
# subject: src/net/ofi tests/process/fabric.cpp
# stages: release asan
"""All operations together, by several threads, over each libfabric provider that is here, with shared memory left out."""

import unittest

import ofi_program
from ofi_program import PROCESS, fabric_counts, providers_here, run

# Not udp;ofi_rxd: in libfabric 1.17 it loses messages under such a load (docs/libfabric.md).
WANTED = ("net", "tcp", "tcp;ofi_rxm", "shm")


class AllOperations(unittest.TestCase):
    def check(self, ranks, **variables):
        result = run(ranks, PROCESS / "all_operations", **variables)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        counts = fabric_counts(result)
        self.assertEqual(sorted(counts), list(range(ranks)))
        for messages, _ in counts.values():
            self.assertGreater(messages, 0)

    def test_over_each_provider(self):
        here = [name for name in WANTED if name in providers_here()]
        self.assertTrue(here, "libfabric has none of the providers that are tested")
        for name in here:
            for ranks in (2,) if ofi_program.SANITIZED else (2, 4):
                with self.subTest(provider=name, ranks=ranks):
                    self.check(ranks, WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER=name)

    def test_over_a_simulated_bad_network_on_top_of_a_provider(self):
        name = next(name for name in WANTED if name in providers_here())
        self.check(2, WEFT_TRANSPORT="sim:ofi,sim:self", WEFT_OFI_PROVIDER=name)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: src/net/ofi tests/process/fabric.cpp tests/process/fabric_full.cpp tests/process/fabric_loss.cpp
# cost: 60
"""Programs over each libfabric provider that is here, by weft-run, with shared memory left out."""

import unittest

import ofi_program
from ofi_program import BYTES, MESSAGES, PROCESS, fabric_counts, providers_here, run

WANTED = ("net", "tcp", "tcp;ofi_rxm", "shm")
# In libfabric 1.17 this one stops delivering under a long load (docs/libfabric.md); it gets a short one.
SHORT_ONLY = ("udp;ofi_rxd",)


class Provider(unittest.TestCase):
    def check(self, result):
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return result

    def for_each_provider(self, body, names=WANTED):
        here = [name for name in names if name in providers_here()]
        self.assertTrue(here, "libfabric has none of the providers that are tested")
        for name in here:
            with self.subTest(provider=name):
                body(name)

    def test_active_messages_of_all_sizes(self):
        def body(name):
            for ranks in (2,) if ofi_program.SANITIZED else (2, 4):
                self.check(run(ranks, PROCESS / "am", WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER=name))
        self.for_each_provider(body)

    @unittest.skipIf(ofi_program.SANITIZED, "slow, and the same code as above")
    def test_active_messages_in_small_and_few_packets(self):
        self.for_each_provider(
            lambda name: self.check(run(3, PROCESS / "am_tiny", WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER=name)))

    def test_the_bytes_cross_the_provider(self):
        def body(name):
            counts = fabric_counts(self.check(run(3, PROCESS / "fabric", WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER=name)))
            self.assertEqual(sorted(counts), [0, 1, 2])
            for messages, sent in counts.values():
                self.assertGreaterEqual(messages, 2 * MESSAGES)
                self.assertGreaterEqual(sent, 2 * MESSAGES * BYTES)
        self.for_each_provider(body, WANTED + SHORT_ONLY)

    def test_a_rank_that_has_gone_is_told_of_to_those_who_send_to_it(self):
        def body(name):
            result = run(3, PROCESS / "fabric_loss", WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER=name)
            self.assertEqual(result.returncode, 0, result.stderr)
            for rank in (0, 1):
                self.assertRegex(result.stdout, fr"rank {rank}: a post .*: messages to rank 2 can't be sent any more: \w+")
                self.assertRegex(result.stderr, fr"weft {rank}/3: error: messages to rank 2 can't be sent any more")
        self.for_each_provider(body, ("net", "tcp;ofi_rxm"))

    def test_the_end_of_a_load_that_fills_sockets_arrives(self):
        def body(name):
            # The second way: a provider that puts messages aside and calls them sent.
            for variables in ({}, {"FI_NET_STAGING_SBUF_SIZE": "9000", "FI_TCP_STAGING_SBUF_SIZE": "9000"}):
                self.check(run(2, PROCESS / "fabric_full", WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER=name, **variables))
        self.for_each_provider(body, ("net", "tcp;ofi_rxm"))

    def test_the_fastest_provider_is_taken_and_told(self):
        result = run(2, PROCESS / "fabric", WEFT_TRANSPORT="ofi", WEFT_LOG="info")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("us one way", result.stderr)
        self.assertRegex(result.stderr, "the provider is .*, the fastest")

    def test_nothing_crosses_a_fabric_where_memory_is_shared(self):
        self.assertEqual(fabric_counts(self.check(run(2, PROCESS / "fabric"))), {0: (0, 0), 1: (0, 0)})

    def test_a_provider_that_is_not_there_is_an_error_that_lists_those_that_are(self):
        result = run(2, PROCESS / "fabric", WEFT_TRANSPORT="ofi", WEFT_OFI_PROVIDER="pigeons")
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, "no provider 'pigeons' .* found: .*" + providers_here()[0])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: src/net/ofi tests/process/fabric.cpp
"""Two nodes of two ranks each: network namespaces of this machine, joined by a veth pair.

Ranks of one node share memory, which those of different nodes can't (the socket by which they would meet belongs to a
namespace), so that libfabric joins them.
"""

import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from ofi_program import BUILD, BYTES, MESSAGES, PROCESS, SANITIZED, fabric_counts, run

SPADES = sorted(Path("/usr/share/spades/test_dataset").glob("ecoli_1K_?.fq.gz"))
SPADES_TOTAL, SPADES_DISTINCT, SPADES_ONCE, SPADES_HIGHEST = 230710, 977, 0, 429  # k = 31; as tests/kmer has them
NODES = tuple(f"weft-{os.getpid()}-{side}" for side in "ab")
RANKS_PER_NODE = 2
# Removes the namespaces when this process ends, however that comes about: then its standard input ends.
CLEANER = "read -r word; for node in {}; do ip netns del $node 2>/dev/null; done; true".format(" ".join(NODES))


def ip(*words):
    return subprocess.run(["ip", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=600, check=True)


def make_nodes():
    for node in NODES:
        ip("netns", "add", node)
        ip("-n", node, "link", "set", "lo", "up")
    ip("link", "add", "name", "weft0", "netns", NODES[0], "type", "veth", "peer", "name", "weft0", "netns", NODES[1])
    for number, node in enumerate(NODES):
        ip("-n", node, "addr", "add", f"198.18.7.{number + 1}/24", "dev", "weft0")
        ip("-n", node, "link", "set", "weft0", "up")
    wait_for_link()


def wait_for_link(is_up=True):
    """Until it is up libfabric leaves the address out, and only the node itself could reach what is left."""
    until = time.monotonic() + 60
    while any(("LOWER_UP" in ip("-n", node, "link", "show", "weft0").stdout) != is_up for node in NODES):
        if time.monotonic() > until:
            raise TimeoutError(f"the two ends of the veth pair do not come {'up' if is_up else 'down'}")
        time.sleep(0.01)


class TwoNodes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise unittest.SkipTest("making network namespaces takes root and the command ip (package iproute2)")
        cls.cleaner = subprocess.Popen(["sh", "-c", CLEANER], stdin=subprocess.PIPE, start_new_session=True)
        cls.addClassCleanup(cls.clean)
        try:
            make_nodes()
        except subprocess.CalledProcessError as refused:
            raise unittest.SkipTest(f"network namespaces are not permitted here: {refused.stderr.strip()}") from None
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.on_node = cls.folder / "on_node"
        cls.on_node.write_text(f"#!/bin/sh\nnode={NODES[0]}\n[ $PMI_RANK -lt {RANKS_PER_NODE} ] || node={NODES[1]}\n"
                               'exec ip netns exec $node "$@"\n')
        cls.on_node.chmod(0o700)

    @classmethod
    def clean(cls):
        cls.cleaner.stdin.close()
        cls.cleaner.wait(300)

    def run_on_nodes(self, *command, **variables):
        result = run(2 * RANKS_PER_NODE, self.on_node, *command, **variables)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result

    @unittest.skipIf(SANITIZED, "a sanitizer wants /proc")
    def test_two_nodes_are_two_though_nothing_in_proc_tells_them_apart(self):
        without_proc = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh")
        counts = fabric_counts(self.run_on_nodes(*without_proc, PROCESS / "fabric"))
        self.assertEqual(sorted(counts), [0, 1, 2, 3])
        for messages, sent in counts.values():
            self.assertGreaterEqual(messages, 2 * MESSAGES)
            self.assertLess(sent, 3 * MESSAGES * BYTES)

    def test_shared_memory_inside_a_node_and_a_fabric_between_them(self):
        for provider in (None, "tcp;ofi_rxm"):
            with self.subTest(provider=provider):
                chosen = {"WEFT_OFI_PROVIDER": provider} if provider else {}
                result = self.run_on_nodes(PROCESS / "fabric", **chosen)
                counts = fabric_counts(result)
                self.assertEqual(sorted(re.findall(r"rank (\d) sees nodes (.*)", result.stdout)),
                                 [(str(rank), "0 0 1 1") for rank in range(4)])
                self.assertEqual(sorted(counts), [0, 1, 2, 3])
                for messages, sent in counts.values():
                    # To the two ranks of the other node, and not to the third of the own one.
                    self.assertGreaterEqual(messages, 2 * MESSAGES)
                    self.assertGreaterEqual(sent, 2 * MESSAGES * BYTES)
                    self.assertLess(sent, 3 * MESSAGES * BYTES)

    def test_active_messages_of_all_sizes(self):
        self.run_on_nodes(PROCESS / "am")

    def test_all_operations_together(self):
        counts = fabric_counts(self.run_on_nodes(PROCESS / "all_operations"))
        self.assertEqual(sorted(counts), [0, 1, 2, 3])
        for messages, _ in counts.values():
            self.assertGreater(messages, 0)

    def test_collectives_go_within_nodes_and_between_their_leaders(self):
        result = self.run_on_nodes(PROCESS / "collectives", WEFT_LOG="debug")
        lines = re.findall(r"(?m): debug: (\w+)(?: of \d+ bytes?)? among 4 members: (\S+), as", result.stderr)
        two_levels = {"barrier", "broadcast", "reduce", "allreduce", "allgather"}
        self.assertEqual({operation for operation, algorithm in lines if algorithm == "two-level"}, two_levels)
        self.assertEqual({operation for operation, algorithm in lines if algorithm != "two-level"}, {"alltoall"})
        one_level = "barrier:tree,broadcast:chain,reduce:binomial,allreduce:rabenseifner,allgather:bruck"
        flat = self.run_on_nodes(PROCESS / "collectives", WEFT_COLL=one_level)
        fabric_bytes = [sum(sent for _, sent in fabric_counts(each).values()) for each in (result, flat)]
        self.assertLess(fabric_bytes[0], fabric_bytes[1])
        told = self.run_on_nodes(BUILD / "bin/weft-info", "--explain", "allreduce", 8).stdout
        self.assertIn("algorithm two-level: the rule for any number of bytes\n", told)
        # Of rank 0, which leads its node: to and from its neighbour by shared memory, and the other leader by the fabric.
        for peer, transport in ((1, "shm"), (2, "ofi")):
            self.assertRegex(told, rf"rank 0 and rank {peer}: 2 messages of 8 bytes\n(  .*\n)*  transport {transport} ")

    def test_a_node_without_a_network_is_named(self):
        # The other node has a network for a moment; then neither has one, and each would take the loopback.
        for both in (False, True):
            with self.subTest(both=both):
                ip("-n", NODES[1], "link", "set", "weft0", "down")
                try:
                    if both:
                        wait_for_link(is_up=False)
                    result = run(2 * RANKS_PER_NODE, self.on_node, PROCESS / "fabric")
                finally:
                    ip("-n", NODES[1], "link", "set", "weft0", "up")
                    wait_for_link()
                self.assertNotEqual(result.returncode, 0)
                # The first node's network goes at some moment while its ranks look: perhaps between two of them.
                cut, other = ("[23]", "[01]") if both else ("[0-3]", "[0-3]")
                self.assertRegex(result.stderr, rf"rank {cut} can only be reached from its own machine, and rank {other} ")

    @unittest.skipIf(SANITIZED, "tests/kmer runs it with sanitizers")
    @unittest.skipUnless(len(SPADES) == 2, "the reads of the package spades are not installed")
    def test_kmers_are_counted_right(self):
        for threads in (1, 2):
            histogram = self.folder / "histogram"
            told = self.run_on_nodes(BUILD / "bin/weft-kmer", "count", "-k", 31, "--threads", threads, "--exact",
                                     "--histogram", histogram, *SPADES).stdout
            lines = [tuple(map(int, line.split(" "))) for line in histogram.read_text().splitlines()]
            self.assertEqual(sum(kmers for _, kmers in lines), SPADES_DISTINCT)
            self.assertEqual(sum(count * kmers for count, kmers in lines), SPADES_TOTAL)
            self.assertEqual(dict(lines).get(1, 0), SPADES_ONCE)
            self.assertEqual(lines[-1][0], SPADES_HIGHEST)
            self.assertTrue(re.search(rf"k-mers +{SPADES_TOTAL}\b", told), told)


if __name__ == "__main__":
    unittest.main()

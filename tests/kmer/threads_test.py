# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/kmer
"""Unless the user says how many threads there are, there are as many as processors that the ranks may use."""

import os
import shutil
import subprocess
import unittest

import kmer_program
from kmer_program import KmerTest

RECORD = "@read\nACGGTACCTAGACGTTACGATACCATTAGAGGAT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n"
ALLOWED = sorted(os.sched_getaffinity(0))


class Threads(KmerTest):
    def threads(self, *before, ranks=1, environment=None):
        """How many threads each rank has."""
        reads = self.write("reads.fq", RECORD * 100)
        result = subprocess.run([str(part) for part in [*before, kmer_program.WEFT_KMER, "count", reads]],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=kmer_program.RUN_TIMEOUT_S, env=environment)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = [line for line in result.stdout.splitlines() if line.startswith("rank ")]
        self.assertEqual(len(lines) % ranks, 0)
        return len(lines) // ranks

    def test_of_one_process_are_those_that_it_may_use(self):
        self.assertEqual(self.threads(), len(ALLOWED))

    @unittest.skipUnless(shutil.which("taskset"), "no taskset")
    def test_of_one_process_on_one_processor(self):
        for processor in (ALLOWED[0], ALLOWED[-1]):
            self.assertEqual(self.threads("taskset", "-c", processor), 1)

    @unittest.skipIf(kmer_program.RANKS_MAX < 2, "one rank only")
    def test_of_several_ranks_share_what_they_may_use(self):
        for start in kmer_program.LAUNCHERS.values():
            for ranks in (2, 3):
                self.assertEqual(self.threads(*start, ranks, ranks=ranks), max(1, len(ALLOWED) // ranks))

    @unittest.skipIf(kmer_program.RANKS_MAX < 2, "one rank only")
    @unittest.skipUnless(shutil.which("taskset") and len(ALLOWED) > 1, "no taskset, or one processor")
    def test_of_ranks_on_processors_of_their_own(self):
        if "hydra" in kmer_program.LAUNCHERS:  # which binds no rank
            script = f'exec taskset -c $((PMI_RANK ? {ALLOWED[0]} : {ALLOWED[1]})) "$@"'
            self.assertEqual(self.threads(*kmer_program.LAUNCHERS["hydra"], 2, "sh", "-c", script, "sh", ranks=2), 1)

    def test_packets_that_are_too_small_are_refused(self):
        reads = self.write("reads.fq", RECORD * 100)
        for ranks in (1, 2):
            result = kmer_program.run("count", reads, ranks=ranks, env=dict(os.environ, WEFT_PACKET_BYTES="512"))
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assertIn(b"weft-kmer: WEFT_PACKET_BYTES is 512", result.stderr)


if __name__ == "__main__":
    unittest.main()

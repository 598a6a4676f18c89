# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/kmer
"""weft-kmer finds what jellyfish finds in the same reads: the same histogram, and the same count of each k-mer."""

import gzip
import shutil
import subprocess
import sys
import unittest

import kmer_program
from kmer_program import BUILD, SOURCE, SPADES, UNICYCLER, KmerTest, read_counts, run

PERF = SOURCE / "perf/kmer_vs_jellyfish"


@unittest.skipUnless(shutil.which("jellyfish"), "jellyfish is not installed")
@unittest.skipUnless(len(UNICYCLER) == 2, "the reads of the package unicycler-data are not installed")
class Jellyfish(KmerTest):
    def jellyfish(self, *arguments):
        command = ["jellyfish", *(str(argument) for argument in arguments)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=kmer_program.RUN_TIMEOUT_S)

    def jellyfish_counts(self, files, k, *more):
        """Counts of canonical k-mers; `more` are options of `jellyfish count`."""
        reads, table, dump = self.folder / "reads.fq", self.folder / "table.jf", self.folder / "dump"
        with open(reads, "wb") as text:
            for file in files:
                with gzip.open(file) as compressed:
                    shutil.copyfileobj(compressed, text)
        self.jellyfish("count", "-C", "-m", k, "-s", "2M", "-t", 2, *more, "-o", table, reads)
        self.jellyfish("dump", "-c", "-t", "-o", dump, table)
        return read_counts(dump)

    def check_counts(self, files, k, *more, jellyfish=(), ranks=2):
        counts = self.folder / "counts"
        result = run("count", "-k", k, "--threads", 2, *more, "--counts", counts, *files, ranks=ranks)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        # Hundreds of thousands: a difference would be shown for hours.
        self.assertTrue(read_counts(counts) == self.jellyfish_counts(files, k, *jellyfish), f"{k}-mers {more}")

    def test_each_kmer_has_the_same_count(self):
        self.check_counts(UNICYCLER, 51, "--exact")
        self.check_counts(UNICYCLER, 31, jellyfish=("-L", 2))

    @unittest.skipUnless(len(SPADES) == 2, "the reads of the package spades are not installed")
    def test_each_kmer_of_spades_reads_has_the_same_count(self):
        for k in (1, 12, 32, 33, 63):
            self.check_counts(SPADES, k, "--exact", ranks=3)
            self.check_counts(SPADES, k, jellyfish=("-L", 2))

    @unittest.skipUnless(kmer_program.RANKS_MAX > 1, "two processes, which ThreadSanitizer doesn't see through")
    def test_the_comparison_of_speed_compares_equal_histograms(self):
        result = subprocess.run([sys.executable, "-B", PERF, "--rounds", "0", "--sizes", "2M", "--build", BUILD],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                timeout=kmer_program.RUN_TIMEOUT_S)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("the histograms are the same: jellyfish -s 2M, weft-kmer, 1 process with 2 threads, weft-kmer, 2 "
                      "processes with 1 thread", result.stdout)


if __name__ == "__main__":
    unittest.main()

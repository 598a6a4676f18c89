# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/kmer tests/kmer/known
"""The histograms of real reads are the known ones, whatever the number of ranks and threads and the launcher."""

import unittest

import kmer_program
from kmer_program import (KmerTest, SPADES, UNICYCLER, count_slowly, known_histogram, read_counts, read_fastq,
                          read_histogram, run, summary)


class Known(KmerTest):
    def check(self, name, files, k, *more, ranks, threads, launcher):
        if ranks > kmer_program.RANKS_MAX:
            return
        known = known_histogram(name, k)
        total = sum(count * kmers for count, kmers in known)
        distinct = sum(kmers for _, kmers in known)
        once = dict(known).get(1, 0)
        exact = "--exact" in more
        histogram = self.folder / "histogram"
        with self.subTest(ranks=ranks, threads=threads, k=k, exact=exact, launcher=launcher):
            result = run("count", "-k", k, "--threads", threads, *more, "--histogram", histogram, *files, ranks=ranks,
                         launcher=launcher)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(read_histogram(histogram), known if exact else [line for line in known if line[0] > 1])
            found = summary(result)
            self.assertEqual([found[name] for name in ("k-mers", "distinct", "seen once")],
                             [str(total), str(distinct), str(once)])
            served = [line for line in result.stdout.decode().splitlines() if line.startswith("rank ")]
            self.assertEqual(len(served), ranks * threads)
            for line in served:
                self.assertGreater(int(line.split()[-1]), 0, "a thread that served nothing")
            self.assertEqual(sum(int(line.split()[-1]) for line in served), total * (1 if exact else 2))

    @unittest.skipUnless(len(SPADES) == 2, "the reads of the package spades are not installed")
    def test_spades_reads_on_one_to_four_ranks_with_one_to_four_threads(self):
        for launcher in kmer_program.LAUNCHERS:
            for ranks in (1, 2, 3, 4):
                for threads in (1, 2, 4):
                    k = 31 if (ranks + threads) % 2 else 51
                    self.check("spades", SPADES, k, ranks=ranks, threads=threads, launcher=launcher)
                    k = 82 - k
                    self.check("spades", SPADES, k, "--exact", ranks=ranks, threads=threads, launcher=launcher)

    @unittest.skipUnless(len(UNICYCLER) == 2, "the reads of the package unicycler-data are not installed")
    def test_unicycler_reads(self):
        for ranks, threads, k, launcher in ((1, 2, 31, "weft-run"), (2, 2, 51, "weft-run"), (3, 1, 31, "hydra"),
                                            (4, 2, 51, "hydra")):
            if launcher not in kmer_program.LAUNCHERS:
                continue
            where = {"ranks": ranks, "threads": threads, "launcher": launcher}
            self.check("unicycler", UNICYCLER, k, "--exact", **where)
            self.check("unicycler", UNICYCLER, k, **where)

    @unittest.skipUnless(len(SPADES) == 2, "the reads of the package spades are not installed")
    def test_counts_of_all_ranks_are_in_one_file(self):
        files = self.folder / "one", self.folder / "four"
        self.assertEqual(run("count", "-k", 31, "--counts", files[0], *SPADES).returncode, 0)
        self.assertEqual(run("count", "-k", 31, "--threads", 2, "--counts", files[1], *SPADES, ranks=4).returncode, 0)
        expected = count_slowly([read for file in SPADES for read in read_fastq(file)], 31)
        self.assertEqual(read_counts(files[0]), expected)  # all of them occur more than once
        self.assertEqual(read_counts(files[1]), expected)


if __name__ == "__main__":
    unittest.main()

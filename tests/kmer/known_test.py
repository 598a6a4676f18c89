"""The histograms of real reads are the known ones, whatever the number of ranks and threads and the launcher."""

import unittest
from pathlib import Path

import kmer_program
from kmer_program import KmerTest, read_counts, read_histogram, run, summary

SPADES = sorted(Path("/usr/share/spades/test_dataset").glob("ecoli_1K_?.fq.gz"))
UNICYCLER = sorted(Path("/usr/share/unicycler-data/sample_data").glob("short_reads_?.fastq.gz"))
# k: k-mers, distinct, seen once, highest count; as jellyfish and kmc have them.
SPADES_KNOWN = {31: (230710, 977, 0, 429), 51: (151616, 953, 4, 319)}
UNICYCLER_KNOWN = {31: (9538000, 654110, 458530, 325), 51: (7530000, 784004, 585337, 201)}


class Known(KmerTest):
    def check(self, files, k, known, *more, ranks, threads, launcher):
        if ranks > kmer_program.RANKS_MAX:
            return None
        total, distinct, once, highest = known
        exact = "--exact" in more
        histogram = self.folder / "histogram"
        with self.subTest(ranks=ranks, threads=threads, k=k, exact=exact, launcher=launcher):
            result = run("count", "-k", k, "--threads", threads, *more, "--histogram", histogram, *files, ranks=ranks,
                         launcher=launcher)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            lines = read_histogram(histogram)
            expected = distinct if exact else distinct - once
            self.assertEqual(sum(kmers for _, kmers in lines), expected)
            self.assertEqual(lines[-1][0], highest)
            self.assertEqual(dict(lines).get(1, 0), once if exact else 0)
            found = summary(result)
            self.assertEqual([found[name] for name in ("k-mers", "distinct", "seen once")],
                             [str(total), str(distinct), str(once)])
            served = [line for line in result.stdout.decode().splitlines() if line.startswith("rank ")]
            self.assertEqual(len(served), ranks * threads)
            for line in served:
                self.assertGreater(int(line.split()[-1]), 0, "a thread that served nothing")
            self.assertEqual(sum(int(line.split()[-1]) for line in served), total * (1 if exact else 2))
            return lines

    @unittest.skipUnless(len(SPADES) == 2, "the reads of the package spades are not installed")
    def test_spades_reads_on_one_to_four_ranks_with_one_to_four_threads(self):
        for launcher in kmer_program.LAUNCHERS:
            for ranks in (1, 2, 3, 4):
                for threads in (1, 2, 4):
                    k = 31 if (ranks + threads) % 2 else 51
                    self.check(SPADES, k, SPADES_KNOWN[k], ranks=ranks, threads=threads, launcher=launcher)
                    k = 82 - k
                    self.check(SPADES, k, SPADES_KNOWN[k], "--exact", ranks=ranks, threads=threads, launcher=launcher)

    @unittest.skipUnless(len(UNICYCLER) == 2, "the reads of the package unicycler-data are not installed")
    def test_unicycler_reads(self):
        for ranks, threads, k, launcher in ((1, 2, 31, "weft-run"), (2, 2, 51, "weft-run"), (3, 1, 31, "hydra"),
                                            (4, 2, 51, "hydra")):
            if launcher not in kmer_program.LAUNCHERS:
                continue
            where = {"ranks": ranks, "threads": threads, "launcher": launcher}
            exact = self.check(UNICYCLER, k, UNICYCLER_KNOWN[k], "--exact", **where)
            filtered = self.check(UNICYCLER, k, UNICYCLER_KNOWN[k], **where)
            if exact:
                self.assertEqual(filtered, exact[1:])

    @unittest.skipUnless(len(SPADES) == 2, "the reads of the package spades are not installed")
    def test_counts_of_all_ranks_are_in_one_file(self):
        files = self.folder / "one", self.folder / "four"
        self.assertEqual(run("count", "-k", 31, "--counts", files[0], *SPADES).returncode, 0)
        self.assertEqual(run("count", "-k", 31, "--threads", 2, "--counts", files[1], *SPADES, ranks=4).returncode, 0)
        counts = read_counts(files[0])
        self.assertEqual((len(counts), max(counts.values())), (977, 429))
        self.assertEqual(counts, read_counts(files[1]))


if __name__ == "__main__":
    unittest.main()

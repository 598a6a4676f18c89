# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/kmer
"""Every format gives the counts of a count the slow way, split over ranks and threads."""

import gzip
import random
import re
import shutil
import subprocess
import unittest

import kmer_program
from kmer_program import KmerTest, count_slowly, histogram_of, read_counts, read_histogram, run

LETTERS = random.Random(7)
GENOME = "".join(LETTERS.choice("ACGT") for _ in range(3000))


def make_reads(count):
    reads = []
    for _ in range(count):
        at = LETTERS.randrange(len(GENOME) - 150)
        read = list(GENOME[at:at + LETTERS.randrange(0, 150)])
        for i in range(len(read)):
            if LETTERS.random() < 0.01:
                read[i] = LETTERS.choice("ACGTNacgtn")
        reads.append("".join(read))
    return reads


# Enough for several pieces of every file.
READS = make_reads(4000)
GENOMES = [GENOME * 60, "ACGTN" * 3, "", GENOME[:1500].lower() * 200]


def fastq(reads, end="\n"):
    # Quality lines that begin with '@' or '+', as records do.
    return "".join(f"@r{i}{end}{read}{end}+{end}{(LETTERS.choice('@+I') + 'I' * len(read))[:len(read)]}{end}"
                   for i, read in enumerate(reads))


def fasta(sequences, width, end="\n"):
    return "".join(f">s{i} x{end}" + "".join(s[at:at + width] + end for at in range(0, len(s), width))
                   for i, s in enumerate(sequences))


class Formats(KmerTest):
    def check(self, paths, sequences, k=21, ranks=1, threads=2, **options):
        counts, histogram = self.folder / "counts", self.folder / "histogram"
        for mode in ("--exact", "--strand"):
            expected = count_slowly(sequences, k, strand=mode == "--strand")
            if mode == "--strand":
                expected = {kmer: count for kmer, count in expected.items() if count > 1}
            result = run("count", "-k", k, mode, "--threads", threads, "--counts", counts, "--histogram", histogram,
                         *paths, ranks=ranks, **options)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(read_counts(counts), expected)
            self.assertEqual(read_histogram(histogram), histogram_of(expected))

    def test_plain_fastq(self):
        self.check([self.write("reads.fq", fastq(READS))], READS, ranks=3)

    def test_fastq_with_carriage_returns_and_without_a_last_line_end(self):
        self.check([self.write("reads.fq", fastq(READS, "\r\n")[:-2])], READS, ranks=2)

    def test_fasta_with_long_records_in_short_lines(self):
        for width, end in ((60, "\n"), (7, "\r\n")):
            self.check([self.write("genome.fa", fasta(GENOMES, width, end))], GENOMES, k=63, ranks=3)

    def test_fasta_with_carriage_returns_alone(self):
        text = fasta(GENOMES, 60, "\r")
        self.check([self.write("genome.fa", text)], GENOMES, k=31, ranks=3)
        self.check([self.write("genome.fa.gz", gzip.compress(text.encode()))], GENOMES, k=31, ranks=2)

    def test_rna_is_counted_as_dna(self):
        rna = [genome.replace("T", "U").replace("t", "u") for genome in GENOMES]
        self.check([self.write("genome.fa", fasta(rna, 60))], GENOMES, ranks=2)
        counts = self.folder / "counts"
        with open(self.write("genome.fa", fasta(rna, 60)), "rb") as stdin:
            result = run("count", "-k", 21, "--counts", counts, "-", stdin=stdin)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(read_counts(counts), {k: n for k, n in count_slowly(GENOMES, 21).items() if n > 1})

    def test_fasta_with_one_line_a_record(self):
        self.check([self.write("genome.fa", fasta(GENOMES, 1000000))], GENOMES, k=32, ranks=2)

    def test_gzip_of_several_members_and_plain_files_together(self):
        half = len(READS) // 2
        members = gzip.compress(fastq(READS[:half]).encode()) + gzip.compress(fastq(READS[half:]).encode())
        genome = gzip.compress(fasta(GENOMES, 70).encode())
        paths = [self.write("reads.fq.gz", members), self.write("genome.fa.gz", genome),
                 self.write("more.fq", fastq(READS[:100]))]
        self.check(paths, READS + GENOMES + READS[:100], ranks=2)

    @unittest.skipUnless(shutil.which("bgzip"), "no bgzip")
    def test_bgzip_is_split_among_ranks(self):
        for name, text, sequences in (("r.fq", fastq(READS), READS), ("g.fa", fasta(GENOMES, 70), GENOMES)):
            path = self.write(name, text)
            subprocess.run(["bgzip", "-f", path], check=True, timeout=600)
            self.check([self.folder / (name + ".gz")], sequences, ranks=3)

    def test_standard_input_and_pipes_are_spooled(self):
        path = self.write("reads.fq.gz", gzip.compress(fastq(READS).encode()))
        counts = self.folder / "counts"
        expected = {kmer: count for kmer, count in count_slowly(READS, 21).items() if count > 1}
        with open(path, "rb") as stdin:
            result = run("count", "-k", 21, "--threads", 3, "--counts", counts, "-", stdin=stdin)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(read_counts(counts), expected)
        zcat = subprocess.Popen(["zcat", path], stdout=subprocess.PIPE)
        result = run("count", "-k", 21, "--counts", counts, "-", stdin=zcat.stdout)
        zcat.stdout.close()
        self.assertEqual((zcat.wait(timeout=600), result.returncode, result.stderr), (0, 0, b""))
        self.assertEqual(read_counts(counts), expected)

    def test_every_k_from_1_to_63(self):
        reads = READS[:60]
        path = self.write("reads.fq", fastq(reads))
        counts = self.folder / "counts"
        # Fewer where a sanitizer makes each run slow.
        for k in range(1, 64, 1 if kmer_program.RANKS_MAX > 1 else 9):
            result = run("count", "-k", k, "--exact", "--threads", 2, "--counts", counts, path)
            self.assertEqual((result.returncode, result.stderr), (0, b""), k)
            self.assertEqual(read_counts(counts), count_slowly(reads, k), k)

    def test_min_count_leaves_rare_kmers_out_of_both_files(self):
        counts, histogram = self.folder / "counts", self.folder / "histogram"
        result = run("count", "-k", 15, "--exact", "--min-count", 5, "--counts", counts, "--histogram", histogram,
                     self.write("reads.fq", fastq(READS)), ranks=2)
        self.assertEqual(result.returncode, 0)
        expected = {kmer: count for kmer, count in count_slowly(READS, 15).items() if count >= 5}
        self.assertEqual(read_counts(counts), expected)
        self.assertEqual(read_histogram(histogram), histogram_of(expected))

    def test_the_histogram_tallies_all_counts_above_10000_together(self):
        histogram = self.folder / "histogram"
        result = run("count", "-k", 4, "--exact", "--histogram", histogram,
                     self.write("a.fa", ">a\n" + "A" * 10003 + "\n>b\n" + "C" * 30000 + "\n>c\n" + "AC" * 7000 + "\n"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(read_histogram(histogram), [(6998, 1), (6999, 1), (10000, 1), (10001, 1)])

    def test_files_without_a_single_kmer_are_no_error_but_said(self):
        histogram = self.folder / "histogram"
        result = run("count", "-k", 31, "--histogram", histogram, self.write("a.fa", ">a\nACGT\n"), ranks=2)
        self.assertEqual((result.returncode, read_histogram(histogram)), (0, []))
        self.assertEqual(result.stderr, b"weft-kmer: warning: 1 record, and no k-mer: no 31 letters in a row (-k) are all "
                                        b"of A, C, G, T and U\n")

    def test_proteins_are_counted_but_said(self):
        text = ">p\n" + "MKVLAACGTACGTL\n" * 3000
        for k, kmers in ((31, False), (5, True)):
            for mode in ("--exact", "--strand"):
                for ranks in (1, 2):
                    with self.subTest(k=k, mode=mode, ranks=ranks):
                        self.check_protein(run("count", "-k", k, mode, self.write("p.fa", text), ranks=ranks), kmers, 6000)
            with open(self.write("p.fa.gz", gzip.compress(text.encode())), "rb") as stdin:
                self.check_protein(run("count", "-k", k, "-", stdin=stdin), kmers, 6000)

    def check_protein(self, result, has_kmers, strange):
        self.assertEqual(result.returncode, 0)
        warnings = result.stderr.decode().splitlines()
        self.assertEqual(len(warnings), 1 if has_kmers else 2, warnings)
        said = re.fullmatch("weft-kmer: warning: about ([0-9]+) letters of the sequences are of no nucleic acid, as 'L': "
                            "are these proteins[?]", warnings[-1])
        self.assertTrue(said, warnings)
        self.assertIn(int(said.group(1)), range(strange, strange + 100))
        if not has_kmers:
            self.assertIn("1 record, and no k-mer", warnings[0])

    def test_outputs_may_be_devices(self):
        path = self.write("a.fa", ">a\nAAAAACCCCC\n")
        result = run("count", "-k", 9, "--exact", "--threads", 2, "--counts", "/dev/stdout", path)
        self.assertEqual(result.returncode, 0)
        self.assertIn(b"AAAAACCCC\t1\n", result.stdout)
        self.assertEqual(run("count", "-k", 9, "--counts", "/dev/null", path, ranks=2).returncode, 0)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/kmer
# stages: release asan
"""What can't be right ends with one message that says so, a failure on every rank, and no output."""

import gzip
import os
import resource
import shutil
import signal
import subprocess
import unittest

import kmer_program
from kmer_program import KmerTest, run

RECORD = "@read\nACGGTACCTAGACGTTACGATACCATTAGAGGAT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n"
GOOD = RECORD * 20000  # several pieces


class BadInput(KmerTest):
    def check(self, words, *arguments, ranks=(1, 3), launchers=("weft-run", "hydra"), **options):
        """Fails with one line on standard error that has these words."""
        counts, histogram = self.folder / "counts", self.folder / "histogram"
        counts.write_text("as it was")
        for launcher in launchers:
            if launcher not in kmer_program.LAUNCHERS:
                continue
            for n in ranks:
                with self.subTest(launcher=launcher, ranks=n):
                    outputs = () if "--counts" in arguments else ("--counts", counts, "--histogram", histogram)
                    threads = () if "--threads" in arguments else ("--threads", 2)
                    result = run("count", *threads, *outputs, *arguments, ranks=n, launcher=launcher, **options)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertEqual(result.stdout.strip(), b"")
                    text = result.stderr.decode()
                    own = [line for line in text.splitlines() if line.startswith("weft-kmer: ")]
                    self.assertEqual(len(own), 1, text)
                    for word in words:
                        self.assertIn(word, own[0])
                    self.assertEqual(counts.read_text(), "as it was")
                    self.assertFalse(histogram.exists())
                    self.assertEqual([f for f in os.listdir(self.folder) if "unfinished" in f], [])

    def test_a_missing_file(self):
        self.check(["/no/such/reads.fq", "No such file"], self.write("good.fq", GOOD), "/no/such/reads.fq")

    def test_a_directory(self):
        self.check([str(self.folder), "is a directory"], self.folder)

    def test_an_empty_file(self):
        self.check(["empty.fq", "is empty"], self.write("empty.fq", ""))
        self.check(["empty.gz", "is empty"], self.write("empty.gz", gzip.compress(b"")))

    def test_a_file_that_is_neither_fasta_nor_fastq(self):
        self.check(["x.txt", "neither FASTA nor FASTQ"], self.write("x.txt", "hello\n"))

    def test_a_record_without_quality_line(self):
        broken = RECORD * 12344 + "@read\nACGTACGT\n" + RECORD * 7000
        for exact in ((), ("--exact",)):
            self.check(["broken.fq: record 12345", "quality line"], *exact, self.write("broken.fq", broken))
            self.check(["broken.fq.gz: record 12345", "quality line"], *exact,
                       self.write("broken.fq.gz", gzip.compress(broken.encode())))

    @unittest.skipUnless(shutil.which("bgzip"), "no bgzip")
    def test_a_bad_record_within_a_bgzip_file(self):
        path = self.write("broken.fq", RECORD * 12344 + "@read\nACGTACGT\n+\nIII\n" + RECORD * 7000)
        subprocess.run(["bgzip", path], check=True, timeout=600)
        self.check(["broken.fq.gz: record 12345", "8 letters", "3"], self.folder / "broken.fq.gz")

    def test_the_last_record_has_no_quality_line(self):
        for end in ("@read\nACGT", "@read\nACGT\n", "@read\nACGT\n+", "@read\nACGT\n+\n"):
            self.check(["cut.fq: record 20001", "no quality line"], self.write("cut.fq", GOOD + end), ranks=(2,))

    def test_quality_and_sequence_of_different_length(self):
        self.check(["a.fq: record 2", "4 letters", "3"], self.write("a.fq", RECORD + "@b\nACGT\n+\nIII\n" + RECORD))

    def test_a_truncated_gzip_stream(self):
        whole = gzip.compress(GOOD.encode(), 0)
        self.check(["cut.fq.gz: record", "ends too early"], self.write("cut.fq.gz", whole[:len(whole) // 2]))
        self.check(["cut.fq.gz: record 20001", "ends too early"], self.write("cut.fq.gz", whole[:-4]))

    def test_a_damaged_gzip_stream(self):
        whole = bytearray(gzip.compress(GOOD.encode(), 0))
        whole[-6] ^= 1
        self.check(["bad.fq.gz: record", "checksum"], self.write("bad.fq.gz", bytes(whole)))

    @unittest.skipUnless(shutil.which("bgzip"), "no bgzip")
    def test_a_truncated_bgzip_file(self):
        path = self.write("cut.fq", GOOD)
        subprocess.run(["bgzip", path], check=True, timeout=600)
        path = self.folder / "cut.fq.gz"
        whole = path.read_bytes()
        for bytes_kept in (len(whole) - 28, len(whole) - 40, len(whole) // 2):
            path.write_bytes(whole[:bytes_kept])
            self.check(["cut.fq.gz"], path, ranks=(1, 2))

    def test_k_out_of_range(self):
        good = self.write("good.fq", GOOD)
        for k in (0, 64, -3, "many"):
            for launcher, ranks in (("weft-run", 1), ("weft-run", 2), ("hydra", 2)):
                if launcher in kmer_program.LAUNCHERS:
                    result = run("count", "-k", k, good, ranks=ranks, launcher=launcher)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertEqual(result.stderr.count(b"-k"), 1, result.stderr)

    def test_more_threads_than_there_are_devices_for(self):
        self.check(["--threads 1000", "WEFT_DEVICES_MAX"], "--threads", 1000, self.write("good.fq", GOOD), ranks=(1, 2))

    @unittest.skipIf(kmer_program.RANKS_MAX < 2, "one rank only")
    def test_ranks_with_different_numbers_of_threads(self):
        good = self.write("good.fq", GOOD)
        for launcher, start in kmer_program.LAUNCHERS.items():
            for threads, words in (("$((PMI_RANK / 2 + 1))", ["rank 0 has 1", "rank 2 has 2"]),
                                   ("$((PMI_RANK ? 2 : 1000))", ["rank 0 has 1000", "rank 1 has 2", "rank 2 has 2"])):
                with self.subTest(launcher=launcher, threads=threads):
                    script = f'exec "$0" count --threads {threads} --counts "$1" "$2"'
                    command = [*start, 3, "sh", "-c", script, kmer_program.WEFT_KMER, self.folder / "counts", good]
                    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                            timeout=kmer_program.RUN_TIMEOUT_S)
                    self.assertNotEqual(result.returncode, 0)
                    own = [line for line in result.stderr.splitlines() if line.startswith("weft-kmer: ")]
                    self.assertEqual(len(own), 1, result.stderr)
                    for word in [*words, "same --threads"]:
                        self.assertIn(word, own[0])
                    self.assertEqual(os.listdir(self.folder), ["good.fq"])

    def test_an_output_that_cannot_be_made(self):
        good = self.write("good.fq", GOOD)
        self.check(["/no/such/place/counts", "cannot be written"], "--counts", "/no/such/place/counts", good)

    def test_a_full_disk(self):
        good = self.write("good.fq", GOOD)
        self.check(["/dev/full", "No space left"], "--counts", "/dev/full", "--exact", good)
        self.check(["/dev/full", "No space left"], "--counts", "/dev/null", "--histogram", "/dev/full", "--exact", good)

    def test_a_file_size_limit(self):
        good = self.write("good.fa", ">a\n" + "ACGGTCAAT" * 10 + "\n")
        counts = self.folder / "c"

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

        result = run("count", "-k", 21, "--exact", "--counts", counts, good, preexec_fn=limit)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"cannot be written", result.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["good.fa"])

    @unittest.skipIf(kmer_program.RANKS_MAX < 2, "one rank only")
    def test_standard_input_for_several_ranks(self):
        self.check(["standard input", "one process"], "-", ranks=(2,))

    def test_standard_input_that_breaks_off(self):
        path = self.write("cut.fq", GOOD + "@read\nACGT\n")
        for exact in ((), ("--exact",)):
            with open(path, "rb") as stdin:
                self.check(["standard input: record 20001", "no quality line"], *exact, "-", stdin=stdin, ranks=(1,),
                           launchers=("weft-run",))

    def test_no_space_for_the_spool(self):
        environment = dict(os.environ, TMPDIR="/no/such/place")
        with open(self.write("good.fq", GOOD), "rb") as stdin:
            self.check(["/no/such/place", "TMPDIR"], "-", stdin=stdin, ranks=(1,), launchers=("weft-run",),
                       env=environment)


if __name__ == "__main__":
    unittest.main()

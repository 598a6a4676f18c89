# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/kmer
"""All ranks count the same input, or none does and one line says why; a file that changes meanwhile is an error."""

import errno
import gzip
import os
import subprocess
import time
import unittest

import kmer_program
from kmer_program import KmerTest, run

RECORD = "@read\nACGGTACCTAGACGTTACGATACCATTAGAGGAT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n"
READS = RECORD * 20000  # several pieces
IN_OWN_FOLDER = 'cd "$PMI_RANK" && exec "$0" "$@"'


def open_for_job(pipe, job):
    """Opens a named pipe for writing when the job has opened it for reading; fails where the job ends before."""
    deadline = time.monotonic() + kmer_program.RUN_TIMEOUT_S
    while time.monotonic() < deadline:
        try:
            writer = os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "w")
            os.set_blocking(writer.fileno(), True)
            return writer
        except OSError as problem:
            if problem.errno != errno.ENXIO:  # nobody reads yet
                raise
        try:
            _, problem = job.communicate(timeout=0.02)
            raise AssertionError(f"the job has ended: {problem}")
        except subprocess.TimeoutExpired:
            pass
    job.kill()
    raise AssertionError("the job does not read the pipe")


class SameInput(KmerTest):
    def check_failure(self, result, *words):
        """One line on standard error that has these words, and no counts."""
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout.strip(), b"")
        own = [line for line in result.stderr.decode().splitlines() if line.startswith("weft-kmer: ")]
        self.assertEqual(len(own), 1, result.stderr)
        for word in words:
            self.assertIn(word, own[0])

    def run_in_own_folders(self, *arguments, ranks=2, launcher="weft-run", script=IN_OWN_FOLDER):
        """Rank 0 in folder 0, and so on."""
        for rank in range(ranks):
            (self.folder / str(rank)).mkdir(exist_ok=True)
        command = [*kmer_program.LAUNCHERS[launcher], ranks, "sh", "-c", script, kmer_program.WEFT_KMER, *arguments]
        return subprocess.run([str(part) for part in command], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=kmer_program.RUN_TIMEOUT_S)


@unittest.skipIf(kmer_program.RANKS_MAX < 2, "one rank only")
class SeveralRanks(SameInput):
    def test_standard_input_by_another_name(self):
        path = self.write("reads.fq", READS)
        for name in ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"):
            with self.subTest(name=name):
                with open(path, "rb") as stdin:
                    self.check_failure(run("count", name, stdin=stdin, ranks=2),
                                       name, "standard input", "rank 0", "rank 1")
                cat = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
                self.check_failure(run("count", name, stdin=cat.stdout, ranks=2),
                                   name, "standard input", "rank 0", "rank 1")
                cat.stdout.close()
                cat.wait(timeout=600)

    def test_names_of_different_files(self):
        other_letter = READS[:60] + "T" + READS[61:]
        self.assertEqual(len(other_letter), len(READS))
        others = {"longer": READS + RECORD, "of another format": ">r\n" + "ACGT" * 100 + "\n", "equally long": other_letter,
                  "equal": READS, "compressed": gzip.compress(READS.encode()), "missing": None}
        for launcher in kmer_program.LAUNCHERS:
            for what, text in others.items():
                for where in (0, 1):
                    with self.subTest(launcher=launcher, what=what, where=where):
                        for rank in (0, 1):
                            (self.folder / str(rank)).mkdir(exist_ok=True)
                            self.write(f"{rank}/reads.fq", READS)
                        if text is None:
                            (self.folder / str(where) / "reads.fq").unlink()
                        else:
                            self.write(f"{where}/reads.fq", text)
                        result = self.run_in_own_folders("count", "reads.fq", launcher=launcher)
                        self.check_failure(result, "reads.fq")

    def test_one_file_by_two_names(self):
        self.write("reads.fq", READS)
        for rank in (0, 1, 2):
            (self.folder / str(rank)).mkdir()
        os.link(self.folder / "reads.fq", self.folder / "0/reads.fq")
        os.symlink("../reads.fq", self.folder / "1/reads.fq")
        os.symlink(self.folder / "1/reads.fq", self.folder / "2/reads.fq")
        result = self.run_in_own_folders("count", "reads.fq", ranks=3)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(kmer_program.summary(result)["reads"], "20000")

    def test_different_options(self):
        self.write("reads.fq", READS)
        self.write("more.fq", READS)
        for option, ranks_options in (("-k", ("-k 31", "-k 21")), ("--strand", ("", "--strand")),
                                      ("--exact", ("--exact", "")), ("--min-count", ("--min-count 3", "")),
                                      ("--counts", ("", "--counts out")), ("--histogram", ("--histogram out", "")),
                                      ("inputs", ("", "../more.fq"))):
            with self.subTest(option=option):
                script = f'case "$PMI_RANK" in 0) more="{ranks_options[0]}";; *) more="{ranks_options[1]}";; esac; ' \
                    'cd "$PMI_RANK" && exec "$0" "$@" $more'
                result = self.run_in_own_folders("count", "--threads", 2, "../reads.fq", script=script)
                self.check_failure(result, option, "rank 0", "rank 1")
                self.assertEqual(os.listdir(self.folder / "0") + os.listdir(self.folder / "1"), [])

    def test_pipes_of_their_own(self):
        for rank in (0, 1):
            (self.folder / str(rank)).mkdir()
            os.mkfifo(self.folder / str(rank) / "pipe")
        self.check_failure(self.run_in_own_folders("count", "pipe"), "pipe", "rank 0", "rank 1")

    def test_a_pipe_that_all_ranks_see_is_counted_by_rank_0(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for launcher, start in kmer_program.LAUNCHERS.items():
            with self.subTest(launcher=launcher):
                job = subprocess.Popen([str(part) for part in [*start, 2, kmer_program.WEFT_KMER, "count", pipe]],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                with open_for_job(pipe, job) as writer:
                    writer.write(READS)
                out, problem = job.communicate(timeout=kmer_program.RUN_TIMEOUT_S)
                self.assertEqual((job.returncode, problem), (0, b""))
                self.assertIn(b"reads                20000\n", out)

    def test_an_output_folder_of_their_own(self):
        reads = self.write("reads.fq", READS)
        self.check_failure(self.run_in_own_folders("count", "--counts", "out", reads), "out", "rank 1")
        self.assertEqual(os.listdir(self.folder / "0") + os.listdir(self.folder / "1"), [])
        # Only rank 0 writes a histogram.
        self.assertEqual(self.run_in_own_folders("count", "--histogram", "out", reads).returncode, 0)
        self.assertEqual(os.listdir(self.folder / "0") + os.listdir(self.folder / "1"), ["out"])
        (self.folder / "0/sub").mkdir()
        self.assertEqual(self.run_in_own_folders("count", "--histogram", "sub/out", reads).returncode, 0)
        self.assertEqual(os.listdir(self.folder / "0/sub"), ["out"])

    def test_an_output_that_is_a_file_for_one_rank_and_a_pipe_for_another(self):
        reads = self.write("reads.fq", READS)
        for rank in (0, 1):
            (self.folder / str(rank)).mkdir()
        for pipe in (0, 1):
            with self.subTest(pipe=pipe):
                here, there = self.folder / str(pipe) / "out", self.folder / str(1 - pipe) / "out"
                os.symlink("/dev/null", here)
                there.write_text("as it was")
                self.check_failure(self.run_in_own_folders("count", "--counts", "out", reads), "out", "rank 1")
                self.assertEqual(there.read_text(), "as it was")
                here.unlink()
                there.unlink()


class StandardInputOfOneRank(SameInput):
    def test_a_file_and_a_pipe(self):
        path = self.write("reads.fq", READS)
        for name in ("-", "/dev/stdin", "/proc/self/fd/0"):
            with self.subTest(name=name):
                with open(path, "rb") as stdin:
                    result = run("count", name, stdin=stdin)
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                self.assertEqual(kmer_program.summary(result)["reads"], "20000")
                cat = subprocess.Popen(["cat", path], stdout=subprocess.PIPE)
                result = run("count", name, stdin=cat.stdout)
                cat.stdout.close()
                self.assertEqual((cat.wait(timeout=600), result.returncode, result.stderr), (0, 0, b""))
                self.assertEqual(kmer_program.summary(result)["reads"], "20000")

    def test_a_stream_that_is_named_twice(self):
        cat = subprocess.Popen(["cat", self.write("reads.fq", READS)], stdout=subprocess.PIPE)
        result = run("count", "-", "/dev/stdin", stdin=cat.stdout)
        cat.stdout.close()
        cat.wait(timeout=600)
        self.check_failure(result, "/dev/stdin", "once")


class Changes(SameInput):
    """The job waits for a pipe until the file has changed, and reads the file then."""

    def check(self, name, content, change, words=(), ranks=(1, 2), modes=((), ("--exact",))):
        for n in ranks:
            if n > kmer_program.RANKS_MAX:
                continue
            for mode in modes:
                with self.subTest(name=name, change=change.__name__, ranks=n, mode=mode):
                    pipe, path = self.folder / "pipe", self.write(name, content)
                    os.mkfifo(pipe)
                    # One thread of one rank: it has read nothing but the pipe when it waits there.
                    command = [kmer_program.WEFT_KMER, "count", "--threads", 1, *mode, pipe, path]
                    if n > 1:
                        command = [*kmer_program.LAUNCHERS["weft-run"], n, *command]
                    job = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    with open_for_job(pipe, job) as writer:  # it opens the pipe when it has looked at all inputs
                        change(path)
                        writer.write(RECORD)
                    out, problem = job.communicate(timeout=kmer_program.RUN_TIMEOUT_S)
                    result = subprocess.CompletedProcess(command, job.returncode, out, problem)
                    self.check_failure(result, name, "changed", *words)
                    pipe.unlink()

    def test_a_file_that_is_cut(self):
        def cut(path):
            os.truncate(path, len(RECORD) * 12000)  # between two records

        self.check("reads.fq", READS, cut, [str(len(READS)), str(len(RECORD) * 12000)], ranks=(1,))

    def test_a_file_that_grows(self):
        def grow(path):
            with open(path, "a") as file:
                file.write(RECORD)

        self.check("reads.fq", READS, grow, ranks=(1,))

    def test_a_file_that_is_written_anew_with_equally_many_bytes(self):
        def rewrite(path):
            status = os.stat(path)
            path.write_text(READS.replace("ACGGTA", "ACGCTA"))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))

        self.check("reads.fq", READS, rewrite, ranks=(1,))

    def test_a_gzip_file_that_loses_a_member(self):
        member = gzip.compress((RECORD * 2000).encode())

        def cut(path):
            os.truncate(path, len(member))

        def replace(path):
            other = path.with_name("other")
            other.write_bytes(member)
            other.rename(path)

        for change in (cut, replace):
            self.check("reads.fq.gz", member * 2, change, ranks=(1,))

    @unittest.skipIf(kmer_program.RANKS_MAX < 2, "one rank only")
    def test_a_file_that_several_ranks_read(self):
        def cut(path):
            os.truncate(path, len(RECORD) * 12000)

        # In one pass other ranks read on while rank 0 waits for the pipe.
        self.check("reads.fq", READS, cut, ranks=(2,), modes=((),))


if __name__ == "__main__":
    unittest.main()

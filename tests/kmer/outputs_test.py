# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/kmer
"""No output takes the place of an input or of the other output, by whatever name; links and descriptors are followed."""

import os
import subprocess
import unittest

import kmer_program
from kmer_program import KmerTest, read_counts, run

READS = "@read\nACGGTACCTAGACGTTACGATACCATTAGAGGAT\n+\nIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIIII\n" * 200


class Outputs(KmerTest):
    def check_refused(self, *arguments, words=(), ranks=(1, 2), launchers=("weft-run", "hydra"), **options):
        """Fails with one line, and all files are as they were."""
        for launcher in launchers:
            if launcher not in kmer_program.LAUNCHERS:
                continue
            for n in ranks:
                with self.subTest(arguments=arguments, launcher=launcher, ranks=n):
                    before = self.content()
                    result = run("count", *arguments, ranks=n, launcher=launcher, cwd=self.folder, **options)
                    self.assertEqual(self.content(), before)
                    self.assertNotEqual(result.returncode, 0)
                    own = [line for line in result.stderr.decode().splitlines() if line.startswith("weft-kmer: ")]
                    self.assertEqual(len(own), 1, result.stderr)
                    for word in words:
                        self.assertIn(word, own[0])

    def content(self):
        files = [path for path in sorted(self.folder.rglob("*")) if path.is_symlink() or path.is_file()]
        return [(path, os.readlink(path) if path.is_symlink() else path.read_bytes()) for path in files]

    def test_an_output_that_is_an_input(self):
        reads = self.write("reads.fq", READS)
        other = self.write("other.fq", READS)
        os.link(reads, self.folder / "hard")
        os.symlink("reads.fq", self.folder / "soft")
        os.symlink("soft", self.folder / "softer")
        (self.folder / "sub").mkdir()
        os.symlink(self.folder, self.folder / "sub/up")
        for option in ("--counts", "--histogram"):
            for name in ("reads.fq", "./reads.fq", "sub/../reads.fq", "sub/up/reads.fq", reads, "hard", "soft", "softer"):
                self.check_refused(option, name, other, "reads.fq", words=[option, str(name), "input", "reads.fq"],
                                   ranks=(1, 2) if name in ("reads.fq", "soft") else (1,))
        self.check_refused("--counts", "reads.fq", "hard", words=["--counts", "hard"], ranks=(1,))
        self.check_refused("--counts", "reads.fq", "soft", words=["--counts", "soft"], ranks=(1,))

    def test_an_output_that_is_standard_input(self):
        reads = self.write("reads.fq", READS)
        for name in ("-", "/dev/stdin"):
            with open(reads, "rb") as stdin:
                self.check_refused("--counts", "reads.fq", name, words=["--counts"], ranks=(1,),
                                   launchers=("weft-run",), stdin=stdin)

    def test_an_output_that_is_appended_to_an_input(self):
        reads = self.write("reads.fq", READS)
        script = 'exec "$0" count --counts /dev/stdout "$1" >> "$1"'
        result = subprocess.run(["sh", "-c", script, kmer_program.WEFT_KMER, reads], stdin=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, timeout=kmer_program.RUN_TIMEOUT_S, check=False)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"--counts", result.stderr)
        self.assertEqual(reads.read_text(), READS)

    def test_two_outputs_that_are_one_file(self):
        self.write("reads.fq", READS)
        old = self.write("old", "as it was")
        os.link(old, self.folder / "hard")
        os.symlink("old", self.folder / "soft")
        os.symlink("new", self.folder / "to_new")  # there is no such file yet
        os.symlink("to_new", self.folder / "to_new_too")
        (self.folder / "sub").mkdir()
        os.symlink(self.folder, self.folder / "sub/up")
        for one, two in (("old", "hard"), ("soft", "old"), ("hard", "soft"), ("new", "./new"), ("new", "sub/../new"),
                         ("new", self.folder / "new"), ("new", "sub/up/new"), ("to_new", "new"), ("to_new_too", "new"),
                         ("sub/up/to_new", "to_new_too"), ("new", "new")):
            self.check_refused("--counts", one, "--histogram", two, "reads.fq", words=["--counts", "--histogram"],
                               ranks=(1, 2) if one == "to_new" else (1,))
        result = run("count", "--counts", "new", "--histogram", "sub/new", "reads.fq", cwd=self.folder)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue((self.folder / "new").is_file() and (self.folder / "sub/new").is_file())

    def test_a_link_keeps_its_target(self):
        self.write("reads.fq", READS)
        self.write("old", "as it was")
        for name, target in (("link", "old"), ("dangling", "new")):
            os.symlink(target, self.folder / name)
            result = run("count", "--exact", "--counts", name, "reads.fq", ranks=2, cwd=self.folder)
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(os.readlink(self.folder / name), target)
            self.assertGreater(len(read_counts(self.folder / target)), 0)
        os.symlink("circle", self.folder / "circle")
        self.check_refused("--counts", "circle", "reads.fq", words=["circle", "cannot be written"], ranks=(1,))

    def test_standard_output_that_is_a_file(self):
        self.write("reads.fq", READS)
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            with self.subTest(name=name), open(self.folder / "out", "wb") as out:
                out.write(b"before\n")
                out.flush()
                command = [str(kmer_program.WEFT_KMER), "count", "--exact", "--threads", "2", "--counts", name, "reads.fq"]
                result = subprocess.run(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=out,
                                        stderr=subprocess.PIPE, timeout=kmer_program.RUN_TIMEOUT_S, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, b""))
                text = (self.folder / "out").read_text()
                self.assertEqual(text.splitlines()[0], "before")
                kmers = [line for line in text.splitlines() if "\t" in line]
                self.assertEqual(len(kmers), 4)
                self.assertEqual(kmers, [line for line in kmers if line.endswith("\t200")])
                self.assertIn("k-mers               800 ", text)

    def test_what_is_beside_an_output_stays(self):
        """The name under which an output is written is one that no file has."""
        self.write("reads.fq", READS)
        script = 'echo "as it was" > out.unfinished-$$; exec "$0" count --counts out reads.fq'
        subprocess.run(["sh", "-c", script, kmer_program.WEFT_KMER], cwd=self.folder, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, timeout=kmer_program.RUN_TIMEOUT_S, check=True)
        self.assertEqual([path.read_text() for path in self.folder.glob("out.unfinished*")], ["as it was\n"])
        self.assertTrue((self.folder / "out").is_file())


if __name__ == "__main__":
    unittest.main()

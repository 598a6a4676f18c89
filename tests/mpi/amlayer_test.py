# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi apps/mpi/amlayer apps/build-with programs/command_line.cpp
# not under sanitizers, which a preloaded library would need, too
"""mpi-amlayer delivers each message once in all forms, and says so; with Weft's MPI, and in long tests with each other MPI of the
distribution that is installed."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
LAUNCHER = BUILD / "bin/weft-run"
PROGRAM = BUILD / "bin/mpi-amlayer"
IS_LONG = "WEFT_LONG:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
SECONDS_MAX = 300
FEW = ("--messages", 60, "--window", 8)


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=SECONDS_MAX, text=True)


@unittest.skipUnless(PROGRAM.exists(), "mpi-amlayer is not built: it needs CLI11")
class Layer(unittest.TestCase):
    def lines(self, *command, **environment):
        result = run(*command, "--json", **environment)
        self.assertEqual(result.returncode, 0, (command, result.stdout, result.stderr))
        return [json.loads(line) for line in result.stdout.splitlines()]

    def check_forms(self, launcher, program, completion="poll", sizes=(8, 1024, 1025, 65536), threads=(1, 4), **environment):
        for form in ("one", "vci", "tag"):
            for traffic in ("ping-pong", "flood"):
                with self.subTest(form=form, traffic=traffic):
                    lines = self.lines(*launcher, program, "--form", form, "--completion", completion, "--traffic", traffic, "--threads",
                                       ",".join(map(str, threads)), "--bytes", ",".join(map(str, sizes)), *FEW, **environment)
                    self.assertEqual([(line["threads"], line["bytes"]) for line in lines],
                                     [(number, size) for number in threads for size in sizes])
                    for line in lines:
                        self.assertEqual((line["form"], line["completion"], line["traffic"], line["wrong"], line["verdict"]),
                                         (form, completion, traffic, 0, "right"))
                        self.assertGreater(line["messages_per_second"], 0)
                        self.assertEqual("message_ns" in line, traffic == "ping-pong")
                    yield lines

    def test_each_message_is_received_once(self):
        for lines in self.check_forms([LAUNCHER, "-n", 2], PROGRAM):
            if lines[0]["form"] == "tag":
                self.assertTrue(all(line["by_tag"] for line in lines))

    def test_each_message_is_received_once_by_continuations(self):
        for completion in ("continue", "continue-request"):
            for _ in self.check_forms([LAUNCHER, "-n", 2], PROGRAM, completion, sizes=(8, 65536), threads=(4,)):
                pass

    def test_continuations_on_vcis_of_their_own(self):
        for completion in ("continue", "continue-request"):
            for progress in ("1", "0"):
                lines = self.lines(LAUNCHER, "-n", 2, PROGRAM, "--form", "vci", "--completion", completion, "--threads", 4, "--bytes",
                                   "8,4096", *FEW, WEFT_MPI_VCIS="4", WEFT_MPI_GLOBAL_PROGRESS=progress)
                self.assertEqual([(line["vcis"], line["verdict"]) for line in lines], [(4, "right")] * 2)

    def test_vcis_with_and_without_global_progress(self):
        for progress in ("1", "0"):
            for traffic in ("ping-pong", "flood"):
                lines = self.lines(LAUNCHER, "-n", 2, PROGRAM, "--form", "vci", "--vcis", 2, "--traffic", traffic, "--threads", 4, "--bytes",
                                   "8,4096", *FEW, WEFT_MPI_VCIS="2", WEFT_MPI_GLOBAL_PROGRESS=progress)
                self.assertEqual([(line["vcis"], line["verdict"]) for line in lines], [(2, "right")] * 2)

    def test_pairs_of_ranks(self):
        lines = self.lines(LAUNCHER, "-n", 4, PROGRAM, "--form", "tag", "--threads", 2, "--bytes", "8,4096", *FEW, WEFT_CHECK="1")
        self.assertEqual([(line["ranks"], line["verdict"]) for line in lines], [(4, "right")] * 2)

    def test_a_simulated_network(self):
        for form in ("one", "tag"):
            lines = self.lines(LAUNCHER, "-n", 2, "--sim=7", PROGRAM, "--form", form, "--traffic", "flood", "--threads", 2, "--bytes",
                               "8,4096", *FEW)
            self.assertEqual([line["verdict"] for line in lines], ["right"] * 2)

    def test_a_message_that_changes_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "libchanges_bytes.so"
            made = run(BUILD / "bin/weft-mpicc", "-shared", "-fPIC", SOURCE / "tests/mpi/programs/changes_bytes.c", "-o", library)
            self.assertEqual(made.returncode, 0, made.stderr)
            for form, size in (("one", 8), ("tag", 8), ("vci", 4096)):
                result = run(LAUNCHER, "-n", 2, PROGRAM, "--form", form, "--bytes", size, *FEW, "--json", LD_PRELOAD=str(library),
                             CHANGES="24")
                self.assertEqual(result.returncode, 1, (form, result.stdout, result.stderr))
                line = json.loads(result.stdout)
                self.assertEqual(line["verdict"], "WRONG", form)
                self.assertGreater(line["wrong"], 0)
                self.assertIn("messages were doubled or changed", result.stderr)

    def test_a_table_for_people(self):
        result = run(LAUNCHER, "-n", 2, PROGRAM, *FEW)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()], ["form", "one"])

    def test_help_and_mistakes(self):
        result = run(PROGRAM, "--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for word in ("--form", "--completion", "--traffic", "--threads", "--bytes", "--vcis", "WEFT_MPI_GLOBAL_PROGRESS"):
            self.assertIn(word, result.stdout)
        self.assertRegex(run(PROGRAM, "--version").stdout, r"^mpi-amlayer with Weft \d")
        for words, why in ((("--form", "two"), "--form"), (("--completion", "two"), "--completion"), (("--threads", "65"), "'65' is not from 1 to 64"),
                           (("--threads", "0"), "'0' is not from 1 to 64"), (("--bytes", "7"), "'7' is not from 8 to 65536"),
                           (("--bytes", "8,x"), "'x' is no whole number"), (("more",), "more"),
                           ((), "mpi-amlayer: there are 1 ranks: start an even number of them")):
            result = run(PROGRAM, *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(why, result.stderr)
        result = run(LAUNCHER, "-n", 2, PROGRAM, "--bytes", 7)
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("'7' is not"), 1, result.stderr)  # one rank prints

    @unittest.skipUnless(IS_LONG, "other libraries run it in long tests")
    def test_other_libraries(self):
        for wrapper, launcher in (("mpicc.mpich", "mpiexec.mpich"), ("mpicc.openmpi", "mpirun.openmpi")):
            with self.subTest(library=wrapper), tempfile.TemporaryDirectory() as folder:
                if not shutil.which(wrapper) or not shutil.which(launcher):
                    self.skipTest(f"{wrapper} is not installed")
                if run(wrapper, "-x", "c", "-fsyntax-only", "-include", "mpi.h", os.devnull).returncode != 0:
                    self.skipTest(f"{wrapper} is installed without its header")
                result = run(SOURCE / "apps/build-with", wrapper, folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                more = []
                if "Open" in run(launcher, "--version").stdout:
                    more = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
                for _ in self.check_forms([launcher, *more, "-n", 2], Path(folder) / "mpi-amlayer", OMPI_ALLOW_RUN_AS_ROOT="1",
                                          OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"):
                    pass


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi apps/mpi/async apps/mpi/report apps/build-with programs/command_line.cpp
# not under sanitizers, which programs of the build would need, too
"""mpi-async ends each task once, in all measures, and says so; with Weft's MPI, and in long tests with an installed MPI that has
hooks."""

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
PROGRAM = BUILD / "bin/mpi-async"
IS_LONG = "WEFT_LONG:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
SECONDS_MAX = 300
SHORT = ("--seconds", "0.02")


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=SECONDS_MAX, text=True)


@unittest.skipUnless(PROGRAM.exists(), "mpi-async is not built: it needs CLI11")
class Async(unittest.TestCase):
    def lines(self, *command, **environment):
        result = run(*command, *SHORT, "--json", **environment)
        self.assertEqual(result.returncode, 0, (command, result.stdout, result.stderr))
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        for line in lines:
            self.assertEqual((line["wrong"], line["verdict"]), (0, "right"), line)
            self.assertGreater(line["ended"], 0)
        return lines

    def check_one_rank(self, *launcher, **environment):
        lines = self.lines(*launcher, "--measure", "call,tasks,class,queries", "--tasks", "1,33", **environment)
        self.assertEqual([(line["measure"], line["tasks"]) for line in lines],
                         [(what, tasks) for what in ("call", "tasks", "class", "queries") for tasks in (1, 33)])
        for line in lines:
            self.assertEqual("poll_ns" in line, line["measure"] == "call")
            self.assertEqual("query_ns" in line, line["measure"] == "queries")
            self.assertEqual("late_ns" in line, line["measure"] != "call")
            self.assertEqual((line["level"], line["ranks"]), ("single", 1))

    def test_one_thread(self):
        self.check_one_rank(PROGRAM)

    def test_checked_calls(self):
        self.check_one_rank(PROGRAM, WEFT_CHECK="1")

    def test_threads_and_delays(self):
        lines = self.lines(PROGRAM, "--threads", "1,4", "--delay-ns", "0,500")
        self.assertEqual([(line["delay_ns"], line["threads"], line["level"]) for line in lines],
                         [(delay, threads, "multiple") for delay in (0, 500) for threads in (1, 4)])

    def test_streams(self):
        lines = self.lines(PROGRAM, "--measure", "streams", "--threads", "1,3")
        self.assertEqual([(line["threads"], line["level"]) for line in lines], [(1, "multiple"), (3, "multiple")])
        self.assertEqual(run(PROGRAM, "--measure", "streams", "--level", "single").returncode, 2)

    def test_allreduce(self):
        for ranks in (2, 4, 8):
            lines = self.lines(LAUNCHER, "-n", ranks, PROGRAM, "--measure", "allreduce", WEFT_CHECK="1" if ranks == 4 else "0")
            self.assertEqual([line["ranks"] for line in lines], [ranks])
            self.assertGreater(lines[0]["hooks_ns"], 0)
            self.assertGreater(lines[0]["iallreduce_ns"], 0)

    def test_a_simulated_network(self):
        self.lines(LAUNCHER, "-n", 4, "--sim=5", PROGRAM, "--measure", "allreduce")

    def test_a_value_that_changes_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "libchanges_bytes.so"
            made = run(BUILD / "bin/weft-mpicc", "-shared", "-fPIC", SOURCE / "tests/mpi/programs/changes_bytes.c", "-o", library)
            self.assertEqual(made.returncode, 0, made.stderr)
            result = run(PROGRAM, "--measure", "queries", *SHORT, "--json", LD_PRELOAD=str(library), CHANGES="24")
            self.assertEqual(result.returncode, 1, (result.stdout, result.stderr))
            self.assertEqual(json.loads(result.stdout)["verdict"], "WRONG")
            self.assertIn("1 tasks or sums were wrong", result.stderr)

    def test_a_table_for_people(self):
        result = run(PROGRAM, *SHORT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()], ["measure", "tasks"])

    def test_help_and_mistakes(self):
        result = run(PROGRAM, "--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for word in ("--measure", "--tasks", "--delay-ns", "--threads", "--level", "MPIR_CVAR_CH4_RESERVE_VCIS"):
            self.assertIn(word, result.stdout)
        self.assertRegex(run(PROGRAM, "--version").stdout, r"^mpi-async with Weft \d")
        for words, why in ((("--measure", "two"), "--measure"), (("--threads", "65"), "'65' is not from 1 to 64"),
                           (("--tasks", "0"), "'0' is not from 1 to 65536"), (("--tasks", "8,x"), "'x' is no whole number"),
                           (("--measure", "class", "--threads", "2"), "class is measured with one thread"),
                           (("--level", "single", "--threads", "2"), "need the level multiple"), (("more",), "more"),
                           (("--measure", "allreduce"), "there are 1 ranks: start 2, 4, 8")):
            result = run(PROGRAM, *words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(why, result.stderr)
        for words, why in ((("--measure", "allreduce"), "there are 3 ranks: start 2, 4, 8"), ((), "there are 3 ranks: start one")):
            result = run(LAUNCHER, "-n", 3, PROGRAM, *words)
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stderr.count(why), 1, result.stderr)  # one rank prints

    @unittest.skipUnless(IS_LONG, "another library runs it in long tests")
    def test_another_library(self):
        for wrapper, launcher in (("mpicc.mpich", "mpiexec.mpich"), ("mpicc", "mpiexec")):
            if not shutil.which(wrapper) or not shutil.which(launcher):
                continue
            with tempfile.TemporaryDirectory() as folder:
                made = run(SOURCE / "apps/build-with", wrapper, folder)
                if made.returncode != 0 or not (Path(folder) / "mpi-async").exists():
                    continue  # it has no hooks, or no header
                self.check_one_rank(Path(folder) / "mpi-async")
                self.lines(launcher, "-n", 2, Path(folder) / "mpi-async", "--measure", "allreduce")
                return
        self.skipTest("no installed MPI library has hooks")


if __name__ == "__main__":
    unittest.main()

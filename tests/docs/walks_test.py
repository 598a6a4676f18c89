# SPDX-License-Identifier: BSD-3-Clause
# subject: docs/architecture.md tools/walks.py tests/process/walk.cpp tests/mpi/programs/walk.c src
"""Each function in a walk of docs/architecture.md is passed by the message, as callgrind sees it in the release build."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
PROGRAM = BUILD / "tests/process/walk"
MPI_PROGRAM = SOURCE / "tests/mpi/programs/walk.c"
MPI_COMPILER = BUILD / "bin/weft-mpicc"
OF_MPI = {"allreduce", "vector"}
CACHE = (BUILD / "CMakeCache.txt").read_text() if (BUILD / "CMakeCache.txt").exists() else ""
sys.path.insert(0, str(SOURCE / "tools"))
import walks  # noqa: E402

STEP = re.compile(r"`([\w:]+)`\s+\(`((?:src|include)/[^`]+)`\)")


def walks_of(page):
    """{name: [(function, file)]} of the lists that follow `<!-- walk: NAME -->`."""
    out = {}
    for found in re.finditer(r"<!-- walk: (\w+) -->\n(.*?)\n\n", page, re.DOTALL):
        out[found[1]] = STEP.findall(found[2])
    return out


class Reading(unittest.TestCase):
    def test_functions_are_found_with_their_lines(self):
        source = ("bool first(int a) noexcept {\n  if (a) { return second(a); }\n  return g(a);\n}\n"
                  "struct it {\n  it(int a) : a_{a}, b_(f(a)) {\n  }\n  int get() const;\n};\n")
        self.assertEqual(walks.functions_of(source), [("first", 1, 4), ("it", 6, 7)])

    def test_lines_are_those_of_the_file_that_code_was_inlined_from(self):
        inner, outer = "src/core/protocol/advance.cpp", "src/core/progress/progress.cpp"
        text = (f"fl=(1) {SOURCE}/{outer}\nfn=(1) f\n10 5\nfi=(2) {SOURCE}/build/../{inner}\n20 1\n+1 2\nfe=(1)\n12 1\n"
                f"cfi=(2)\ncfn=(2) g\ncalls=1 30\n13 100\n-2 1\n")
        self.assertEqual(walks.lines_run(text), {outer: {10, 12, 11}, inner: {20, 21}})


@unittest.skipUnless(shutil.which("valgrind"), "valgrind is not installed")
@unittest.skipIf(re.search(r"^WEFT_SANITIZE:STRING=.", CACHE, re.MULTILINE), "a sanitizer's code is another one")
class Walks(unittest.TestCase):
    def succeeds(self, *command):
        run = subprocess.run([str(each) for each in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=240)
        self.assertEqual(run.returncode, 0, run.stderr)

    def run_of(self, walk):
        """{file: functions} that the walk passes, at both ranks."""
        with tempfile.TemporaryDirectory() as folder:
            callgrind = ["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={folder}/out.%p"]
            if walk in OF_MPI:
                if not MPI_COMPILER.exists():
                    self.skipTest("built without the MPI library")
                self.succeeds(MPI_COMPILER, "-g", "-O1", MPI_PROGRAM, "-o", f"{folder}/walk")
                self.succeeds(BUILD / "bin/weft-run", "-n", "2", *callgrind, "--toggle-collect=walked", f"{folder}/walk", walk)
                parts = sorted(Path(folder).glob("out.*"))
                self.assertEqual(len(parts), 2)
            else:
                self.succeeds(*callgrind, PROGRAM, walk)
                parts = sorted(Path(folder).glob("out.*.1"))
                if not parts:
                    self.skipTest("built without valgrind's headers")
            out = {}
            for part in parts:
                for file, functions in walks.passed(part.read_text(), SOURCE).items():
                    out.setdefault(file, set()).update(functions)
            return out

    def test_each_step_is_passed(self):
        page = walks_of((SOURCE / "docs/architecture.md").read_text())
        self.assertEqual(set(page), {"message", "send", "fiber"} | OF_MPI)
        for walk, steps in page.items():
            with self.subTest(walk=walk):
                self.assertGreater(len(steps), 5)
                passed = self.run_of(walk)
                for function, file in steps:
                    with self.subTest(walk=walk, function=function, file=file):
                        self.assertIn(function.rsplit("::", 1)[-1], passed.get(file, []))
                if walk == "send":  # between processes that can't copy, not here
                    self.assertNotIn("send_rtr", passed["src/core/protocol/rendezvous.cpp"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

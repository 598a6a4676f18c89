# SPDX-License-Identifier: BSD-3-Clause
# subject: docs/architecture.md tools/walks.py tests/process/walk.cpp src/core src/net/shm src/net/ring
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
    def run_of(self, walk):
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            run = subprocess.run(["valgrind", "--tool=callgrind", "--fair-sched=yes", f"--callgrind-out-file={out}",
                                  PROGRAM, walk], capture_output=True, text=True, timeout=240)
            self.assertEqual(run.returncode, 0, run.stderr)
            parts = sorted(Path(folder).glob("out.*"))
            if not parts:
                self.skipTest("built without valgrind's headers")
            return walks.passed(parts[0].read_text(), SOURCE)

    def test_each_step_is_passed(self):
        page = walks_of((SOURCE / "docs/architecture.md").read_text())
        self.assertEqual(set(page), {"message", "send", "fiber"})
        for walk, steps in page.items():
            self.assertGreater(len(steps), 5, walk)
            passed = self.run_of(walk)
            for function, file in steps:
                with self.subTest(walk=walk, function=function, file=file):
                    self.assertIn(function.rsplit("::", 1)[-1], passed.get(file, []))
            if walk == "send":  # between processes that can't copy, not here
                self.assertNotIn("send_rtr", passed["src/core/protocol/rendezvous.cpp"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

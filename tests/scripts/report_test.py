# SPDX-License-Identifier: BSD-3-Clause
# subject: tools/test_report.py tools/slowest.py tools/drawn_seeds.py
"""tools/test_report.py counts what ran, what failed and what was skipped, from what ctest keeps; tools/slowest.py shows what
took longest; tools/drawn_seeds.py draws seeds by the commit."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tools"))
sys.dont_write_bytecode = True
import drawn_seeds  # noqa: E402

GOOGLE = """{number}/9 Testing: unit.{name}
Output:
----------------------------------------------------------
[ RUN      ] {name}
{said}[==========] 1 test from 1 test suite ran. (5 ms total)
<end of output>
Test {verdict}
"""
PYTHON = """{number}/9 Testing: script.{name}
Output:
test_a (__main__.A.test_a) ... ok
{said}
Ran {ran} tests in 0.1s

{end}
<end of output>
Test {verdict}
"""


class Report(unittest.TestCase):
    def said_of(self, *entries):
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "LastTest.log"
            log.write_text("Start testing\n" + "\n".join(entries))
            return subprocess.run([sys.executable, "-B", SOURCE / "tools/test_report.py", log], text=True, timeout=300,
                                  stdout=subprocess.PIPE, check=True).stdout

    def test_passed_failed_and_skipped_tests_are_counted_with_the_reason(self):
        skipped = "../a.cpp:7: Skipped\nno network here\n[  SKIPPED ] a.b (0 ms)\n"
        text = self.said_of(
            GOOGLE.format(number=1, name="a.a", said="[       OK ] a.a (1 ms)\n", verdict="Passed."),
            GOOGLE.format(number=2, name="a.b", said=skipped, verdict="Pass Reason:\nSkip regular expression found"),
            GOOGLE.format(number=3, name="a.c", said="[  FAILED  ] a.c (2 ms)\n", verdict="Failed."))
        self.assertEqual(text, "skipped: unit.a.b: no network here\n1 passed, 1 failed, 1 skipped\n")

    def test_the_methods_of_a_script_are_tests_each(self):
        text = self.said_of(
            PYTHON.format(number=1, name="x", said="test_b (__main__.A.test_b) ... skipped 'no valgrind'", ran=3,
                          end="OK (skipped=1)", verdict="Passed."),
            PYTHON.format(number=2, name="y", said="", ran=5, end="FAILED (failures=1, errors=1)", verdict="Failed."))
        self.assertEqual(text, "skipped: script.x.test_b: no valgrind\n5 passed, 2 failed, 1 skipped\n")

    def test_a_process_that_is_killed_or_no_test_framework_is_one_test(self):
        text = self.said_of("1/9 Testing: process-am\nOutput:\n<end of output>\nTest Passed.\n",
                            "2/9 Testing: process-b\nOutput:\n<end of output>\nTest timeout computed to be: 60\n")
        self.assertEqual(text, "1 passed, 1 failed, 0 skipped\n")

    def test_a_process_may_say_that_it_skips(self):
        text = self.said_of("1/9 Testing: process-am_huge\nOutput:\nskipped: only 3 MiB are available\n<end of output>\n"
                            "Test Pass Reason:\nSkip regular expression found in output.\n")
        self.assertEqual(text, "skipped: process-am_huge: only 3 MiB are available\n0 passed, 0 failed, 1 skipped\n")


class Slowest(unittest.TestCase):
    def test_ten_targets_and_tests_are_shown_and_kept(self):
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder)
            old = "0\t90000\t1\tb.o\tf\n"  # from an earlier build
            targets = [f"{1000 * each}\t{1000 * each + 500 * each}\t1\t{name}.o\tf\n" for each, name in enumerate("abcdefghijkl")]
            (build / ".ninja_log").write_text("# ninja log v5\n" + old + "".join(targets))
            entry = "{0}/2 Testing: unit.{1}\n{0}/2 Test: unit.{1}\nOutput:\nTest time of its own\n<end of output>\nTest time =   {2} sec\n"
            log = build / "ran-0.log"
            log.write_text("Start testing\n" + entry.format(1, "short", "0.25") + "----\n\n" + entry.format(2, "long", "3.00") + "----\n")
            text = subprocess.run([sys.executable, "-B", SOURCE / "tools/slowest.py", build, log], text=True, timeout=300,
                                  stdout=subprocess.PIPE, check=True).stdout
            self.assertEqual((build / "slowest.txt").read_text(), text)
        lines = text.splitlines()
        self.assertEqual(lines[1], "targets: 12, 33 s one after the other; the slowest:")
        self.assertEqual([line.split()[-1] for line in lines[2:12]], [f"{name}.o" for name in "lkjihgfedc"])
        self.assertEqual([line.split()[-1] for line in lines[12:]], ["slowest:", "unit.long", "unit.short"])


class Seeds(unittest.TestCase):
    def test_the_commit_draws_them_and_kept_ones_are_added_once(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "tests").mkdir()
            (root / drawn_seeds.KEPT).write_text('{"a_test": {"3": "", "7000000": "net"}}')
            self.assertEqual(drawn_seeds.seeds_of_run("a_test", 4, root), [1, 2, 3, 4, 7000000])  # without git
            self.assertEqual(drawn_seeds.kept("a_test", root), {3: "", 7000000: "net"})
            subprocess.run("git init -q . && git -c user.name=a -c user.email=a commit -q --allow-empty -m a", shell=True, cwd=root,
                           check=True, timeout=300)
            drawn = drawn_seeds.seeds_of_run("a_test", 4, root)
            self.assertEqual(drawn, drawn_seeds.seeds_of_run("a_test", 4, root))
            self.assertEqual(drawn[:4], list(range(drawn[0], drawn[0] + 4)))
            self.assertLess(drawn[0], drawn_seeds.RANGE)


if __name__ == "__main__":
    unittest.main()

# subject: tools/test_report.py
"""tools/test_report.py counts what ran, what failed and what was skipped, from what ctest keeps."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))

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
            return subprocess.run([sys.executable, "-B", SOURCE / "tools/test_report.py", log], text=True, timeout=60,
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


if __name__ == "__main__":
    unittest.main()

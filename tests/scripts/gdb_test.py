# SPDX-License-Identifier: BSD-3-Clause
# subject: tools/weft_gdb.py src/fiber
"""tools/weft_gdb.py lists the fibers of a running process and shows where one of them waits."""

import os
import re
import shutil
import subprocess
import time
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_UTS = BUILD / "bin/weft-uts"
LARGE = ("-t", "0", "-b", "2000", "-q", "0.200014", "-m", "5", "-r", "7", "--no-progress")  # far longer than this test
PATIENCE_S = 60


def in_gdb(process, *commands):
    arguments = [part for each in commands for part in ("-ex", each)]
    done = subprocess.run(["gdb", "-nx", "-batch", "-p", str(process), "-x", str(SOURCE / "tools/weft_gdb.py"), *arguments],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=PATIENCE_S)
    return done.stdout


@unittest.skipUnless(shutil.which("gdb"), "there is no gdb")
@unittest.skipUnless(WEFT_UTS.exists(), "weft-uts is not built")
class Gdb(unittest.TestCase):
    def test_lists_fibers_and_shows_where_one_waits(self):
        # One walks; the others of its worker wait for their turns, or for something to walk. One more waits for the end.
        with subprocess.Popen([str(WEFT_UTS), "--fibers", "3", *LARGE], stdout=subprocess.DEVNULL) as search:
            try:
                listed = self.wait_for_fibers(search.pid)
                found = re.findall(r"worker (\d+) slot (\d+): (.*)", listed)
                self.assertEqual(len(found), 4, listed)
                for _ in range(5):  # it may be stopped in the middle of a switch
                    shown = in_gdb(search.pid, *(f"weft-fiber 0 {slot}" for slot in range(3)), "weft-fiber 0 99", "weft-fiber")
                    stacks = re.findall(r"(?:^#\d+ .*\n)+?#\d+ .*weft_fiber_begin \(\)\n(?!#[1-9])", shown, re.MULTILINE)
                    # One may run. Clang puts the walk into the function that spawns it.
                    if len(stacks) >= 2 and all(re.search(r" walk \(\)|searcher::run\(\)", each) for each in stacks):
                        break
                else:
                    self.fail(shown)
                self.assertIn("there is no such fiber", shown)
                self.assertIn("usage: weft-fiber", shown)
                self.assertIsNone(search.poll())  # it goes on
            finally:
                search.kill()

    def wait_for_fibers(self, process):
        until = time.monotonic() + PATIENCE_S
        while True:
            listed = in_gdb(process, "weft-fibers")
            if re.search(r"ptrace: |not permitted", listed):
                self.skipTest("this machine lets no debugger attach")
            if listed.count("slot ") >= 4 or time.monotonic() > until:
                return listed

    def test_says_where_there_is_nothing_to_list(self):
        with subprocess.Popen(["sleep", "60"]) as other:
            try:
                said = in_gdb(other.pid, "weft-fibers")
                if re.search(r"ptrace: |not permitted", said):
                    self.skipTest("this machine lets no debugger attach")
                self.assertIn("the program has no fibers of Weft", said)
            finally:
                other.kill()


if __name__ == "__main__":
    unittest.main()

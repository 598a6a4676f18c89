# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi apps/mpi/fibers programs/command_line.cpp
# not under sanitizers, which a preloaded library would need, too
"""mpi-fibers exchanges messages between as many fibers as it is told, and all are right."""

import json
import os
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
LAUNCHER = BUILD / "bin/weft-run"
PROGRAM = BUILD / "bin/mpi-fibers"
SECONDS_MAX = 300


@unittest.skipUnless(PROGRAM.exists(), "mpi-fibers is not built: it needs CLI11")
class Fibers(unittest.TestCase):
    def run_ranks(self, ranks, *options):
        return subprocess.run([str(word) for word in (LAUNCHER, "-n", ranks, PROGRAM, *options)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=SECONDS_MAX, text=True)

    def test_all_messages_are_right(self):
        counts = [1, 64, 2000]
        result = self.run_ranks(2, "--json", "--fibers", ",".join(map(str, counts)), "--rounds", 1, "--milliseconds", 5)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(line["fibers"], line["wrong"], line["verdict"]) for line in lines], [(count, 0, "right") for count in counts])
        for line in lines:
            self.assertGreaterEqual(line["messages"], 2 * line["fibers"])

    def test_two_workers(self):
        result = self.run_ranks(2, "--json", "--fibers", 64, "--workers", 2, "--rounds", 1, "--milliseconds", 5)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["verdict"], "right")

    def test_wrong_numbers_of_ranks_and_arguments(self):
        result = self.run_ranks(3, "--fibers", 1)
        self.assertEqual((result.returncode, "start two" in result.stderr), (2, True), result.stderr)
        self.assertEqual(self.run_ranks(2, "--fibers", 0).returncode, 2)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# subject: src/coll tests/coll/random_jobs_test.cpp tests/support/random_collectives.cpp tests/support/exchange.cpp
"""Thousands of seeds of collectives, in long tests; the room of collectives runs some."""

import os
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
IS_LONG = "WEFT_LONG:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()


class Collectives(unittest.TestCase):
    @unittest.skipUnless(IS_LONG, "thousands of seeds are for the long tests")
    def test_give_what_the_oracle_gives_with_thousands_of_seeds(self):
        done = subprocess.run([BUILD / "tests/weft-coll-tests", "--gtest_filter=random_jobs.*"], text=True,
                              env={**os.environ, "TEST_SEEDS": "3000"}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=3000)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])


if __name__ == "__main__":
    unittest.main()

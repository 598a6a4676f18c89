# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi src/net/ofi
# stages: release
"""Suites of the MPI library, with shared memory left out: ranks are threads of one process."""

import subprocess
import unittest

from ofi_program import BUILD, SECONDS_MAX, clean_environment, providers_here, remove_what_the_dead_left

PROGRAM = BUILD / "tests/weft-mpi-tests"
SUITES = ("point_to_point", "modes", "buffered", "persistent", "probes", "typed_messages", "communicators", "collectives",
          "environment")


class MpiOverLibfabric(unittest.TestCase):
    def test_gives_the_same_results(self):
        if not PROGRAM.exists():
            self.skipTest("Weft was built without its MPI library")
        if not providers_here():
            self.skipTest("libfabric has no provider that Weft can use")
        remove_what_the_dead_left()
        chosen = ":".join(f"mpi_{suite}.*" for suite in SUITES)
        result = subprocess.run([PROGRAM, "--gtest_brief=1", f"--gtest_filter={chosen}"],
                                env=clean_environment() | {"WEFT_TRANSPORT": "self,ofi"}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS_MAX)
        self.assertEqual(result.returncode, 0, result.stdout)


if __name__ == "__main__":
    unittest.main()

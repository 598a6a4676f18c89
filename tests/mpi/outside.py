# SPDX-License-Identifier: BSD-3-Clause
"""The MPI library as users have it: programs compiled by its wrapper, and started."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["TEST_BUILD_DIR"])
PROGRAMS = Path(os.environ["TEST_SOURCE_DIR"]) / "tests/mpi/programs"
NAMES = BUILD / "lib/weft/mpi/bin"  # the folder for PATH: mpicc, mpiexec
WEFT_RUN = BUILD / "bin/weft-run"
LIBRARY = BUILD / "lib/libmpi_abi.so.1"
# The compiler's wrapper of another library of the standard ABI, where the environment names one.
PEER = os.environ.get("TEST_MPI_PEER")
WITH_PEER = unittest.skipUnless(PEER, "TEST_MPI_PEER names no other library of the ABI, by its mpicc_abi")
SECONDS_MAX = 300


def environment(**more):
    """Without what a launcher around this test has set, and with more variables."""
    own = {name: value for name, value in os.environ.items() if not re.match("PMI|WEFT_|OMPI_|SLURM_|LD_", name)}
    return {**own, **more}


def run(*command, env=None, **options):
    return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS_MAX, env=env or environment(), **options)


class OutsideTest(unittest.TestCase):
    """Has a folder, and programs in it."""

    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.keeper.name)

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def succeeds(self, *command, **options):
        """The lines that it prints, in alphabetical order."""
        result = run(*command, **options)
        self.assertEqual((result.returncode, result.stderr), (0, ""), f"{command}: {result.stdout}")
        return sorted(result.stdout.splitlines())

    def compiled(self, name, *flags, wrapper=NAMES / "mpicc"):
        """A program of tests/mpi/programs."""
        output = self.folder / f"{Path(name).stem}-{Path(wrapper).name}"
        if not output.exists():
            self.succeeds(wrapper, "-O1", "-Wall", "-Werror", PROGRAMS / name, "-o", output, *flags)
        return output

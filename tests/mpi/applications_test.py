# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi apps/mpi apps/dt apps/hpccg
"""mpi-dt and mpi-hpccg have the known answers, with Weft's MPI, in long tests with each other MPI of the distribution that is
installed, and with those that TEST_MPI_PEERS names (differential_test.py)."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
GRAPHS = {("BH", "S"): 30892725, ("WH", "S"): 67349758, ("SH", "S"): 58875767, ("SH", "W"): 186944764}
RESIDUALS = {(10, 10, 20): {"15": None}, (10, 10, 10): {"15": 2.15402e-06}, (20, 30, 10): {"15": 0.578564, "30": 2.14447e-05},
             (32, 32, 32): {"15": 6.24995, "30": 0.00163788, "45": 7.8367e-08}}
IS_LONG = "WEFT_LONG:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text()
SECONDS_MAX = 300


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=SECONDS_MAX, text=True)


class Programs(unittest.TestCase):
    def check_all(self, launcher, folder, **environment):
        for ranks in (1, 2, 4):
            for graph, checksum in GRAPHS.items():
                with self.subTest(graph=graph, ranks=ranks):
                    result = run(*launcher, ranks, folder / "mpi-dt", *graph, **environment)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    found = json.loads(result.stdout)
                    self.assertEqual((found["checksum"], found["ranks"], found["verdict"]), (checksum, ranks, "right"))
            for sides, residuals in RESIDUALS.items():
                if sides[2] % ranks != 0:
                    continue
                with self.subTest(sides=sides, ranks=ranks):
                    result = run(*launcher, ranks, folder / "mpi-hpccg", *sides[:2], sides[2] // ranks, **environment)
                    self.assertEqual(result.returncode, 0, result.stderr)
                    found = json.loads(result.stdout)
                    self.assertEqual((found["iterations"], found["verdict"]), (149, "right"))
                    self.assertLess(found["error"], 1e-10)
                    for iteration, residual in residuals.items():
                        if residual is not None:
                            self.assertAlmostEqual(found["residuals"][iteration] / residual, 1, delta=1e-4)

    def test_weft(self):
        self.check_all([BUILD / "bin/weft-run", "-n"], BUILD / "bin")

    def test_wrong_arguments_are_named(self):
        for program in ("mpi-dt", "mpi-hpccg"):
            result = run(BUILD / "bin" / program, "XH")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"usage: {program} ", result.stderr)

    @unittest.skipUnless(IS_LONG or os.environ.get("TEST_MPI_PEERS"), "other libraries run them in long tests")
    def test_other_libraries(self):
        libraries = {}
        if IS_LONG:
            libraries = {"MPICH of the distribution": ("mpicc.mpich", "mpiexec.mpich"),
                         "Open MPI of the distribution": ("mpicc.openmpi", "mpirun.openmpi")}
        for text in os.environ.get("TEST_MPI_PEERS", "").split():
            name, _, programs = text.partition("=")
            libraries[name] = tuple(programs.split(":"))
        for name, (wrapper, launcher) in libraries.items():
            with self.subTest(library=name), tempfile.TemporaryDirectory() as folder:
                if not shutil.which(wrapper) or not shutil.which(launcher):
                    self.skipTest(f"{name} is not installed")
                if run(wrapper, "-x", "c", "-fsyntax-only", "-include", "mpi.h", os.devnull).returncode != 0:
                    self.skipTest(f"{name} is installed without its header")
                result = run(SOURCE / "apps/build-with", wrapper, folder)
                self.assertEqual(result.returncode, 0, result.stderr)
                more = []
                if "Open" in run(launcher, "--version").stdout:
                    more = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
                self.check_all([launcher, *more, "-n"], Path(folder), OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi programs/weft-mpicc programs/weft-run tests/mpi/programs
# not under sanitizers, which a C compiler's programs would need, too
"""Programs that are not ours, unchanged, built by Weft's wrapper of sources that the user has, and run.

TEST_MPI_SOURCES names a folder with archives of sources; a program without one is skipped. Nothing is fetched here:
    pip download --no-binary mpi4py --no-deps mpi4py      (TEST_MPI_PYTHON: a Python with numpy, cython and setuptools)
    apt-get source --download-only hpcc netpipe           (hpcc also needs a BLAS: libblas-dev, or TEST_MPI_BLAS, its file)
"""

import os
import re
import subprocess
import sys
import tarfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from outside import NAMES, PROGRAMS, SECONDS_MAX, WEFT_RUN, OutsideTest, environment, run  # noqa: E402

SOURCES = os.environ.get("TEST_MPI_SOURCES")
PYTHON = os.environ.get("TEST_MPI_PYTHON", sys.executable)
BLAS = os.environ.get("TEST_MPI_BLAS", "-lblas")
# Of mpi4py's own tests: all but those of functions that Weft's MPI does not have (files, one-sided, sessions, spawning,
# neighbourhoods, graphs, intercommunicators), which are whole files there; test_exceptions opens a session first.
PARTS_OF_MPI4PY = """address buffer cco_buf cco_nb_buf cco_nb_vec cco_obj cco_pr_buf cco_pr_vec cco_vec ctypes group info
    mpiabi mpimem msgzero op p2p_buf p2p_buf_matched p2p_obj p2p_obj_matched pack pickle status threads grequest errorcode
    util_pkl5""".split()


def with_names(**more):
    """The environment of a build that calls mpicc."""
    own = environment(**more)
    return {**own, "PATH": f"{NAMES}:{own['PATH']}"}


def has_modules(*modules):
    return run(PYTHON, "-c", "import " + ", ".join(modules)).returncode == 0


@unittest.skipUnless(SOURCES, "TEST_MPI_SOURCES names no folder with sources of programs")
class Sources(OutsideTest):
    def unpacked(self, pattern):
        """The folder of the archive's sources."""
        found = sorted(Path(SOURCES).glob(pattern))
        if not found:
            self.skipTest(f"{SOURCES} has no {pattern}")
        with tarfile.open(found[-1]) as archive:
            archive.extractall(self.folder, filter="data")
            return self.folder / archive.getnames()[0].split("/")[0]

    def builds(self, *command, **options):
        result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace", timeout=4 * SECONDS_MAX, **options)
        self.assertEqual(result.returncode, 0, result.stdout[-5000:])
        return result.stdout

    def test_netpipe_measures_and_finds_its_data_right(self):
        source = self.unpacked("netpipe_*.orig.tar.gz")
        self.builds("make", "mpi", "CFLAGS=-O2 -w", cwd=source, env=with_names())
        # -i: looks at the data of each message instead of measuring. -2: both send before they receive, which needs -a.
        for options in (["-n", "20"], ["-i", "-n", "5"], ["-a", "-n", "5"], ["-S", "-n", "5"], ["-2", "-a", "-n", "5"]):
            with self.subTest(options):
                printed = self.builds(NAMES / "mpiexec", "-n", 2, source / "NPmpi", "-u", 100000, *options, cwd=self.folder,
                                      env=environment())
                self.assertGreater(len(re.findall(r"^ *\d+: +\d+ bytes", printed, re.MULTILINE)), 20, printed)
                self.assertNotRegex(printed, "(?i)integrity check failed")

    def test_hpcc_passes_its_own_checks_in_all_broadcasts(self):
        source = self.unpacked("hpcc_*.orig.tar.gz")
        with open(PROGRAMS / "hpcc.make") as settings:
            (source / "hpl/Make.weft").write_text(settings.read().replace("@BLAS@", BLAS))
        self.builds("make", "arch=weft", cwd=source, env=with_names())
        lines = (source / "_hpccinf.txt").read_text().splitlines()
        # A small problem; each broadcast of HPL, and panels one ahead or none.
        for number, text in ((6, "200"), (8, "16"), (22, "6"), (23, "0 1 2 3 4 5"), (24, "2"), (25, "0 1")):
            lines[number - 1] = f"{text} {lines[number - 1].split(maxsplit=1)[1]}"
        (self.folder / "hpccinf.txt").write_text("\n".join([*lines, ""]))
        self.builds(NAMES / "mpiexec", "-n", 4, source / "hpcc", cwd=self.folder, env=environment())
        printed = (self.folder / "hpccoutf.txt").read_text()
        self.assertIn("\nSuccess=1\n", printed)
        self.assertRegex(printed, r"12 tests completed and passed residual checks")
        self.assertNotRegex(printed, r"[1-9]\d* tests completed and failed|FAILED")


@unittest.skipUnless(SOURCES, "TEST_MPI_SOURCES names no folder with sources of programs")
class Mpi4py(Sources):
    test_netpipe_measures_and_finds_its_data_right = None
    test_hpcc_passes_its_own_checks_in_all_broadcasts = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if not has_modules("numpy", "Cython", "setuptools"):
            raise unittest.SkipTest(f"{PYTHON} has no numpy, cython and setuptools: TEST_MPI_PYTHON may name another")
        if not list(Path(SOURCES).glob("mpi4py-*.tar.gz")):
            raise unittest.SkipTest(f"{SOURCES} has no mpi4py-*.tar.gz")
        self = cls()
        cls.source = self.unpacked("mpi4py-*.tar.gz")
        self.builds(PYTHON, "setup.py", "build", "--build-lib", cls.folder / "lib", cwd=cls.source,
                    env=with_names(MPI4PY_BUILD_MPICC=str(NAMES / "mpicc"), CFLAGS="-O0 -g0 -w"))
        cls.environment = environment(PYTHONPATH=str(cls.folder / "lib"), OPENBLAS_NUM_THREADS="1")

    def python(self, ranks, *arguments):
        return self.builds(WEFT_RUN, "-n", ranks, PYTHON, *arguments, cwd=self.folder, env=self.environment)

    def test_objects_arrays_and_threads(self):
        for ranks in (1, 3):
            self.assertEqual(self.python(ranks, PROGRAMS / "arrays.py"), "right\n")

    def test_its_benchmarks_run(self):
        self.assertIn("I am process 2 of 3", self.python(3, "-m", "mpi4py.bench", "helloworld"))
        self.assertIn("10 loops", self.python(3, "-m", "mpi4py.bench", "ringtest", "-n", 1000, "-l", 10))

    def test_its_own_tests_pass(self):
        for ranks in (1, 2):
            for part in PARTS_OF_MPI4PY:
                with self.subTest(f"{part} with {ranks} ranks"):
                    self.assertRegex(self.python(ranks, self.source / "test/main.py", "-q", f"test_{part}"), r"\nOK\b")


if __name__ == "__main__":
    unittest.main()

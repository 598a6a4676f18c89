# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-info programs/weft-run/binding.cpp src/base/processors.cpp src/net/shm
# not under sanitizers, whose libraries want to be loaded first
"""Programs on a machine with more processors than a `cpu_set_t` holds."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ.get("TEST_BUILD_DIR", Path(__file__).resolve().parents[2] / "build"))
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
# As the kernel does, it refuses a set that is smaller than its own.
KERNEL = """
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
int sched_getaffinity(pid_t thread, size_t bytes, cpu_set_t* out) {
  (void)thread;
  if (bytes * 8 < 1152) return errno = EINVAL, -1;
  CPU_ZERO_S(bytes, out);
  for (int i = 0; i < 1152; ++i) CPU_SET_S(i, bytes, out);
  return 0;
}
int sched_setaffinity(pid_t thread, size_t bytes, const cpu_set_t* wanted) {
  (void)thread, (void)bytes, (void)wanted;
  return 0;
}
"""


@unittest.skipUnless(COMPILER, "there is no C compiler")
class ManyProcessors(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keeper = tempfile.TemporaryDirectory()
        (Path(cls.keeper.name) / "kernel.c").write_text(KERNEL)
        cls.library = Path(cls.keeper.name) / "kernel.so"
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", cls.library, Path(cls.keeper.name) / "kernel.c"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.keeper.cleanup()

    def run_with_many(self, *command):
        own = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "PMI"))}
        result = subprocess.run([str(part) for part in command], env=dict(own, LD_PRELOAD=str(self.library)), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return result.stdout

    def test_weft_info_counts_all(self):
        self.assertRegex(self.run_with_many(BUILD / "bin/weft-info"),
                         r"(?m)^binding: this process may run on \d+ cores with 1152 processors: 0-1151; ")

    def test_ranks_see_those_of_each_other(self):
        said = self.run_with_many(BUILD / "bin/weft-run", "--bind", "none", "-n", 2, BUILD / "bin/weft-info", "--explain", 1, 8)
        self.assertRegex(said, r"processors: 0 may run on 0-1151, 1 on 0-1151: ")


if __name__ == "__main__":
    unittest.main()

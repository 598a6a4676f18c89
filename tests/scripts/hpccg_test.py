# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/hpccg src/coll src/fiber
"""Conjugate gradients have the known residuals, by processes under each launcher."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_HPCCG = BUILD / "bin/weft-hpccg"
WEFT_RUN = BUILD / "bin/weft-run"
LAUNCHERS = {"weft-run": [WEFT_RUN, "-n"]}
if shutil.which("mpiexec.hydra"):
    LAUNCHERS["hydra"] = ["mpiexec.hydra", "-n"]
# Of all ranks together: x, y and z, and the residuals of iterations 15, 30 and so on.
KNOWN = {(10, 10, 10): (2.15402e-06,),
         (20, 30, 10): (0.578564, 2.14447e-05),
         (32, 32, 32): (6.24995, 0.00163788, 7.8367e-08),
         (64, 64, 64): (19.7523, 0.107645, 2.29062e-04, 4.03876e-07)}
ITERATIONS = 149
RUN_TIMEOUT_S = 300


def run(*arguments, ranks=1, launcher="weft-run"):
    command = [WEFT_HPCCG, *arguments]
    if ranks > 1 or launcher != "weft-run":
        command = [*LAUNCHERS[launcher], ranks, *command]
    return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=RUN_TIMEOUT_S, text=True)


@unittest.skipUnless(WEFT_HPCCG.exists() and WEFT_RUN.exists(), "weft-hpccg or weft-run is not built")
class Known(unittest.TestCase):
    def found(self, *arguments, **where):
        result = run(*arguments, "--json", **where)
        self.assertEqual((result.returncode, result.stderr), (0, ""), (arguments, where))
        return json.loads(result.stdout)

    def check(self, sides, workers, ranks, **where):
        with self.subTest(sides=sides, workers=workers, ranks=ranks, **where):
            x, y, z = sides
            self.assertEqual(z % ranks, 0)
            found = self.found(x, y, z // ranks, "--workers", workers, ranks=ranks, **where)
            self.assertEqual((found["nx"], found["ny"], found["nz"], found["ranks"], found["workers"]),
                             (x, y, z // ranks, ranks, workers))
            self.assertEqual((found["verdict"], found["compared"]), ("right", len(KNOWN[sides]) + 1))
            self.assertEqual(found["iterations"], ITERATIONS)
            self.assertLess(found["error"], 1e-10)
            for index, residual in enumerate(KNOWN[sides]):
                self.assertAlmostEqual(found["residuals"][str(15 * (index + 1))] / residual, 1, delta=1e-4)
            operations = 64 * x * y * z * ITERATIONS
            # `mflops` has one digit behind the point: much of it where a busy machine makes it small.
            rounding = 0.05 / found["mflops"] if found["mflops"] > 0.1 else 1
            self.assertAlmostEqual(found["mflops"] * found["seconds"] * 1e6 / operations, 1, delta=0.01 + rounding)
            return found

    def test_each_number_of_workers(self):
        for sides in ((10, 10, 10), (20, 30, 10)):
            for ranks in (1, 2, 5):
                for workers in (1, 2, 3, 4):
                    self.check(sides, workers, ranks)

    def test_launchers(self):
        for launcher in LAUNCHERS:
            self.check((32, 32, 32), 2, 4, launcher=launcher)
            self.check((32, 32, 32), 1, 8, launcher=launcher)

    def test_the_largest_known_size(self):
        for ranks, workers in ((1, 1), (1, 2), (2, 1)):
            self.check((64, 64, 64), workers, ranks)

    def test_numbers_of_ranks_that_share_no_known_size(self):
        one = self.found(8, 9, 42)["residuals"]["15"]
        for ranks in (3, 6, 7):
            found = self.found(8, 9, 42 // ranks, "--workers", ranks % 4 + 1, "--expect", one, "--expect-at", 15,
                               ranks=ranks)
            self.assertEqual((found["compared"], found["verdict"]), (1, "right"))

    def test_a_residual_that_is_not_the_expected_one_fails(self):
        for launcher in LAUNCHERS:
            for ranks in (1, 2):
                result = run(10, 10, 10 // ranks, "--expect", 2.16e-06, "--expect-at", 15, ranks=ranks, launcher=launcher)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stdout, r"verdict +WRONG, 3 residuals compared\n")
                self.assertIn("weft-hpccg: the residual of iteration 15 is 2.15402e-06, expected is 2.16e-06: relative error "
                              "0.0028, 0.0001 is allowed\n", result.stderr)
        result = run(10, 10, 5, "--expect", 1, "--expect-at", 149, "--json", ranks=2)
        self.assertEqual((result.returncode, json.loads(result.stdout)["verdict"]), (1, "WRONG"))

    def test_text_has_what_is_asked(self):
        text = run(10, 10, 5, ranks=2).stdout
        for line in (r"cells +10 x 10 x 5 of each of 2 ranks", r"residual 1 +258\.24", r"residual 15 +2\.15402e-06",
                     r"seconds +[\d.]+, of these [\d.]+ for planes of neighbours and [\d.]+ for sums", r"Mflop/s +[\d.]+",
                     r"verdict +right, 2 residuals compared"):
            self.assertRegex(text, line + "\n")

    def test_wrong_arguments_are_named(self):
        for arguments, word in (((), "NX"), ((1, 1), "NZ"), ((0, 1, 1), "NX"), ((1, 1, 1, "--workers", 0), "--workers"),
                                ((1, 1, 1, "--expect", 1), "--expect-at"), ((1 << 20, 1 << 20, 1), "NX NY NZ")):
            for ranks in (1, 2):
                result = run(*arguments, ranks=ranks)
                self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
                self.assertIn(word, result.stderr)
        self.assertIn("weft-hpccg", run("--help").stdout)

    def test_ranks_with_different_arguments_do_not_begin(self):
        script = 'case $WEFT_RANK$PMI_RANK in 0*) exec "$0" 4 4 4;; *) exec "$0" 4 4 5;; esac'
        command = [WEFT_RUN, "-n", 2, "sh", "-c", script, WEFT_HPCCG]
        result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=RUN_TIMEOUT_S, text=True)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("weft-hpccg: rank 1 has other arguments than rank 0\n", result.stderr)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/uts src/fiber
"""Known trees have the known counts, whatever the number of ranks, workers and fibers and the launcher."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_UTS = BUILD / "bin/weft-uts"
LAUNCHERS = {"weft-run": [BUILD / "bin/weft-run", "-n"]}
if shutil.which("mpiexec.hydra"):
    LAUNCHERS["hydra"] = ["mpiexec.hydra", "-n"]
T1 = ("-t", 1, "-a", 3, "-d", 10, "-b", 4, "-r", 19)
T2 = ("-t", 1, "-a", 2, "-d", 16, "-b", 6, "-r", 502)
T3 = ("-t", 0, "-b", 2000, "-q", 0.124875, "-m", 8, "-r", 42)
RUN_TIMEOUT_S = 300


def run(*arguments, ranks=1, launcher="weft-run"):
    command = [WEFT_UTS, *arguments]
    if ranks > 1 or launcher != "weft-run":
        command = [*LAUNCHERS[launcher], ranks, *command]
    return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=RUN_TIMEOUT_S, text=True)


class Known(unittest.TestCase):
    def check(self, tree, nodes, depth, leaves, *more, **where):
        with self.subTest(tree=tree, more=more, **where):
            result = run(*tree, "--json", "--verify", *more, **where)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            found = json.loads(result.stdout)
            self.assertEqual((found["nodes"], found["depth"], found["leaves"]), (nodes, depth, leaves))
            return found

    def test_the_default_tree_on_every_number_of_ranks_workers_and_fibers(self):
        for launcher in LAUNCHERS:
            for ranks in (1, 2, 3, 4):
                for workers, fibers in ((1, 1), (2, 1), (1, 20), (2, 3)):
                    self.check((), 1732, 6, 1050, "--workers", workers, "--fibers", fibers, "--chunk", 1 + ranks * 3,
                               ranks=ranks, launcher=launcher)

    def test_large_trees(self):
        self.check(T1, 4130071, 10, 3305118, "--sequential")
        self.check(T1, 4130071, 10, 3305118, ranks=2)
        self.check(T2, 4117769, 81, 2342762, "--workers", 2, "--fibers", 4)
        found = self.check(T3, 4112897, 1572, 3599034, ranks=2)
        self.assertGreater(found["steals"], 0)
        self.check(T3, 4112897, 1572, 3599034, "--workers", 2, "--fibers", 5, ranks=3)

    def test_other_trees_are_the_same_in_every_way(self):
        for tree in (("-t", 2, "-d", 6, "-r", 3), ("-a", 1, "-d", 8, "-r", 1), ("-t", 0, "-b", 0.5), ("-d", 1)):
            counts = [json.loads(run(*tree, "--json", *more, ranks=ranks).stdout)
                      for more, ranks in ((["--sequential"], 1), ([], 1), (["--workers", 2], 2))]
            for each in counts:
                self.assertEqual([each[name] for name in ("nodes", "depth", "leaves", "known")],
                                 [counts[0][name] for name in ("nodes", "depth", "leaves", "known")], tree)

    def test_a_tree_without_end_is_given_up_after_the_nodes_that_it_may_have(self):
        endless = ("-t", 0, "-b", 10, "-q", 1, "-m", 2)
        for more, ranks in ((("--sequential",), 1), ((), 1), (("--workers", 2, "--fibers", 5), 2), (("--chunk", 1), 3)):
            for launcher in LAUNCHERS:
                with self.subTest(more=more, ranks=ranks, launcher=launcher):
                    result = run(*endless, "--nodes-max", 20000, *more, ranks=ranks, launcher=launcher)
                    self.assertEqual((result.returncode, result.stdout), (1, ""))
                    self.assertIn("more than 20000 nodes (--nodes-max)", result.stderr)
        self.check(T1, 4130071, 10, 3305118, "--nodes-max", 4130071, ranks=2)
        result = run(*T1, "--nodes-max", 4130070, ranks=2)
        self.assertEqual((result.returncode, result.stdout), (1, ""))

    def test_ranks_with_different_arguments_do_not_begin(self):
        for other in ("-r 5", "-q 0.1", "--nodes-max 5", "--sequential", "--help"):
            script = f'case $WEFT_RANK$PMI_RANK in 0*) exec "$0";; *) exec "$0" {other};; esac'
            command = [*LAUNCHERS["weft-run"], 2, "sh", "-c", script, WEFT_UTS]
            result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, timeout=RUN_TIMEOUT_S, text=True)
            self.assertEqual((result.returncode, result.stdout), (2, ""), other)
            self.assertIn("weft-uts: rank 1 has other arguments than rank 0\n", result.stderr)

    def test_what_is_wrong_is_said(self):
        for arguments, word in ((("-t", 3), "-t"), (("-b", -1), "-b"), (("--fibers", 0), "--fibers"), (("x",), "x"),
                                (("-t", 0, "-q", "nan"), "-q"), (("-t", 0, "-q", 0.5, "-m", 2), "--nodes-max"),
                                (("-t", 2, "-q", 0.5), "--nodes-max")):
            result = run(*arguments)
            self.assertEqual(result.returncode, 2, arguments)
            self.assertIn(word, result.stderr)
        result = run("-r", 77, "--verify")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing is known of this tree", result.stderr)
        self.assertEqual(run("--sequential", ranks=2).returncode, 2)
        self.assertIn("weft-uts", run("--help").stdout)


if __name__ == "__main__":
    unittest.main()

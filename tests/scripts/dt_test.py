# SPDX-License-Identifier: BSD-3-Clause
# subject: apps/dt src/fiber src/blocking
"""The graphs of NAS DT have the published checksums, by processes under each launcher."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_DT = BUILD / "bin/weft-dt"
WEFT_RUN = BUILD / "bin/weft-run"
LAUNCHERS = {"weft-run": [WEFT_RUN, "-n"]}
if shutil.which("mpiexec.hydra"):
    LAUNCHERS["hydra"] = ["mpiexec.hydra", "-n"]
KNOWN = {("BH", "S"): 30892725, ("WH", "S"): 67349758, ("SH", "S"): 58875767,
         ("BH", "W"): 4102461, ("WH", "W"): 204280762, ("SH", "W"): 186944764,
         ("BH", "A"): 17809491, ("WH", "A"): 1289925229, ("SH", "A"): 610856482}
SH_A_EDGES = 128
RUN_TIMEOUT_S = 300


def run(*arguments, ranks=1, launcher="weft-run"):
    command = [WEFT_DT, *arguments]
    if ranks > 1 or launcher != "weft-run":
        command = [*LAUNCHERS[launcher], ranks, *command]
    return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=RUN_TIMEOUT_S, text=True)


@unittest.skipUnless(WEFT_DT.exists() and WEFT_RUN.exists(), "weft-dt or weft-run is not built")
class Known(unittest.TestCase):
    def check(self, graph, *more, **where):
        with self.subTest(graph=graph, more=more, **where):
            result = run(*graph, "--json", *more, **where)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            found = json.loads(result.stdout)
            self.assertEqual((found["graph"], found["class"]), graph)
            self.assertEqual((found["checksum"], found["expected"]), (KNOWN[graph], KNOWN[graph]))
            self.assertEqual(found["verdict"], "right")
            return found

    def test_small_graphs_by_processes(self):
        for launcher in LAUNCHERS:
            for number, graph in enumerate(graph for graph in KNOWN if graph[1] == "S"):
                for ranks in (1, 2, 5, 8):
                    self.check(graph, "--workers", 1 + (ranks + number) % 2, ranks=ranks, launcher=launcher)

    def test_a_larger_graph_of_each_kind(self):
        for number, graph in enumerate(graph for graph in KNOWN if graph[1] == "W"):
            self.check(graph, "--workers", 2, ranks=2 + number)

    def test_the_graph_of_the_paper(self):
        found = self.check(("SH", "A"), ranks=2)
        self.assertEqual((found["nodes"], found["edges"], found["ranks"], found["workers"]), (80, SH_A_EDGES, 2, 1))
        # A layer of four crosses the halves of the numbers, by half of its edges; arrays are of about one length.
        self.assertAlmostEqual(found["bytes"] / SH_A_EDGES / 3.55e6, 1, delta=0.01)
        self.assertAlmostEqual(found["bytes_between_ranks"] / found["bytes"], 1 / 8, delta=0.01)
        self.assertGreater(found["seconds"], 0)

    def test_arithmetic_alone_needs_no_checksum(self):
        for ranks in (1, 2):
            result = run("SH", "W", "--alone", "--json", ranks=ranks)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            found = json.loads(result.stdout)
            self.assertTrue(found["alone"])
            self.assertNotIn("checksum", found)
            self.assertIn("none (--alone)", run("SH", "S", "--alone", ranks=ranks).stdout)

    def test_text_names_checksum_and_bytes(self):
        result = run("BH", "S", ranks=2)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"checksum +30892725, right\n")
        self.assertRegex(result.stdout, r"bytes +\d+, \d+ of them between ranks\n")

    def test_a_checksum_that_is_not_the_expected_one_fails(self):
        for launcher in LAUNCHERS:
            for ranks in (1, 3):
                result = run("SH", "S", "--expect", 58875768, ranks=ranks, launcher=launcher)
                self.assertEqual(result.returncode, 1)
                self.assertRegex(result.stdout, r"checksum +58875767, WRONG\n")
                self.assertIn("weft-dt: the checksum is 58875767, expected is 58875768\n", result.stderr)
        result = run("SH", "S", "--expect", 58875768, "--json", ranks=2)
        self.assertEqual((result.returncode, json.loads(result.stdout)["verdict"]), (1, "WRONG"))

    def test_wrong_arguments_are_named(self):
        for arguments, word in (((), "GRAPH"), (("BH",), "CLASS"), (("XH", "S"), "GRAPH"), (("SH", "C"), "CLASS"),
                                (("SH", "S", "--workers", 0), "--workers"), (("SH", "S", "--alone", "--expect", 1), "--alone")):
            for ranks in (1, 2):
                result = run(*arguments, ranks=ranks)
                self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
                self.assertIn(word, result.stderr)
        self.assertIn("weft-dt", run("--help").stdout)

    def test_ranks_with_different_arguments_do_not_begin(self):
        script = 'case $WEFT_RANK$PMI_RANK in 0*) exec "$0" SH S;; *) exec "$0" BH S;; esac'
        command = [WEFT_RUN, "-n", 2, "sh", "-c", script, WEFT_DT]
        result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=RUN_TIMEOUT_S, text=True)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("weft-dt: rank 1 has other arguments than rank 0\n", result.stderr)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: tools/mx_figures.py scripts/figures
"""The figures of yan2025-mpi-extensions: what is measured, what is left out, what is said of it, and the picture."""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
SPEC = importlib.util.spec_from_file_location("mx_figures", SOURCE / "tools/mx_figures.py")
mx = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(mx)

# Messages a second of each thread, by the first words that fit.
RATES = {"Weft, a VCI each, no global": 4e6, "Weft, a VCI each": 2e6, "Weft, continuations, no": 6e6, "Weft, continuations, a": 5e6, "Weft, by tag": 3e6, "Weft, one": 1e6, "MPICH, one": 1e5,
         "Open MPI, one": 4e5, "Open MPI, a communicator": 2e5, "Weft's own": 8e6}


class scripted_runner:
    """In place of programs: MPICH has one VCI, Intel MPI is not installed."""

    def __init__(self, *_):
        self.runs = []

    def has(self, library):
        return library != "Intel MPI"

    def measure(self, side, threads, seconds):
        self.runs.append((side.name, threads))
        if "MPIR_CVAR_CH4_NUM_VCIS" in dict(side.variables) or side.name == "MPICH, a communicator each":
            raise mx.Refused("exit code 1: too many VCIs")
        rate = next(rate for words, rate in RATES.items() if side.name.startswith(words))
        return rate * threads, f"{side.library} 1.0"


class Figures(unittest.TestCase):
    def make(self, **given):
        options = argparse.Namespace(**{"quick": True, "rounds": 3, "duration": None, "mpi": [], **given})
        real, mx.Runner = mx.Runner, scripted_runner
        out = io.StringIO()
        try:
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
                mx.make(SOURCE, Path("none"), Path(folder) / "papers", {"commit": "abc"}, options)
                lines = [json.loads(line) for line in (Path(folder) / "papers/mx.json").read_text().splitlines()]
                return lines, (Path(folder) / "papers/mx.svg").read_text(), out.getvalue()
        finally:
            mx.Runner = real

    def test_lines_are_of_all_sides_that_could_be_measured(self):
        lines, _, said = self.make()
        points = [line for line in lines if "side" in line]
        names = {line["side"] for line in points}
        self.assertEqual({line["threads"] for line in points}, {1, 2})
        self.assertEqual({line["rounds"] for line in points}, {3})
        self.assertIn("Weft, by tag in one communicator", names)
        self.assertNotIn("MPICH, a VCI each", names)
        self.assertEqual(said.count("figures: MPICH, a VCI each, 2 threads, is left out: exit code 1: too many VCIs"), 1)
        self.assertIn("Intel MPI, one communicator is left out: Intel MPI is not installed", said)
        tag = next(line for line in points if line["side"].startswith("Weft, by tag") and line["threads"] == 2)
        self.assertEqual((tag["median"], tag["q1"], tag["library"], tag["commit"]), (6e6, 6e6, "Weft 1.0", "abc"))

    def test_each_figure_has_the_papers_claim_and_a_sentence_of_what_is_seen(self):
        lines, picture, said = self.make()
        first, second, third = (line for line in lines if "claim" in line)
        self.assertEqual((first["figure"], second["figure"], third["figure"]), (1, 2, 3))
        self.assertEqual(first["seen"], "Seen here, with 2 threads: a VCI for each thread is 4 x one communicator, one communicator by tag "
                         "is 3 x one without the hint, the fastest form (Weft, a VCI each, no global progress) is 10 x the fastest other "
                         "(Open MPI, one communicator), it is 0.5 x Weft's own active messages.")
        self.assertEqual(second["seen"], "Seen here, with 2 threads: Weft without global progress is 2 x Weft with it.")
        self.assertEqual(third["seen"], "Seen here, with 2 threads: continuations without a request are 1.2 x those with one, they are 1.5 x "
                         "polling.")
        for line in (first, second, third):
            self.assertIn(line["seen"], said)
        root = xml.etree.ElementTree.fromstring(picture)
        words = [each.text for each in root.iter() if each.text]
        self.assertEqual(words.count("Weft, a VCI each, no global progress"), 3)  # all figures have it
        self.assertIn("Weft, by tag in one communicator", words)
        self.assertNotIn("MPICH, a VCI each", words)

    def test_nothing_measured_is_said_so(self):
        self.assertEqual(mx.seen(1, []), "Seen here: nothing, as Weft's MPI was not measured.")
        xml.etree.ElementTree.fromstring(mx.picture([]))

    def test_sides_and_rounds_alternate(self):
        runner, sides = scripted_runner(), mx.sides()[:2]
        with contextlib.redirect_stdout(io.StringIO()):
            mx.measure_all(runner, [(side, 1) for side in sides], 2, 0.1)
        self.assertEqual(runner.runs, [(side.name, 1) for side in sides] * 2)

    def test_a_run_that_fails_says_why(self):
        for command, why in ((["false"], "exit code 1: it prints nothing"), (["sh", "-c", "echo no VCI >&2; exit 2"], "exit code 2: no VCI"),
                             (["/none/such"], "No such file"), (["true"], "exit code 0: it prints nothing")):
            with self.assertRaisesRegex(mx.Refused, why):
                mx.run(command, {})

    def test_other_libraries_are_named(self):
        self.assertEqual(mx.installed(["Intel MPI=icc:irun"])["Intel MPI"], ("icc", "irun", []))
        with self.assertRaises(SystemExit):
            mx.installed(["Intel MPI=icc"])


if __name__ == "__main__":
    unittest.main()

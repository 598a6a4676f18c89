# SPDX-License-Identifier: BSD-3-Clause
# subject: tools/zhou_figures.py tools/mx_figures.py scripts/figures
"""The figures of zhou2024: what is measured, what is left out, what is said of it, and the picture."""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tools"))
import zhou_figures as zhou  # noqa: E402

FIELDS = {"measure": "tasks", "level": "single", "ranks": 1, "threads": 1, "tasks": 10, "delay_ns": 0, "clock_ns": 12.0, "verdict": "right"}


class scripted_programs:
    """In place of programs: MPICH has no streams, and Open MPI no hooks."""

    def __init__(self, *_):
        self.launchers = {"Weft": None, "MPICH": None}
        self.runs = []

    def measure(self, measured, seconds):
        self.runs.append((measured.case.figure, measured.library, measured.ranks, measured.variables))
        factor = 1 if measured.library == "Weft" else 3
        if measured.case.figure == 11 and measured.library == "MPICH":
            raise zhou.Refused("exit code 2: no streams")
        if measured.case.figure == 13:
            return [{**FIELDS, "library": measured.library, "ranks": measured.ranks, "hooks_ns": 1000.0 * factor, "iallreduce_ns": 2000.0}]
        words = measured.case.arguments.split()
        points = [int(point) for point in words[words.index(next(word for word in words[2:] if word.startswith("--"))) + 1].split(",")]
        return [{**FIELDS, "library": measured.library, measured.case.over: point, "late_ns": 100.0 * factor + point, "call_ns": 5.0}
                for point in points]


class Figures(unittest.TestCase):
    def make(self):
        options = argparse.Namespace(quick=True, rounds=3, duration=None, mpi=[])
        real, zhou.Programs = zhou.Programs, scripted_programs
        out = io.StringIO()
        try:
            with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
                zhou.make(SOURCE, Path("none"), Path(folder) / "papers", {"commit": "abc"}, options)
                lines = [json.loads(line) for line in (Path(folder) / "papers/zhou.json").read_text().splitlines()]
                return lines, (Path(folder) / "papers/zhou.svg").read_text(), out.getvalue()
        finally:
            zhou.Programs = real

    def test_lines_are_of_all_points_that_could_be_measured(self):
        lines, _, said = self.make()
        points = [line for line in lines if "side" in line]
        self.assertEqual({line["figure"] for line in points}, set(range(7, 14)))
        self.assertEqual({line["rounds"] for line in points}, {3})
        found = {(line["figure"], line["side"]) for line in points}
        self.assertIn((7, "MPICH"), found)
        self.assertNotIn((11, "MPICH"), found)
        self.assertEqual(said.count("figures: Figure 11, MPICH, is left out: exit code 2: no streams"), 1)
        seventh = next(line for line in points if (line["figure"], line["side"], line["tasks"]) == (7, "MPICH", 16))
        self.assertEqual((seventh["median"], seventh["commit"], seventh["of_last_round"]["clock_ns"]), (316.0, "abc", 12.0))
        doubling = next(line for line in points if line["side"] == "Weft, MPI_Iallreduce by recursive doubling")
        self.assertEqual((doubling["settings"], doubling["ranks"]), ({"WEFT_COLL": "allreduce:recursive-doubling"}, 2))

    def test_each_figure_has_the_papers_claim_and_a_sentence_of_what_is_seen(self):
        lines, picture, said = self.make()
        notes = {line["figure"]: line for line in lines if "claim" in line}
        self.assertEqual(list(notes), list(range(7, 14)))
        self.assertEqual(notes[7]["seen"], "Seen here (pending tasks): Weft 0.1 us at 1 and 0.12 us at 16; MPICH 0.3 us at 1 and 0.32 us at 16; "
                         "MPICH takes 2.7 to 3 x as long as Weft.")
        self.assertEqual(notes[11]["seen"], "Seen here (threads): Weft 0.1 us at 1 and 0.1 us at 2.")
        for line in notes.values():
            self.assertIn(line["seen"], said)
        root = xml.etree.ElementTree.fromstring(picture)
        words = [each.text for each in root.iter() if each.text]
        self.assertEqual(words.count("Weft"), 6)
        self.assertEqual(words.count("MPICH"), 5)
        self.assertIn("Weft, hooks", words)

    def test_nothing_measured_is_said_so(self):
        case = zhou.cases(True)[0]
        self.assertEqual(zhou.seen(case, []), "Seen here: nothing, as nothing was measured.")
        xml.etree.ElementTree.fromstring(zhou.picture(zhou.cases(True), []))

    def test_libraries_alternate_within_a_figure(self):
        runs = zhou.runs_of(["Weft", "MPICH"], True)
        self.assertEqual([(each.case.figure, each.library) for each in runs][:4], [(7, "Weft"), (7, "MPICH"), (8, "Weft"), (8, "MPICH")])
        streams = {each.library: dict(each.variables) for each in runs if each.case.figure == 11}
        self.assertEqual(streams, {"Weft": {}, "MPICH": {"MPIR_CVAR_CH4_RESERVE_VCIS": "8"}})


if __name__ == "__main__":
    unittest.main()

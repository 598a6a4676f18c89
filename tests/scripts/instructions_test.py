# SPDX-License-Identifier: BSD-3-Clause
# subject: scripts/instructions perf/instructions.json
"""scripts/instructions: what is kept of a count, and which growth it finds. No valgrind: counts are given."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
loader = importlib.machinery.SourceFileLoader("instructions", str(SOURCE / "scripts/instructions"))
instructions = importlib.util.module_from_spec(importlib.util.spec_from_loader("instructions", loader))
loader.exec_module(instructions)


def counted(post, pop):
    return {"active message": {"post": post, "pop": pop}}


class Kept(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        before, instructions.KEPT = instructions.KEPT, Path(folder.name, "instructions.json")
        self.addCleanup(setattr, instructions, "KEPT", before)
        self.kept = {"messages": {"active message": {"aim": 80, "least": 90.0, "post": 60.0, "pop": 40.0, "total": 100.0}}}

    def keep(self, figures, because=None):
        """Exit code, and what is kept of the message afterwards; None: nothing was written."""
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = instructions.keep(figures, self.kept, because)
        self.said = said.getvalue()
        return code, json.loads(instructions.KEPT.read_text())["messages"]["active message"] if instructions.KEPT.exists() else None

    def test_fewer_are_kept_and_the_least_of_all_with_them(self):
        self.assertEqual(self.keep(counted(50.0, 35.0))[1], {"aim": 80, "least": 85.0, "post": 50.0, "pop": 35.0, "total": 85.0})

    def test_the_least_stays_where_there_were_fewer_once(self):
        self.assertEqual(self.keep(counted(58.0, 40.0))[1]["least"], 90.0)

    def test_a_renewal_upwards_wants_a_reason_however_small_it_is(self):
        self.assertEqual(self.keep(counted(60.0, 40.5)), (1, None))
        self.assertIn("--because", self.said)
        code, after = self.keep(counted(60.0, 40.5), "pollers are counted")
        self.assertEqual((code, after["total"], after["least"], after["because"]), (0, 100.5, 90.0, "pollers are counted"))

    def test_a_reason_stays_until_the_sum_changes(self):
        self.keep(counted(60.0, 40.5), "pollers are counted")
        self.assertEqual(self.keep(counted(60.5, 40.0))[1]["because"], "pollers are counted")
        self.assertNotIn("because", self.keep(counted(60.0, 40.0))[1])

    def test_growth_within_a_fiftieth_passes_the_check(self):
        self.assertEqual(instructions.grown_beyond(counted(60.0, 42.0), self.kept["messages"], 1.02), [])
        self.assertEqual(len(instructions.grown_beyond(counted(60.0, 42.1), self.kept["messages"], 1.02)), 1)

    def test_a_test_of_one_request_may_take_a_fiftieth_more_while_others_wait(self):
        def tested(alone, among_many):
            return {instructions.ALONE: {"test": alone}, instructions.AMONG_MANY: {"test": among_many}}

        self.assertEqual(instructions.slowed_by_others(tested(100.0, 102.0)), [])
        self.assertEqual(len(instructions.slowed_by_others(tested(100.0, 102.1))), 1)
        self.assertEqual(instructions.slowed_by_others(counted(60.0, 40.0)), [])

    def test_the_file_of_the_repository_has_no_sum_below_its_least(self):
        for each in json.loads((SOURCE / "perf/instructions.json").read_text())["messages"].values():
            self.assertLessEqual(each["least"], each["total"])


if __name__ == "__main__":
    unittest.main()

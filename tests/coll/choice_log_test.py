# SPDX-License-Identifier: BSD-3-Clause
# subject: src/coll src/base/collective_names.cpp tests/process/collectives.cpp
"""WEFT_COLL names algorithms of collectives, and the log says which one each collective takes, and why."""

import os
import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))


def run(ranks, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "PMI"))}
    command = [BUILD / "bin/weft-run", "-n", str(ranks), BUILD / "tests/process/collectives"]
    return subprocess.run(command, env=environment | variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=600)


def choices(result):
    """By collective: the algorithm and the reason of each line of the log."""
    lines = re.findall(r"(?m)^weft 0/\d+: debug: (\w+(?: of .*?)? among \d+ members?): (\S+), as (.*)$", result.stderr)
    return [(collective, (algorithm, why)) for collective, algorithm, why in lines]


class ChoiceInTheLog(unittest.TestCase):
    def test_each_collective_that_is_kept_has_one_line_of_one_rank(self):
        result = run(3, WEFT_LOG="debug")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = choices(result)
        self.assertEqual(len(re.findall(r"(?m): debug: .* among ", result.stderr)), len(lines), "rank 0 alone")
        self.assertEqual([line for line, _ in lines].count("barrier among 3 members"), 1)
        # Each is started twice.
        self.assertEqual([line for line, _ in lines].count("broadcast of 320000 bytes among 3 members"), 1)
        # In the order of ranks, and in any order.
        self.assertEqual([line for line, _ in lines].count("allreduce of 800 bytes among 3 members"), 2)
        for _, (_, why) in lines:
            self.assertRegex(why, r"^the rule for (any number of bytes|blocks of up to \d+ bytes)( where up to \d+ ranks share cores)?"
                                  r"( and \d+ members or more)?$")

    def test_the_setting_takes_precedence_over_the_rules(self):
        result = run(2, WEFT_LOG="debug", WEFT_COLL="broadcast:chain,barrier:tree")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = choices(result)
        for collective, (algorithm, why) in lines:
            if collective.startswith(("broadcast", "barrier")):
                self.assertEqual((algorithm, why), ("chain" if collective.startswith("broad") else "tree",
                                                    "WEFT_COLL names it"), collective)
            else:
                self.assertNotIn("WEFT_COLL", why)
        # The sizes that have a body of their own otherwise, too.
        self.assertIn("broadcast of 8 bytes among 2 members", [line for line, _ in lines])

    def test_what_the_setting_can_not_do_is_done_by_the_rules_and_said_once(self):
        result = run(3, WEFT_LOG="debug", WEFT_COLL="allreduce:ring")
        self.assertEqual(result.returncode, 0, result.stderr)
        whys = [why for collective, why in choices(result) if collective == "allreduce of 800 bytes among 3 members"]
        self.assertIn(("ring", "WEFT_COLL names it"), whys)
        denied = [(algorithm, why) for algorithm, why in whys if "can't do this" in why]
        self.assertEqual(len(denied), 1, whys)
        self.assertNotEqual(denied[0][0], "ring")
        self.assertRegex(denied[0][1], r"^the rule for .*; WEFT_COLL names ring, which can't do this$")
        warned = r"warning: WEFT_COLL: allreduce .* is done by \S+, as ring can't do this"
        self.assertEqual(len(re.findall(warned, result.stderr)), 1, result.stderr)
        # Without the log of choices, too.
        self.assertEqual(len(re.findall(warned, run(3, WEFT_COLL="allreduce:ring").stderr)), 1)

    def test_an_algorithm_that_there_is_not_ends_the_program_when_it_makes_its_runtime(self):
        result = run(2, WEFT_COLL="allreduce:rign")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("WEFT_COLL='allreduce:rign' names 'rign', which is no algorithm of allreduce", result.stderr)
        self.assertIn("allreduce: linear, recursive-doubling, rabenseifner, ring, two-level", result.stderr)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# subject: docs/sizing.md src/core src/net tests/process/sizing.cpp
"""The formulas of docs/sizing.md against the memory that tests/process/sizing.cpp finds: a formula is an upper bound, and
not more than a factor above what is used. The totals of its examples are what the formulas give."""
import os
import pathlib
import re
import subprocess
import unittest

import job

PAGE = pathlib.Path(os.environ["TEST_SOURCE_DIR"]) / "docs/sizing.md"
PROGRAM = job.BUILD / "tests/process/sizing"
ROW = re.compile(r"^\| (.*?)<!-- (\w+) --> \| `([^`]+)` \|", re.MULTILINE)
EXAMPLE = re.compile(r"^\| .*? \| `([^`]+)` \| ([\d.]+) (KiB|MiB|GiB) \|$", re.MULTILINE)
UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
DEFAULTS = {"ranks": 1, "ring_cells": 256, "packet_bytes": 8192, "packet_count": 4096, "devices_max": 64,
            "shared_bytes": 8 << 30, "KiB": 1 << 10, "MiB": 1 << 20}
FACTOR = 1.7
RUNS = [(1, {}), (2, {}), (4, {}), (8, {}), (16, {}), (4, {"ring_cells": 64}), (4, {"packet_bytes": 2048}),
        (4, {"operations_max": 1024, "receives_max": 60000, "unexpected_sends_max": 60000, "devices_max": 16})]


def formulas():
    return {name: formula for _, name, formula in ROW.findall(PAGE.read_text())}


def value(formula, **variables):
    """Of a formula, in which the names of others are their values."""
    known = dict(DEFAULTS, **variables)
    for name, other in formulas().items():
        if re.search(rf"\b{name}\b", formula):
            known[name] = value(other, **variables)
    return eval(formula, {"__builtins__": {}}, known)  # the page is ours


class Sizing(unittest.TestCase):
    @unittest.skipIf(job.is_sanitized(), "a sanitizer's own memory would be measured")
    def test_things_take_the_memory_that_the_page_says(self):
        for ranks, settings in RUNS:
            variables = {f"WEFT_{name.upper()}": str(number) for name, number in settings.items()}
            run = subprocess.run([PROGRAM, str(ranks)], env={**os.environ, **variables}, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, text=True, timeout=300)
            if run.returncode == 77:
                self.skipTest("the kernel does not say what memory is of files")
            self.assertEqual(run.returncode, 0)
            found = dict(line.split() for line in run.stdout.splitlines())
            expected = dict(formulas())
            if "receives_max" in settings:  # they are there from the beginning
                expected["runtime"] += " + fixed"
                del found["receive"], found["unexpected"]
            if ranks == 1:
                del found["addresses"]  # nothing is shared
            for name, measured in found.items():
                bound = value(expected[name], ranks=ranks, **settings)
                with self.subTest(name=name, ranks=ranks, settings=settings, measured=measured, bound=bound):
                    self.assertLessEqual(int(measured), bound)
                    self.assertGreater(int(measured) * FACTOR, bound)

    def test_every_thing_that_is_measured_has_a_formula(self):
        measured = set(re.findall(r'(?:measure\(rt|print\(), "(\w+)"|print\("(\w+)"', (
            PAGE.parent.parent / "tests/process/sizing.cpp").read_text()))
        self.assertEqual({a or b for a, b in measured} | {"fixed"}, set(formulas()))

    def test_examples_add_up(self):
        examples = EXAMPLE.findall(PAGE.read_text())
        self.assertGreater(len(examples), 2)
        for formula, total, unit in examples:
            variables = dict(re.findall(r"(\w+)=(\d+)", formula))
            text = re.sub(r", \w+=\d+", "", formula)
            exact = value(text, **{name: int(number) for name, number in variables.items()}) / UNITS[unit]
            digits = len(total.partition(".")[2])
            self.assertEqual(f"{exact:.{digits}f}", total, formula)


if __name__ == "__main__":
    unittest.main()

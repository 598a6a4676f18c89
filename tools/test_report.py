#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Says how many tests ran, and which were skipped and why, from the logs of ctest.

tools/test_report.py LOG...     each a Testing/Temporary/LastTest.log; the last line is `N passed, N failed, N skipped`

A test is one of GoogleTest or of Python's unittest, of which a process may run many; any other process is one test.
"""

import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

ENTRY = re.compile(r"^\d+/\d+ Testing: (.*)$", re.MULTILINE)
# What is skipped is told as the reason why it passed.
GOOD = re.compile(r"^Test (Passed\.|Pass Reason:)", re.MULTILINE)
GOOGLE_RAN = re.compile(r"^\[=+\] (\d+) tests? from \d+ test (?:suites?|cases?) ran\.", re.MULTILINE)
GOOGLE_SKIPPED = re.compile(r"^(?:.*: Skipped\n(.*)\n(?:.*\n)*?)?\[  SKIPPED \] (\S+) \(\d+ ms\)$", re.MULTILINE)
OTHER_SKIPPED = re.compile(r"^skipped: (.*)$", re.MULTILINE)  # any other process
PYTHON_RAN = re.compile(r"^Ran (\d+) tests? in ", re.MULTILINE)
PYTHON_SKIPPED = re.compile(r"^(\w+) \(.*\).* \.\.\. skipped ['\"](.*)['\"]$", re.MULTILINE)
PYTHON_FAILED = re.compile(r"^FAILED \((.*)\)$", re.MULTILINE)


class Counts(NamedTuple):
    passed: int
    failed: int
    skipped: list  # of (name, why)


def of_entry(name, text):
    """What one process ran."""
    good = bool(GOOD.search(text))
    python = PYTHON_RAN.search(text)
    if python:
        skipped = [(f"{name}.{test}", why) for test, why in PYTHON_SKIPPED.findall(text)]
        said = PYTHON_FAILED.search(text)
        failed = sum(int(count) for count in re.findall(r"(?:failures|errors)=(\d+)", said.group(1))) if said else 0
        failed = max(failed, 0 if good else 1)
        return Counts(max(int(python.group(1)) - failed - len(skipped), 0), failed, skipped)
    google = GOOGLE_RAN.search(text)
    skipped = [(name, why or "it does not say why") for why, _ in GOOGLE_SKIPPED.findall(text)]
    if not google and good:
        skipped = [(name, why) for why in OTHER_SKIPPED.findall(text)[:1]]
    ran = int(google.group(1)) if google else 1
    failed = 0 if good else max(1, len(re.findall(r"^\[  FAILED  \] \S+ \(", text, re.MULTILINE)))
    return Counts(max(ran - failed - len(skipped), 0), failed, skipped)


def read(log):
    """The counts of all that one log tells of."""
    parts = ENTRY.split(log)
    entries = [of_entry(name.strip(), text) for name, text in zip(parts[1::2], parts[2::2])]
    return Counts(sum(each.passed for each in entries), sum(each.failed for each in entries),
                  [skip for each in entries for skip in each.skipped])


def report(counts):
    """Lines for people; tests that were skipped for the same reason share one."""
    reasons = Counter(why for _, why in counts.skipped)
    lines = []
    for why, count in sorted(reasons.items()):
        first = next(name for name, reason in counts.skipped if reason == why)
        others = f" and {count - 1} more" if count > 1 else ""
        lines.append(f"skipped: {first}{others}: {why}")
    return lines + [f"{counts.passed} passed, {counts.failed} failed, {len(counts.skipped)} skipped"]


def main():
    all_counts = [read(Path(path).read_text(errors="replace")) for path in sys.argv[1:]]
    together = Counts(sum(each.passed for each in all_counts), sum(each.failed for each in all_counts),
                      [skip for each in all_counts for skip in each.skipped])
    print("\n".join(report(together)))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The ten targets and the ten tests of a build that took longest, for people; the same goes to slowest.txt in its folder.

tools/slowest.py BUILD LOG...     LOG: what ctest keeps, Testing/Temporary/LastTest.log
"""

import re
import sys
from pathlib import Path

COUNT = 10
TIME = re.compile(r"^\d+/\d+ Testing: (.*?)$.*^Test time = +([\d.]+) sec$", re.MULTILINE | re.DOTALL)


def of_build(log):
    """{target: seconds} of a .ninja_log, in which the last line of a target counts."""
    out = {}
    for line in log.splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[0].isdigit() and fields[1].isdigit():
            out[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return out


def of_tests(log):
    """{test: seconds} of a log of ctest."""
    out = {}
    for entry in re.split(r"\n(?=\d+/\d+ Testing: )", log):
        for name, seconds in TIME.findall(entry):
            out[name] = float(seconds)
    return out


def table(title, times):
    longest = sorted(times.items(), key=lambda each: -each[1])[:COUNT]
    whole = sum(times.values())
    return [f"{title}: {len(times)}, {whole:.0f} s one after the other; the slowest:",
            *(f"  {seconds:7.1f} s  {name}" for name, seconds in longest)] if times else []


def report(build, logs):
    ninja = build / ".ninja_log"
    lines = table("targets", of_build(ninja.read_text())) if ninja.is_file() else []
    tests = {}
    for log in logs:
        tests.update(of_tests(log.read_text(errors="replace")))
    return lines + table("tests", tests)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    build, *logs = map(Path, sys.argv[1:])
    text = "\n".join([f"{build}:", *report(build, logs)])
    (build / "slowest.txt").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()

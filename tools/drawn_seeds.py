#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The seeds of a run of tests: some that its commit draws, so that each commit tries others, and those that ever failed.

tools/drawn_seeds.py          prints what this commit draws
tests/kept_seeds.json         {name of a test: {seed that failed once: the part of the test that failed, or "" for all of it}};
                              each run of the test takes them, too
"""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = "tests/kept_seeds.json"
RANGE = 1_000_000  # commits draw no seed above it: runs by hand may begin there


def first_of_commit(root=ROOT):
    """A number below RANGE that follows from the commit; 1 where there is no git."""
    try:
        run = subprocess.run(["git", "-C", str(root), "rev-parse", "HEAD"], capture_output=True, text=True, timeout=60)
    except OSError:
        return 1
    return int(run.stdout.strip()[:12], 16) % RANGE if run.returncode == 0 else 1


def kept(name, root=ROOT):
    """{seed: part of the test}"""
    return {int(seed): part for seed, part in json.loads((root / KEPT).read_text())[name].items()}


def seeds_of_run(name, count, root=ROOT):
    """`count` seeds in a row from the one that the commit draws, then those that were kept of this test; says which."""
    first = first_of_commit(root)
    drawn = list(range(first, first + count))
    old = [seed for seed in kept(name, root) if seed not in drawn]
    print(f"{name}: seeds {drawn[0]} to {drawn[-1]}, drawn by the commit, and {len(old)} that failed once", flush=True)
    return drawn + old


if __name__ == "__main__":
    print(first_of_commit())

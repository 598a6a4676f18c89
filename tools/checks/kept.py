# SPDX-License-Identifier: BSD-3-Clause
"""Numbers above a limit that were there when a rule came: kept in a file, they only fall."""

import json
from pathlib import Path

from checks.finding import Finding


def load(root, file):
    path = Path(root) / file
    return json.loads(path.read_text()) if path.is_file() else {}


def store(root, file, numbers):
    (Path(root) / file).write_text(json.dumps(numbers, indent=1, sort_keys=True) + "\n")


def stale(file, before, now):
    """Findings for kept numbers that are higher than they need be, or of what is not there. `now`: {name: number}."""
    out = []
    for name, number in before.items():
        if name not in now:
            out.append(Finding(file, 1, f"{name} is not there: tools/tidy.py --fix drops it"))
        elif now[name] < number:
            out.append(Finding(file, 1, f"{name} has {now[name]} now, and {number} are kept: tools/tidy.py --fix lowers it"))
    return out


def lower(root, file, now, limit_of):
    """Lowers the kept numbers to those of today, and drops those within the limit. Adds none."""
    before = load(root, file)
    after = {name: min(number, now[name]) for name, number in before.items()
             if name in now and min(number, now[name]) > limit_of(name)}
    if after != before:
        store(root, file, after)

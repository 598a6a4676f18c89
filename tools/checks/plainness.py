# SPDX-License-Identifier: BSD-3-Clause
"""Riddle words: words that make a reader look for the actor or the thing. A number for each file, which only falls.

A file may have so many of them in 1000 words of comment, or of a page's text, as `limit_of` says. Files that had more when
the rule came have the number kept in riddle_words.json; `tools/tidy.py --fix` lowers it, and nothing raises it.
"""

import re

from checks import kept
from checks.finding import Finding

KEPT = "tools/checks/riddle_words.json"
RIDDLE = re.compile(r"\b(?:who|what|whoever|of which|that of|nobody|somebody|comes|told|said|goes on|in turns|the same|"
                    r"in vain|at once)\b", re.IGNORECASE)
WORD = re.compile(r"[A-Za-z][A-Za-z'_-]*")
# One or two in a short file are no habit.
RIDDLES_MIN = 3
LIBRARY, PAGES, PROGRAMS = 12, 15, 20
UNREAD = ("docs/decisions/", "docs/roadmap.md")  # pages for those who work on Weft


def limit_of(file):
    """Riddle words in 1000 words, or None: not counted."""
    if file.endswith(".md"):
        if file.startswith(UNREAD):
            return PROGRAMS
        return PAGES if file.startswith(("docs/", "README")) else PROGRAMS
    if not file.endswith((".cpp", ".hpp")):
        return None
    if file.startswith(("src/", "include/")):
        return LIBRARY
    return PROGRAMS if file.startswith(("programs/", "apps/", "examples/", "tests/", "perf/")) else None


def prose_of(file, text):
    """[(line, text)] of what people read: comments of code, or a page without its code."""
    out, is_code = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if file.endswith(".md"):
            is_code ^= line.lstrip().startswith("```")
            if not is_code:
                out.append((number, re.sub(r"`[^`]*`|<!--.*?-->|\]\([^)]*\)", " ", line)))
        else:
            comment = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).partition("//")[2]
            out.append((number, re.sub(r"`[^`]*`", " ", comment)))
    return out


def count(file, text):
    """(riddle words, words, {line: riddle words})."""
    prose = prose_of(file, text)
    lines = {}
    for number, line in prose:
        found = [each.group().lower() for each in RIDDLE.finditer(line)]
        if found:
            lines[number] = found
    # A phrase of two words may be broken by the end of a line: it is not counted then.
    return sum(map(len, lines.values())), sum(len(WORD.findall(line)) for _, line in prose), lines


def rate(riddles, words):
    """Riddle words in 1000 words, rounded up."""
    return -(-1000 * riddles // max(words, 1)) if riddles >= RIDDLES_MIN else 0


def _rates(texts):
    return {file: rate(*count(file, text)[:2]) for file, text in texts.items() if limit_of(file) is not None}


def findings(root, texts):
    """`texts`: {file: text}. Files above their number, and numbers that are higher than they need be."""
    before, now, out = kept.load(root, KEPT), _rates(texts), []
    for file, number in now.items():
        allowed = max(limit_of(file), before.get(file, 0))
        if number > allowed:
            lines = count(file, texts[file])[2]
            shown = "; ".join(f"{line}: {', '.join(found)}" for line, found in list(lines.items())[:8])
            out.append(Finding(file, next(iter(lines)), f"{number} riddle words in 1000, {allowed} allowed: say who does "
                                                        f"what ({shown})"))
    return out + kept.stale(KEPT, before, now)


def lower(root, texts):
    kept.lower(root, KEPT, _rates(texts), limit_of)


def summary(texts):
    """A line for each room: riddle words in 1000 words."""
    rooms = {}
    for file, text in texts.items():
        if limit_of(file) is None:
            continue
        parts = file.split("/")
        room = "/".join(parts[:3] if parts[:2] == ["src", "core"] else parts[:2]) if len(parts) > 2 else parts[0]
        if file.endswith(".md"):
            room = file if file.startswith(("docs/", "README")) and len(parts) < 3 else "other pages"
        riddles, words, _ = count(file, text)
        total = rooms.setdefault(room, [0, 0])
        total[0] += riddles
        total[1] += words
    return [f"{1000 * riddles / max(words, 1):6.1f}  {room} ({riddles} of {words})"
            for room, (riddles, words) in sorted(rooms.items())]

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Holds the times and rates that pages quote against the files that they are from.

tools/figures.py            lists the marks that differ from their file, and the figures that have no mark
tools/figures.py --write    writes what the files say into the marks

A page writes a mark behind each figure, which readers of the rendered page do not see:
    0.23<!--plain.latency.1--> us    quoted: docs/figures/quotes.txt says where `plain.latency.1` is from
    100<!--set--> ms                 a setting, a bound or a figure of a paper: nothing that Weft was measured to take
    2.3<!--of waiting.md--> us       quoted from that page of docs/decisions, where the figure stands, too
A page of docs/decisions is history: its figures need no marks where it says, in its last line, of which commit they are.

Each line of docs/figures/quotes.txt is
    NAME  FILE  FIELD=VALUE ...  : PATH FORM
NAME.json lies in docs/figures, or is perf/instructions.json. FIELD=VALUE choose one line of the file, the one of the
label that has most rounds in the file unless a label is named. PATH is the way to the value in that line; `best` is
the best peer's median, also where some of that peer's threads starve. A NAME with {1,2,4} stands for three names, and
{} in the rest of the line for the number. FORM is ns, us, M/s, GB/s, ratio, inverse (1 / ratio), percent, count or text.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
MARK = re.compile(r"(?P<text>[^\s<>|(\[]+)<!--(?P<name>[^<>]*?)-->")
# A number, with the mark behind it if there is one.
ITEM = r"(?<![\w.,/^-])\d+(?:,\d{3})*(?:\.\d+)?(?:<!--[^<>]*-->)?"
UNIT = (r"(?:ns|us|ms|GB/s|M/s|k/s|M msg/s|million (?:messages|records|operations|cells)|instructions|times"
        r"|messages a second)(?![\w/])|%")
FIGURES = re.compile(rf"({ITEM})((?:(?:,?\s+and|,?\s+or|\s+to|,|\s+·|\s+/|\s+…)\s+{ITEM})*)\s*(?:{UNIT})")
DECIMAL = re.compile(r"(?<![\w.,/^-])\d+\.\d+(?![\w.]|<!--)")
HISTORY = re.compile(r"^The figures of this page are history, measured up to commit [0-9a-f]{7,40} \([A-Z][a-z]+ \d{4}\)\.$",
                     re.MULTILINE)
SCALES = {"ns": 1, "us": 1e-3, "M/s": 1e-6, "GB/s": 1e-9, "ratio": 1, "inverse": 1, "count": 1, "percent": 100}


class Problem(Exception):
    """A quote that can't be looked up; its text says why."""


def readable(value, form):
    """Two digits, three of what has three before its point: more than a noisy machine gives."""
    if form == "text":
        return str(value)
    value = 1 / value if form == "inverse" else value * SCALES[form]
    if form == "count":
        return str(round(value))
    rounded = float(f"{value:.3g}" if abs(value) >= 99.5 else f"{value:.2g}")
    if rounded >= 10:
        return str(round(rounded))
    return f"{rounded:.{1 if rounded >= 1 else 2 if rounded >= 0.1 else 3}f}"


def expanded(line):
    """A line for each of the numbers in braces."""
    found = re.search(r"\{([^{}]+)\}", line.split()[0])
    if not found:
        return [line]
    return [line.replace(found[0], number, 1).replace("{}", number) for number in found[1].split(",")]


class Quotes:
    """What quotes.txt names, each looked up in its file."""

    def __init__(self, folder=SOURCE / "docs/figures", instructions=SOURCE / "perf/instructions.json"):
        self.folder, self.instructions = folder, instructions
        self.files, self.lines = {}, {}
        for line in (folder / "quotes.txt").read_text(encoding="utf-8").splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            for each in expanded(line):
                name, rest = each.split(maxsplit=1)
                if name in self.lines:
                    raise Problem(f"quotes.txt has {name} twice")
                self.lines[name] = rest

    def lines_of(self, stem):
        if stem not in self.files:
            path = self.folder / f"{stem}.json"
            if not path.exists():
                raise Problem(f"{path.name} is not there")
            self.files[stem] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        return self.files[stem]

    def value(self, name):
        if name not in self.lines:
            raise Problem(f"quotes.txt has no {name}")
        where, _, what = self.lines[name].rpartition(" : ")
        stem, *fields = re.findall(r'(?:[^\s"]|"[^"]*")+', where)
        path, form = what.rsplit(maxsplit=1)
        if form not in (*SCALES, "text"):
            raise Problem(f"{name}: {form} is no form of a figure")
        if stem == "instructions":
            line = json.loads(self.instructions.read_text(encoding="utf-8"))
        else:
            line = self.chosen(name, stem, dict(each.replace('"', "").split("=", 1) for each in fields))
        value = best_peer(line) if path == "best" else at(line, path)
        if value is None or (form != "text" and not isinstance(value, (int, float))):
            raise Problem(f"{name}: its line has no {path}")
        return readable(value, form)

    def chosen(self, name, stem, fields):
        all_lines = self.lines_of(stem)
        found = [each for each in all_lines if all(str(each.get(key, "")) == value for key, value in fields.items())]
        if "label" not in fields and len({point(each) for each in found}) == 1:
            rounds = Counter()
            for each in all_lines:
                rounds[each["label"]] += each["weft"]["rounds"]
            usual = rounds.most_common(1)[0][0]
            found = [max(found, key=lambda each: (each["label"] == usual, each["weft"]["rounds"]))]
        if len(found) != 1:
            raise Problem(f"{name}: {len(found)} lines of {stem}.json have {' '.join(f'{k}={v}' for k, v in fields.items())}")
        return found[0]


def point(line):
    """What was measured: what lines of several labels have in common, unlike their values."""
    found = {"label", "path", "limit_name", "best_peer"}
    return tuple((name, value) for name, value in line.items()
                 if isinstance(value, (str, int)) and not isinstance(value, bool) and name not in found)


def at(line, path):
    """The value behind names with points between them; a name may have points of its own in brackets."""
    for key in re.findall(r"\[([^\]]*)\]|([^.\[\]]+)", path):
        line = line.get(key[0] or key[1]) if isinstance(line, dict) else None
    return line


def best_peer(line):
    others = [each["median"] for name, each in line["peers"].items() if not name.startswith("Weft")]
    if not others:
        return None
    return min(others) if line["unit"] == "ns" else max(others)


def pages():
    listed = subprocess.run(["git", "-C", SOURCE, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True, text=True)
    names = listed.stdout.split() if listed.returncode == 0 else [path.relative_to(SOURCE) for path in SOURCE.rglob("*.md")
                                                                   if not path.relative_to(SOURCE).parts[0].startswith("build")]
    return [SOURCE / name for name in sorted(map(str, names)) if (SOURCE / name).exists()]


def without_code(text):
    """As long as before, so that places stay what they are."""
    return re.sub(r"^```.*?^```|`[^`\n]*`", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.MULTILINE | re.DOTALL)


def paragraphs(text):
    """(place, text) of each paragraph, each item of a list and each row of a table."""
    begins = r"\||\s*$|\s*(?:[-*]|\d+\.)\s"
    for found in re.finditer(rf"^(?!\s*$).*\n?(?:^(?!{begins}).*\n?)*", text, re.MULTILINE):
        yield found.start(), found[0]


def is_quote(mark):
    return mark != "set" and not mark.startswith(("of ", "given:", "not compiled", " "))


def unmarked(text):
    """(line, figure) of each figure that has no mark."""
    text = without_code(text)
    out = []
    for begin, part in paragraphs(text):
        places = {}
        for found in FIGURES.finditer(part):
            for item in re.finditer(ITEM, found[1] + found[2]):
                if not item[0].endswith("-->"):
                    places[found.start() + item.start()] = item[0]
        # A list without a unit beside figures that are quoted: "the best MPI 3.9, 2.4".
        if any(is_quote(found["name"]) for found in MARK.finditer(part)):
            for found in DECIMAL.finditer(part):
                places[found.start()] = found[0]
        out += [(text.count("\n", 0, begin + place) + 1, figure) for place, figure in sorted(places.items())]
    return out


def of_decision(page, figure):
    path = SOURCE / "docs/decisions" / page
    return path.exists() and re.search(rf"(?<![\d.]){re.escape(figure)}(?![\d]|\.\d)", path.read_text(encoding="utf-8"))


def checked(path, text, quotes, used):
    """The text with its marks brought up to date, and what is wrong with it."""
    problems = []
    plain = without_code(text)

    def renewed(found):
        name, old = found["name"], found["text"]
        line = text.count("\n", 0, found.start()) + 1
        if plain[found.start():found.end()] != found[0] or name == "set" or name.startswith(" "):
            return found[0]
        if name.startswith("of "):
            if not of_decision(name.removeprefix("of "), old):
                problems.append(f"{path}:{line}: {old} is not on docs/decisions/{name.removeprefix('of ')}")
            return found[0]
        used.add(name)
        try:
            new = quotes.value(name)
        except Problem as problem:
            problems.append(f"{path}:{line}: {problem}")
            return found[0]
        if new != old:
            problems.append(f"{path}:{line}: {old} is {new} in the file of {name}; tools/figures.py --write writes it")
        return f"{new}<!--{name}-->"

    after = MARK.sub(renewed, text)
    if not HISTORY.search(text):
        problems += [f"{path}:{line}: {figure} has no mark that says where it is from" for line, figure in unmarked(text)]
    elif "docs/decisions/" not in str(path):
        problems.append(f"{path}: only pages of docs/decisions are history")
    return after, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="write what the files say into the marks")
    options = parser.parse_args()
    try:
        quotes = Quotes()
    except Problem as problem:
        sys.exit(f"figures.py: {problem}")
    used, problems = set(), []
    for path in pages():
        before = path.read_text(encoding="utf-8")
        after, found = checked(path.relative_to(SOURCE), before, quotes, used)
        if options.write and after != before:
            path.write_text(after, encoding="utf-8")
            after, found = checked(path.relative_to(SOURCE), after, quotes, used)
        problems += found
    problems += [f"quotes.txt: no page quotes {name}" for name in quotes.lines if name not in used]
    print("\n".join(problems), end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

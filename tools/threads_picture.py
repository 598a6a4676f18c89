#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws latency and rate by threads from docs/figures/compare.json: the picture of the README, docs/figures/threads.svg.

tools/threads_picture.py            says whether the picture is that of the figures
tools/threads_picture.py --write    draws it again

Each peer stands at its best setting of each point (bound to cores or not), the median of its threads' means. Both axes
are logarithmic. Python alone, no packages.
"""

import argparse
import json
import math
import sys
from html import escape
from pathlib import Path

FIGURES = Path(__file__).resolve().parent.parent / "docs/figures"
PICTURE = FIGURES / "threads.svg"
LABEL = "slow"  # of most rounds of plain programs, which README quotes, too
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 860, 330, 74, 44, 46, 84
PANEL = (WIDTH - 2 * LEFT - GAP + 40) // 2
COLOURS = {"Weft": "#1f4e9c", "Open MPI": "#c2571a", "MPICH": "#4d7d2f"}
MARKS = {"Weft": "circle", "Open MPI": "square", "MPICH": "cross"}


def curves(claim):
    """For each library its points (threads, value), the peers at their best setting."""
    best = min if claim == "plain_latency" else max
    out = {name: [] for name in COLOURS}
    for line in (FIGURES / "compare.json").read_text(encoding="utf-8").splitlines():
        figure = json.loads(line)
        if figure.get("claim") != claim or figure.get("label") != LABEL or figure.get("ranks", 2) != 2:
            continue
        out["Weft"].append((figure["threads"], figure["weft"]["median"]))
        for name in ("Open MPI", "MPICH"):
            values = [peer["median"] for key, peer in figure["peers"].items() if key.split(",")[0] == name]
            out[name].append((figure["threads"], best(values)))
    return {name: sorted(points) for name, points in out.items()}


def text(x, y, words, anchor="middle", size=13, more=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}"{more}>{escape(words)}</text>'


def mark(kind, x, y, colour):
    if kind == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}"/>'
    if kind == "square":
        return f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="{colour}"/>'
    return (f'<path d="M{x - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8" stroke="{colour}" stroke-width="2.5" fill="none"/>')


class Panel:
    def __init__(self, left, title, points, ticks, names):
        self.left, self.title, self.points, self.ticks, self.names = left, title, points, ticks, names

    def x(self, threads):
        return self.left + 12 + (PANEL - 24) * math.log2(threads) / 4

    def y(self, value):
        low, high = math.log10(self.ticks[0]), math.log10(self.ticks[-1])
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(value) - low) / (high - low)

    def draw(self):
        bottom = HEIGHT - BOTTOM
        out = [text(self.left + PANEL / 2, 24, self.title, size=15)]
        for value, name in zip(self.ticks, self.names):
            y = self.y(value)
            out.append(f'<path d="M{self.left} {y:.1f}h{PANEL}" stroke="#ddd"/>')
            out.append(text(self.left - 8, y + 4, name, "end"))
        for threads in (1, 2, 4, 8, 16):
            out.append(text(self.x(threads), bottom + 18, str(threads)))
        out.append(text(self.left + PANEL / 2, bottom + 37, "threads of each process"))
        for name, points in self.points.items():
            places = [(self.x(threads), self.y(value)) for threads, value in points]
            line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
            out.append(f'<path d="M{line}" stroke="{COLOURS[name]}" stroke-width="2" fill="none"/>')
            out += [mark(MARKS[name], x, y, COLOURS[name]) for x, y in places]
        return out


def picture():
    first = Panel(LEFT, "8 bytes one way: time", curves("plain_latency"), [1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8],
                  ["0.1 us", "1 us", "10 us", "0.1 ms", "1 ms", "10 ms", "0.1 s"])
    second = Panel(LEFT + PANEL + GAP, "windows of 32: messages a second", curves("plain_rate"),
                   [1e4, 1e5, 1e6, 1e7, 1e8], ["10 k", "100 k", "1 M", "10 M", "100 M"])
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>', *first.draw(), *second.draw()]
    for row, name in enumerate(COLOURS):
        y = TOP + 18 + 20 * row
        out += [mark(MARKS[name], LEFT + 24, y - 4, COLOURS[name]), text(LEFT + 36, y, name, "start")]
    return "\n".join([*out, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="draw docs/figures/threads.svg again")
    if parser.parse_args().write:
        PICTURE.write_text(picture(), encoding="utf-8")
        return 0
    if PICTURE.read_text(encoding="utf-8") == picture():
        return 0
    print("docs/figures/threads.svg is not that of docs/figures/compare.json: tools/threads_picture.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())

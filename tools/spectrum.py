#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws a k-mer histogram (lines of `count distinct`) as text and, with --svg FILE, as a picture.

Both show how many distinct k-mers occur how often, the picture on a logarithmic axis. Python alone, no packages.
"""

import argparse
import math
import os
import sys
from html import escape

ROWS_MAX = 26
BAR_MAX = 50
WIDTH, HEIGHT = 960, 540
LEFT, RIGHT, TOP, BOTTOM = 90, 30, 64, 64


def read_histogram(path):
    """Pairs (count, distinct), as in the file; an error names the line that is none."""
    pairs = []
    with open(path, encoding="ascii", errors="replace") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if len(words) != 2 or not all(word.isdigit() for word in words):
                raise ValueError(f"{path}:{number}: not `count distinct`: {line.rstrip()[:60]!r}")
            pairs.append((int(words[0]), int(words[1])))
    if not pairs:
        raise ValueError(f"{path}: empty: there are no k-mers to draw")
    return pairs


def last_to_show(pairs):
    """The count up to which 999 of 1000 distinct k-mers lie; what is beyond is a tail too thin to see."""
    total = sum(distinct for _, distinct in pairs)
    seen = 0
    for count, distinct in pairs:
        seen += distinct
        if seen >= 0.999 * total:
            break
    return max(count, 10)


def peak(pairs):
    """The most frequent count behind the first valley: the depth at which the sequence was read. None without one."""
    smooth = dict(pairs)
    counts = range(min(smooth), max(smooth) + 1)
    valley = next((count for count in counts if smooth.get(count + 1, 0) > smooth.get(count, 0)), None)
    if valley is None:
        return None
    return max((pair for pair in pairs if pair[0] > valley), key=lambda pair: pair[1], default=None)


def text_chart(pairs):
    last = last_to_show(pairs)
    step = max(1, math.ceil(last / ROWS_MAX))
    first = pairs[0][0]
    rows = [0] * ((last - first) // step + 1)
    for count, distinct in pairs:
        if count <= last:
            rows[(count - first) // step] += distinct
    # Errors of reading, at the left end, may outnumber all the rest: their bar is cut.
    top = max([1, *rows[1:]] if len(rows) > 1 else rows + [1])
    lines = [f"{'occurrences':>13} {'k-mers':>10}"]
    for index, distinct in enumerate(rows):
        begin = first + index * step
        name = f"{begin}" if step == 1 else f"{begin} to {begin + step - 1}"
        bar = "#" * min(BAR_MAX, math.ceil(BAR_MAX * distinct / top)) + ("..." if distinct > top else "")
        lines.append(f"{name:>13} {distinct:>10} | {bar}".rstrip())
    return "\n".join(lines)


def ticks(last):
    """About ten round numbers from 0 to `last`."""
    rough = last / 10
    unit = 10 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
    step = max(1, round(step))
    return range(0, last + 1, step)


def svg(pairs, title):
    last = last_to_show(pairs)
    shown = [(count, distinct) for count, distinct in pairs if count <= last and distinct > 0]
    decades = max(1, math.ceil(math.log10(max(distinct for _, distinct in shown))))
    slot = (WIDTH - LEFT - RIGHT) / (last + 1)

    def x(count):
        return LEFT + count * slot

    def y(distinct):
        # One k-mer still shows: the axis begins at one half.
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(distinct) + 0.3) / (decades + 0.3)

    floor = HEIGHT - BOTTOM
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="14" fill="#333">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<text x="{LEFT}" y="32" font-size="19">{escape(title)}</text>']
    for decade in range(decades + 1):
        height = y(10 ** decade)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{height:.1f}" y2="{height:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 10}" y="{height + 5:.1f}" text-anchor="end">{10 ** decade:,}</text>')
    for count, distinct in shown:
        parts.append(f'<rect x="{x(count):.2f}" y="{y(distinct):.2f}" width="{max(slot * 0.85, 0.5):.2f}" '
                     f'height="{floor - y(distinct):.2f}" fill="#2a7f9e"/>')
    for count in ticks(last):
        parts.append(f'<text x="{x(count) + slot / 2:.1f}" y="{floor + 22}" text-anchor="middle">{count}</text>')
    parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{floor}" y2="{floor}" stroke="#333"/>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 16}" text-anchor="middle">'
                 'occurrences of a k-mer in the reads</text>')
    middle = (TOP + floor) / 2
    parts.append(f'<text transform="translate(22 {middle}) rotate(-90)" text-anchor="middle">distinct k-mers</text>')
    top = peak(pairs)
    if top and top[0] <= last:
        parts.append(f'<text x="{x(top[0]) + slot / 2:.1f}" y="{y(top[1]) - 8:.1f}" text-anchor="middle" '
                     f'fill="#b03a2e">peak at {top[0]}</text>')
    parts.append("</svg>\n")
    return "\n".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("histogram")
    parser.add_argument("--svg", metavar="FILE", help="write a picture, too")
    parser.add_argument("--title", default="k-mer spectrum")
    arguments = parser.parse_args()
    try:
        pairs = read_histogram(arguments.histogram)
        print(text_chart(pairs))
        if arguments.svg:
            # Whole or not at all.
            partial = arguments.svg + ".partial"
            with open(partial, "w", encoding="utf-8") as file:
                file.write(svg(pairs, arguments.title))
            os.replace(partial, arguments.svg)
    except (OSError, ValueError) as problem:
        print(f"tools/spectrum.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

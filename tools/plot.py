#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the lines of `weft-perf ... --json` in the manner of Figures 3 to 6 of the LCI paper, 7 to 12 of zhou2024,
and Table 1 and Figures 5 and 6 of dang2016 (their Figures 3 and 4 are of `resources`).

tools/plot.py figures.json --output folder [--label near] [--format svg]

Makes, of those that there are lines for: rate, latency, bandwidth, one_sided, resources, attentiveness, hooks and
fibers. Each point is a median, its bar reaches from the lower to the upper quartile. Where there is one point, each
side is a bar from zero. A name has one colour, line and marker in all panels of a picture. Needs matplotlib, which
scripts/setup --peers installs for /usr/bin/python3: where the Python that runs this has none, that one is taken.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

COMPONENTS = ("pool", "matching", "queue")
NANO = 1e9
SYSTEM_PYTHON = "/usr/bin/python3"  # whose packages are the distribution's
COLOURS = ("C0", "C1", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9")
DASHES = ("-", "--", "-.", ":")
MARKERS = ("s", "^", "v", "D", "P", "X", "<", ">", "*")
# A switch, and a signal to a fiber of another worker.
PAPER_FIBERS_NS = {"yield": 20, "signal to another worker": 10}


def read_lines(paths):
    figures = []
    for path in paths:
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                each = json.loads(line)
                each["claim"], each["weft"]["median"], each["label"]  # what every line has
            except (ValueError, KeyError, TypeError):
                sys.exit(f"plot.py: {path}:{number}: no line of weft-perf --json: {line[:60]!r}")
            figures.append(each)
    if not figures:
        sys.exit("plot.py: there is nothing to draw")
    return figures


def panels_of_one_label(kind, figures, wished):
    """Rounds of different labels are never drawn together: those of the label with most rounds in this picture."""
    best = (None, [])
    most = 0
    for label in [wished] if wished else sorted({each["label"] for each in figures}):
        panels = list(kind([each for each in figures if each["label"] == label]))
        rounds = sum(figure["weft"]["rounds"] for _, group, *_ in panels for figure in group)
        if rounds > most:
            best, most = (label, panels), rounds
    return best


def sides(figure):
    """Name and summary of Weft and of each peer."""
    mode = {"threads-dedicated": "dedicated", "threads-shared": "shared"}.get(figure.get("mode"))
    yield figure.get("side", "Weft" + (f", {mode}" if mode else "")), figure["weft"]
    yield from figure["peers"].items()


def series(figures, horizontal, scale):
    """Of each name: x, y, and how far down and up the quartiles are."""
    points = defaultdict(dict)
    for figure in figures:
        for name, summary in sides(figure):
            points[name][figure[horizontal]] = [summary[key] * scale for key in ("median", "q1", "q3")]
    for name, values in sorted(points.items(), key=lambda item: (not item[0].startswith("Weft"), item[0])):
        xs = sorted(values)
        middle = [values[x][0] for x in xs]
        yield name, xs, middle, [[max(0, values[x][0] - values[x][1]) for x in xs],
                                 [max(0, values[x][2] - values[x][0]) for x in xs]]


def styles(figures):
    """Of each name its own colour, line and marker: more names than colours have other lines."""
    names = sorted({name for figure in figures for name, _ in sides(figure)}, key=lambda name: (not name.startswith("Weft"), name))
    return {name: {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
                   "marker": "o" if name.startswith("Weft") else MARKERS[i % len(MARKERS)]}
            for i, name in enumerate(names)}


def panel(axes, figures, title, horizontal, vertical, scale=1.0, of_bytes=False, looks=None):
    if len({each[horizontal] for each in figures}) == 1:
        only = figures[0][horizontal]
        bars(axes, figures, horizontal, scale)
        axes.set(title=title, xlabel=f"bytes: {readable(only)}" if of_bytes else f"{horizontal}: {only}", ylabel=vertical)
    else:
        lines(axes, figures, horizontal, scale, of_bytes, looks or styles(figures))
        axes.set(title=title, xlabel="bytes" if of_bytes else horizontal, ylabel=vertical)
        axes.grid(alpha=0.3)
        legend_beside(axes)


def legend_beside(axes):
    """To the right of the panel, where it covers no data."""
    axes.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def bars(axes, figures, horizontal, scale):
    """A line through one point shows nothing: a bar for each side, from zero, so that lengths can be compared."""
    names = []
    for name, xs, middle, spread in series(figures, horizontal, scale):
        axes.bar(len(names), middle[0], yerr=spread, capsize=2, width=0.6, color="C0" if name.startswith("Weft") else "C7")
        names.append(name)
    for limit in {each["limit"] * scale for each in figures if each.get("limit")}:
        axes.axhline(limit, color="k", linestyle=":", label="limit")
        legend_beside(axes)
    axes.set_xticks(list(range(len(names))), names, rotation=30, ha="right", fontsize="x-small")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3, axis="y")


def lines(axes, figures, horizontal, scale, of_bytes, looks):
    for name, xs, middle, spread in series(figures, horizontal, scale):
        axes.errorbar(xs, middle, yerr=spread, label=name, linewidth=2 if name.startswith("Weft") else 1, capsize=2,
                      markersize=4, **looks[name])
    limits = sorted({(each[horizontal], each["limit"] * scale) for each in figures if each.get("limit")})
    if limits:
        axes.plot(*zip(*limits), "k:", marker=".", label="limit")
    axes.set_xscale("log", base=2)
    heights = [summary["median"] for each in figures for _, summary in sides(each)]
    if max(heights) > 20 * min(heights):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    xs = sorted({each[horizontal] for each in figures})
    is_dense = len(xs) > 7
    axes.set_xticks(xs, [readable(x) if of_bytes else str(x) for x in xs], rotation=30 if is_dense else 0,
                    fontsize="x-small" if is_dense else None)
    axes.minorticks_off()


def readable(count):
    for unit, size in (("M", 1 << 20), ("K", 1 << 10)):
        if count >= size and count % size == 0:
            return f"{count // size}{unit}"
    return str(count)


def grouped(figures, key):
    groups = defaultdict(list)
    for each in figures:
        groups[key(each)].append(each)
    return sorted(groups.items(), key=lambda item: str(item[0]))


def operation(figure):
    """Where one claim has figures of both: of active messages, or of sends and receives."""
    what = figure.get("what", "")
    return what if what in ("am", "sendrecv") else ""


def rates(figures):
    """As Figures 3 and 4: messages a second over the number of threads."""
    chosen = [each for each in figures if each["claim"].endswith("_rate") or each["claim"] == "shared_device"]
    for (claim, what, window), group in grouped(chosen, lambda each: (each["claim"], operation(each), each["window"])):
        yield (f"{claim} {what}".strip() + (f", window {window}" if window else ", stream"), group, "threads", "M msg/s",
               1e-6, False)


def latencies(figures):
    chosen = [each for each in figures if each["claim"] in ("am_latency", "sendrecv_latency", "net_latency")]
    for (claim, what), group in grouped(chosen, lambda each: (each["claim"], operation(each))):
        yield f"{claim} {what}".strip() + ", one way", group, "bytes", "us", 1e-3, True
    threaded = [each for each in figures if each["claim"] == "mt_latency"]
    if threaded:
        for mode, group in grouped(threaded, lambda each: each.get("mode", "")):
            yield f"mt_latency, {mode}, one way", group, "threads", "us", 1e-3, False
    plain = [each for each in figures if each["claim"] == "plain_latency"]
    for what, group in grouped(plain, operation):
        yield f"plain_latency {what}".strip() + ", one way", group, "threads", "us", 1e-3, False


def bandwidths(figures):
    """As Figure 5: bytes a second over the size of a message."""
    chosen = [each for each in figures if each["claim"] in ("bandwidth", "put_bandwidth")]
    for (claim, what), group in grouped(chosen, lambda each: (each["claim"], each.get("what", ""))):
        yield f"{claim} {what}".strip(), group, "bytes", "GB/s", 1 / NANO, True


def one_sided(figures):
    chosen = [each for each in figures if each["claim"] in ("put_latency", "get_latency")]
    for (claim, what), group in grouped(chosen, lambda each: (each["claim"], each.get("what", ""))):
        yield f"{claim} {what}".strip(), group, "bytes", "us", 1e-3, True


def resources(figures):
    """As Figure 6: operations a second over the number of threads."""
    chosen = [each for each in figures if each["claim"] in COMPONENTS]
    for claim, group in grouped(chosen, lambda each: each["claim"]):
        yield claim, group, "threads", "M op/s", 1e-6, False


def attentiveness(figures):
    """How long messages wait, over the number of devices; a line for each policy."""
    chosen = [each for each in figures if each["claim"] == "attentiveness"]
    for (share, threads), group in grouped(chosen, lambda each: (each["what"].split()[-1], each["threads"])):
        renamed = []
        for each in group:
            policy = each["what"].split()[0]
            peers = {f"{policy}, {name}": values for name, values in each["peers"].items()}
            renamed.append({**each, "peers": peers, "side": f"Weft, {policy}"})
        yield f"wait of a message, {share}, {threads} threads", renamed, "devices", "us", 1e-3, False


def hooks(figures):
    """As Figures 7 to 12 of zhou2024: how late a task's end is noticed."""
    chosen = [each for each in figures if each["claim"] == "hooks"]
    horizontals = {"delay": "delay_ns", "threads": "threads", "devices": "threads"}
    for what, group in grouped(chosen, lambda each: each["what"]):
        horizontal = horizontals.get(what, "tasks")
        yield what, [each for each in group if each[horizontal] > 0], horizontal, "us", 1e-3, False


def workers_of(figure):
    """Which of Weft's lines a figure of messages belongs to."""
    workers = figure.get("workers", 1)
    return (f"Weft, {workers} worker{'s' if workers > 1 else ''}" +
            (" and a thread for progress" if figure.get("progress_thread") else ""))


def fibers(figures):
    """As Table 1 of dang2016, with its figures, which are of another machine, beside; Figure 5, over the number of fibers;
    Figure 6, over the bytes and over the random writes of one fiber of each rank."""
    chosen = [each for each in figures if each["claim"] == "fibers"]
    messages = [{**each, "side": workers_of(each)} for each in chosen if each["what"].startswith("message")]
    for what, group in grouped([each for each in chosen if not each["what"].startswith("message")], lambda each: each["what"]):
        paper = PAPER_FIBERS_NS.get(what)
        if paper:
            beside = {"dang2016, Table 1": {"median": paper, "q1": paper, "q3": paper}}
            group = [{**each, "peers": {**each["peers"], **beside}} for each in group]
        yield what, group, "fibers", "ns", 1.0, False
    short = [each for each in messages if each.get("bytes", 8) <= 8 and not each.get("writes")]
    for what, group in grouped(short, lambda each: each["what"]):
        yield what, group, "fibers", "ns", 1.0, False
    single = [each for each in messages if each["fibers"] == 1 and each["what"] == "message"]
    by_size = [each for each in single if not each.get("writes")]
    if len({each["bytes"] for each in by_size}) > 1:
        yield "message of one fiber", by_size, "bytes", "us", 1e-3, True
    by_writes = [each for each in single if each.get("bytes", 8) <= 8 and each.get("writes")]
    if by_writes:
        yield "message of one fiber, less its random writes", by_writes, "writes", "us", 1e-3, False


def draw(name, panels, options, label):
    from matplotlib import pyplot
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    picture, grid = pyplot.subplots(rows, columns, figsize=(6.5 * columns, 4 * rows), squeeze=False,
                                    constrained_layout=True)
    looks = styles([figure for _, group, *_ in panels for figure in group])
    for axes in grid.flat[len(panels):]:
        axes.remove()
    for axes, (title, group, horizontal, vertical, scale, of_bytes) in zip(grid.flat, panels):
        panel(axes, group, title, horizontal, vertical, scale, of_bytes, looks)
    first = panels[0][1][0]
    origin = [f"{label} state", first["commit"], first["flags"], first.get("host", "")]
    picture.suptitle("; ".join(filter(None, origin)), fontsize="x-small")
    path = options.output / f"{name}.{options.format}"
    picture.savefig(path)
    pyplot.close(picture)
    print(path)


def has_matplotlib(python):
    return subprocess.run([python, "-c", "import matplotlib"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


def need_matplotlib():
    """`env python3` may be another Python than the one that scripts/setup installs packages for: then starts that one."""
    try:
        return importlib.import_module("matplotlib")
    except ImportError:
        pass
    other = os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON)
    if other and os.access(SYSTEM_PYTHON, os.X_OK) and has_matplotlib(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    sys.exit(f"plot.py: neither {sys.executable} nor {SYSTEM_PYTHON} has matplotlib: scripts/setup --peers installs it for the latter")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", nargs="+", help="what weft-perf printed with --json")
    parser.add_argument("--output", type=Path, default=Path("."), help="folder of the pictures")
    parser.add_argument("--label", help="fast, slow, far, any, unknown, or near of older lines (the one with most rounds)")
    parser.add_argument("--format", default="svg", choices=["svg", "png", "pdf"])
    options = parser.parse_args()
    figures = read_lines(options.lines)
    need_matplotlib().use("Agg")
    options.output.mkdir(parents=True, exist_ok=True)
    made = 0
    for name, kind in (("rate", rates), ("latency", latencies), ("bandwidth", bandwidths), ("one_sided", one_sided),
                       ("resources", resources), ("attentiveness", attentiveness), ("hooks", hooks),
                       ("fibers", fibers)):
        label, panels = panels_of_one_label(kind, figures, options.label)
        if panels:
            draw(name, panels, options, label)
            made += 1
    if made == 0:
        state = f" of the {options.label} state" if options.label else ""
        sys.exit(f"plot.py: no line{state} is of a claim that it draws")


if __name__ == "__main__":
    main()

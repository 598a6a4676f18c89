#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes Figures 7 to 13 of zhou2024: how soon the progress of MPI notices that tasks of the program are over.

`scripts/figures --paper zhou` calls it: mpi-async (docs/mpi-async.md) with Weft's MPI and each other one that has hooks, in alternating
rounds. Writes zhou.json (a line for each curve and point, and one for each figure with the paper's claim and what is seen here) and
zhou.svg. A library that is not installed, or that can't do a measurement, is left out with a line.
"""

import json
import math
import shutil
import statistics
import subprocess
from typing import NamedTuple

from mx_figures import COLOURS, Refused, installed, run_lines, text, wrapped

CLAIMS = {
    7: "The paper: below 32 pending tasks their ends are noticed less than 0.5 us late.",
    8: "The paper: a longer poll of each task makes all ends later.",
    9: "The paper: ends are later with more threads, which contend for progress.",
    10: "The paper: with one hook that looks at the first task alone, the number of tasks makes no difference.",
    11: "The paper: with a stream for each thread, more threads make no difference.",
    12: "The paper: queries cost nothing that can be measured below 256 pending requests.",
    13: "The paper: the allreduce of the program's hooks is faster than MPICH's MPI_Iallreduce.",
}
COUNTS = "1,2,4,8,16,32,64,128,256,512,1024"
DELAYS = "0,250,500,1000,2000,4000,8000"
THREADS = "1,2,4,8"
RANKS = (2, 4, 8, 16)
WIDTH, HEIGHT, LEFT, TOP, PANEL, WORDS = 940, 400, 80, 40, 460, 125  # WORDS: letters of a line below a panel


class Case(NamedTuple):
    """A figure: how mpi-async measures it, and which field of its lines is drawn over which."""
    figure: int
    title: str
    arguments: str
    over: str
    unit: str
    field: str = "late_ns"


class Run(NamedTuple):
    """A command whose lines are points of a case; `sides`: pairs of a curve's name and a field."""
    case: Case
    library: str
    sides: tuple
    variables: tuple = ()
    ranks: int = 1


def cases(quick):
    counts, delays, threads = ("1,16", "0,1000", "1,2") if quick else (COUNTS, DELAYS, THREADS)
    return [Case(7, "tasks with a hook each", f"--measure tasks --tasks {counts}", "tasks", "pending tasks"),
            Case(8, "10 tasks whose polls take longer", f"--measure tasks --delay-ns {delays}", "delay_ns", "ns of a poll"),
            Case(9, "10 tasks, threads on the default stream", f"--measure tasks --threads {threads}", "threads", "threads"),
            Case(10, "tasks with one hook", f"--measure class --tasks {counts}", "tasks", "pending tasks"),
            Case(11, "10 tasks of each thread on its own stream", f"--measure streams --threads {threads}", "threads", "threads"),
            Case(12, "requests that a hook asks", f"--measure queries --tasks {counts}", "tasks", "pending requests"),
            Case(13, "allreduce of one integer", "--measure allreduce", "ranks", "ranks", "hooks_ns")]


def runs_of(libraries, quick):
    """All runs of a round. Libraries alternate within a figure."""
    out = []
    for case in cases(quick):
        for library in libraries:
            if case.figure != 13:
                streams = max(int(count) for count in THREADS.split(","))
                variables = (("MPIR_CVAR_CH4_RESERVE_VCIS", str(streams)),) if case.figure == 11 and library != "Weft" else ()
                out.append(Run(case, library, ((library, case.field),), variables))
                continue
            for ranks in RANKS[:1] if quick else RANKS:
                sides = ((f"{library}, hooks", "hooks_ns"), (f"{library}, MPI_Iallreduce", "iallreduce_ns"))
                out.append(Run(case, library, sides, (), ranks))
                if library == "Weft":
                    own = (("WEFT_COLL", "allreduce:recursive-doubling"),)
                    out.append(Run(case, library, (("Weft, MPI_Iallreduce by recursive doubling", "iallreduce_ns"),), own, ranks))
    return out


class Programs:
    """mpi-async of each library; `build` has Weft's, and a folder of those that are made for the others."""

    def __init__(self, source, build, libraries):
        self.launchers = {"Weft": ([build / "bin/weft-run"], build / "bin/mpi-async")}
        for name, (wrapper, launcher, more) in libraries.items():
            folder = build / "figures/zhou" / name.replace(" ", "-")
            if not shutil.which(wrapper) or not shutil.which(launcher):
                continue
            made = subprocess.run([source / "apps/build-with", wrapper, folder], capture_output=True, text=True)
            if made.returncode == 0 and (folder / "mpi-async").exists():
                self.launchers[name] = ([launcher, *more], folder / "mpi-async")
            else:
                print(f"figures: {name} is left out: mpi-async is not built with it", flush=True)

    def measure(self, measured, seconds):
        launcher, program = self.launchers[measured.library]
        command = [*launcher, "-n", measured.ranks, program, *measured.case.arguments.split(), "--seconds", seconds, "--json"]
        lines = run_lines(command, dict(measured.variables))
        if any(line["verdict"] != "right" for line in lines):
            raise Refused("tasks or sums were wrong")
        return lines


def measure_all(programs, runs, rounds, seconds):
    """Of each (case, side, point): its values, and the lines. A run that fails is left out from then on."""
    values, lines, failed = {}, {}, set()
    for number in range(rounds):
        for each in runs:
            if each in failed:
                continue
            try:
                found = programs.measure(each, seconds)
            except Refused as refused:
                failed.add(each)
                print(f"figures: Figure {each.case.figure}, {each.sides[0][0]}, is left out: {refused}", flush=True)
                continue
            for line in found:
                for side, field in each.sides:
                    key = (each.case, side, line[each.case.over])
                    values.setdefault(key, []).append(line[field])
                    lines[key] = {**line, "field": field, "settings": dict(each.variables)}
        print(f"figures: round {number + 1} of {rounds}", flush=True)
    return values, lines


def lines_of(values, measured, about):
    out = []
    for (case, side, point), all_values in values.items():
        low, middle, high = (statistics.quantiles(all_values, n=4) if len(all_values) > 1 else all_values * 3)
        line = measured[case, side, point]
        kept = {name: line[name] for name in ("library", "measure", "level", "ranks", "threads", "tasks", "delay_ns", "field", "settings")}
        more = {name: line[name] for name in ("clock_ns", "call_ns", "call_cpu_ns", "query_ns") if name in line}
        out.append({"paper": "zhou", "figure": case.figure, "side": side, case.over: point, **kept, "rounds": len(all_values),
                    "median": middle, "q1": low, "q3": high, "least": min(all_values), "unit": "ns", "of_last_round": more, **about})
    return out


def points_of(lines, case, side):
    return {line[case.over]: line["median"] for line in lines if line.get("figure") == case.figure and line.get("side") == side}


def seen(case, lines):
    """One sentence on what the lines show."""
    sides = list(dict.fromkeys(line["side"] for line in lines if line["figure"] == case.figure))
    parts = []
    for side in sides:
        points = points_of(lines, case, side)
        first, last = min(points), max(points)
        parts.append(f"{side} {points[first] / 1000:.2g} us at {first}" +
                     (f" and {points[last] / 1000:.2g} us at {last}" if last != first else ""))
    own = points_of(lines, case, "Weft" if case.figure != 13 else "Weft, hooks")
    for side in sides:
        common = set(own) & set(points_of(lines, case, side))
        if side.startswith("Weft") or not common:
            continue
        ratios = [points_of(lines, case, side)[point] / own[point] for point in common if own[point] > 0]
        parts.append(f"{side} takes {min(ratios):.2g} to {max(ratios):.2g} x as long as Weft")
    if not parts:
        return "Seen here: nothing, as nothing was measured."
    return f"Seen here ({case.unit}): {'; '.join(parts)}."


def panel(top, case, lines):
    """One figure: times over points, both logarithmic, with the names of its curves and two sentences below."""
    curves = {}
    for line in lines:
        if line["figure"] == case.figure:
            curves.setdefault(line["side"], []).append((line[case.over], max(line["median"], 1.0)))
    values = [value for points in curves.values() for _, value in points] or [1000.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    high = max(high, low + 1)
    bottom = top + HEIGHT - 120
    places = sorted({point for points in curves.values() for point, _ in points})
    x_of = {point: LEFT + 12 + (PANEL - 24) * number / max(1, len(places) - 1) for number, point in enumerate(places)}
    y_of = lambda value: bottom - (bottom - top - TOP) * (math.log10(value) - low) / (high - low)
    out = [text(LEFT + PANEL / 2, top + 24, f"Figure {case.figure}: {case.title}", size=15)]
    for power in range(low, high + 1):
        out.append(f'<path d="M{LEFT} {y_of(10 ** power):.1f}h{PANEL}" stroke="#ddd"/>')
        out.append(text(LEFT - 8, y_of(10 ** power) + 4, f"{10 ** power / 1000:g} us", "end"))
    out += [text(x_of[point], bottom + 18, str(point)) for point in places]
    out.append(text(LEFT + PANEL / 2, bottom + 36, case.unit))
    for row, (name, points) in enumerate(curves.items()):
        colour = COLOURS[row % len(COLOURS)]
        marks = [(x_of[point], y_of(value)) for point, value in sorted(points)]
        dash = ' stroke-dasharray="6 3"' if not name.startswith("Weft") else ""
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in marks)
        out.append(f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"{dash}/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in marks]
        y = top + TOP + 12 + 20 * row
        out += [f'<circle cx="{LEFT + PANEL + 20}" cy="{y - 4}" r="4" fill="{colour}"/>',
                text(LEFT + PANEL + 32, y, name, "start")]
    said = wrapped(CLAIMS[case.figure], WORDS) + wrapped(seen(case, lines), WORDS)
    return out + [text(LEFT, bottom + 58 + 15 * row, words, "start", 12) for row, words in enumerate(said)]


def picture(all_cases, lines):
    height = len(all_cases) * HEIGHT
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
                      f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
                      *(part for row, case in enumerate(all_cases) for part in panel(row * HEIGHT, case, lines)), "</svg>", ""])


def make(source, build, output, about, options):
    """Measures, and writes zhou.json and zhou.svg into the folder `output`. `options` are those of scripts/figures."""
    rounds = options.rounds or (1 if options.quick else 7)
    seconds = options.duration or (0.02 if options.quick else 0.3)
    programs = Programs(source, build, installed(options.mpi))
    all_cases = cases(options.quick)
    lines = lines_of(*measure_all(programs, runs_of(list(programs.launchers), options.quick), rounds, seconds), about)
    notes = [{"paper": "zhou", "figure": case.figure, "claim": CLAIMS[case.figure], "seen": seen(case, lines), **about}
             for case in all_cases]
    output.mkdir(parents=True, exist_ok=True)
    (output / "zhou.json").write_text("".join(json.dumps(line) + "\n" for line in lines + notes), encoding="utf-8")
    (output / "zhou.svg").write_text(picture(all_cases, lines), encoding="utf-8")
    for note in notes:
        print(f"figures: Figure {note['figure']}. {note['claim']} {note['seen']}")
    print(f"figures: {output / 'zhou.json'} and zhou.svg")

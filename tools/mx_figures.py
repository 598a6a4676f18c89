#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes Figures 1 to 3 of yan2025-mpi-extensions: the message rate of many threads through an active-message layer over MPI.

`scripts/figures --paper mx` calls it: each library and form in alternating rounds of mpi-amlayer (docs/mpi-amlayer.md), and Weft's own
active messages by weft-perf. Writes mx.json (a line for each side and number of threads, and one for each figure with the paper's
claim and what is seen here) and mx.svg. A library that is not installed, or that can't do a form, is left out with a line.
"""

import json
import math
import os
import shutil
import statistics
import subprocess
import sys
from html import escape
from typing import NamedTuple

CLAIMS = {1: "The paper: with 32 threads the best form with many VCIs is 10 x (Expanse) and 8 x (Delta) the best standard MPI.",
          2: "The paper: without global progress the rate with a VCI for each thread is 4.5 x (Expanse) and 1.4 x (Delta) that with it.",
          3: "The paper: with 64 threads continuations without a continuation request have a rate of 1.64 x (Expanse) and 1.27 x (Delta) those "
             "with one for each VCI; beside polling of requests there is no difference."}
THREADS = (1, 2, 4, 8, 16)
SECONDS_MAX = 300  # a run; one that takes longer is left out
PROBED = 200       # messages of the run that says how many a measured one takes
COLOURS = ("#1f4e9c", "#c2571a", "#4d7d2f", "#7a3b9c", "#8a6d00", "#1c8a8a", "#b03060", "#555555", "#6a9ee0", "#e0a060")
WIDTH, HEIGHT, LEFT, TOP, PANEL, WORDS = 940, 450, 70, 40, 460, 125  # WORDS: letters of a line below a panel


class Side(NamedTuple):
    """What is measured: a form of the layer over one library with its variables, or Weft's own messages."""
    name: str
    figures: tuple
    library: str
    form: str
    variables: tuple = ()  # pairs of name and value
    completion: str = "poll"


def sides():
    """`{threads}` in a variable is the number of threads."""
    weft, mpich = (("WEFT_MPI_VCIS", "{threads}"),), (("MPIR_CVAR_CH4_NUM_VCIS", "{threads}"),)
    alone, mpich_alone = (("WEFT_MPI_GLOBAL_PROGRESS", "0"),), (("MPIR_CVAR_CH4_GLOBAL_PROGRESS", "0"),)
    out = [Side("Weft, one communicator", (1,), "Weft", "one"),
           Side("Weft, by tag in one communicator", (1,), "Weft", "tag"),
           Side("Weft, a VCI each", (2,), "Weft", "vci", weft),
           Side("Weft, a VCI each, no global progress", (1, 2, 3), "Weft", "vci", weft + alone),
           Side("Weft, continuations, no request", (3,), "Weft", "vci", weft + alone, "continue"),
           Side("Weft, continuations, a request each", (3,), "Weft", "vci", weft + alone, "continue-request"),
           Side("MPICH, one communicator", (1,), "MPICH", "one"), Side("MPICH, a communicator each", (1,), "MPICH", "vci"),
           Side("MPICH, a VCI each", (2,), "MPICH", "vci", mpich),
           Side("MPICH, a VCI each, no global progress", (1, 2), "MPICH", "vci", mpich + mpich_alone)]
    for name in ("Open MPI", "Intel MPI"):
        out += [Side(f"{name}, one communicator", (1,), name, "one"), Side(f"{name}, a communicator each", (1,), name, "vci")]
    return [*out, Side("Weft's own active messages, one device", (1,), "own", "threads-shared"),
            Side("Weft's own active messages, a device each", (1,), "own", "threads-dedicated")]


class Refused(Exception):
    """A run that ended with an error; its text is why."""


def run_lines(command, variables):
    """The JSON lines that a program prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("WEFT_", "PMI"))}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **variables}
    try:
        result = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True,
                                stdin=subprocess.DEVNULL, timeout=SECONDS_MAX)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Refused(str(problem)[:160]) from problem
    lines = [line for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode != 0 or not lines:
        words = (result.stderr.strip() or result.stdout.strip() or "it prints nothing").splitlines()
        raise Refused(f"exit code {result.returncode}: {words[0][:160]}")
    return [json.loads(line) for line in lines]


def run(command, variables):
    return run_lines(command, variables)[-1]


class Runner:
    """Starts the programs; `build` has Weft's, and a folder of those that are made for the others."""

    def __init__(self, source, build, libraries):
        self.build, self.messages = build, {}  # how many of each point take so long
        self.launchers = {"Weft": [build / "bin/weft-run", "-n", "2", build / "bin/mpi-amlayer"]}
        for name, (wrapper, launcher, more) in libraries.items():
            folder = build / "figures/mx" / name.replace(" ", "-")
            if not shutil.which(wrapper) or not shutil.which(launcher):
                continue
            made = subprocess.run([source / "apps/build-with", wrapper, folder], capture_output=True, text=True)
            if made.returncode == 0 and (folder / "mpi-amlayer").exists():
                self.launchers[name] = [launcher, *more, "-n", "2", folder / "mpi-amlayer"]

    def has(self, library):
        return library == "own" or library in self.launchers

    def measure(self, side, threads, seconds):
        """(messages a second, the library's version) of one run that takes about so long."""
        if side.library == "own":
            found = run([self.build / "bin/weft-run", "-n", "2", self.build / "bin/weft-perf", "latency", "--operation", "am", "--mode",
                         side.form, "--threads", threads, "--sizes", 8, "--pin", "none", "--rounds", 1, "--duration", seconds,
                         "--fast-below", 1000000, "--json"], {})
            return threads * 1e9 / found["weft"]["median"], "Weft"
        variables = {name: value.format(threads=threads) for name, value in side.variables}
        command = [*self.launchers[side.library], "--form", side.form, "--threads", threads, "--json"]
        if side.completion != "poll":
            command += ["--completion", side.completion]
        if "MPIR_CVAR_CH4_NUM_VCIS" in variables:
            command += ["--vcis", threads]
        if (side, threads) not in self.messages:
            probed = run([*command, "--messages", PROBED], variables)
            self.messages[side, threads] = max(PROBED, min(10_000_000, int(PROBED * seconds / probed["seconds"])))
        found = run([*command, "--messages", self.messages[side, threads]], variables)
        if found["verdict"] != "right":
            raise Refused("messages were doubled or changed")
        if "WEFT_MPI_VCIS" in variables and found["vcis"] != threads:
            raise Refused(f"it uses {found['vcis']} VCIs, not {threads}")
        return found["messages_per_second"], found["library"]


def measure_all(runner, points, rounds, seconds):
    """Each side of `points`, (side, threads), once a round; one that fails is left out from then on."""
    rates, versions, failed = {point: [] for point in points}, {}, {}
    for number in range(rounds):
        for point in points:
            side, threads = point
            if point in failed:
                continue
            try:
                rate, versions[side.library] = runner.measure(side, threads, seconds)
                rates[point].append(rate)
            except Refused as refused:
                failed[point] = str(refused)
                print(f"figures: {side.name}, {threads} threads, is left out: {refused}", flush=True)
        print(f"figures: round {number + 1} of {rounds}", flush=True)
    return {point: values for point, values in rates.items() if point not in failed}, versions


def lines_of(rates, versions, about):
    out = []
    for (side, threads), values in rates.items():
        low, middle, high = (statistics.quantiles(values, n=4) if len(values) > 1 else values * 3)
        out.append({"paper": "mx", "figures": list(side.figures), "side": side.name, "library": versions[side.library],
                    "form": side.form, "completion": side.completion, "settings": dict(side.variables), "traffic": "ping-pong", "bytes": 8, "threads": threads,
                    "rounds": len(values), "median": middle, "q1": low, "q3": high, "least": min(values), "unit": "messages/s",
                    **about})
    return out


def rate_of(lines, name, threads):
    return next((line["median"] for line in lines if line["side"] == name and line["threads"] == threads), None)


def best_of(lines, threads, is_wanted):
    """(rate, name) of the fastest side."""
    return max(((line["median"], line["side"]) for line in lines if line["threads"] == threads and is_wanted(line["side"])),
               default=(None, None))


def seen(figure, lines):
    """One sentence on what the lines show with the most threads that Weft was measured with."""
    is_own = lambda name: name.startswith("Weft's own")
    lines = [line for line in lines if figure in line["figures"]]
    every = [line["threads"] for line in lines if line["side"].startswith("Weft,")]
    if not every:
        return "Seen here: nothing, as Weft's MPI was not measured."
    threads = max(every)
    parts = []

    def add(text, upper, lower):
        if upper and lower:
            parts.append(text.format(ratio=f"{upper / lower:.2g}"))

    if figure == 1:
        alone = rate_of(lines, "Weft, a VCI each, no global progress", threads)
        one = rate_of(lines, "Weft, one communicator", threads)
        other, name = best_of(lines, threads, lambda side: not side.startswith("Weft"))
        best, best_name = best_of(lines, threads, lambda side: side.startswith("Weft,"))
        own, _ = best_of(lines, threads, is_own)
        add("a VCI for each thread is {ratio} x one communicator", alone, one)
        add("one communicator by tag is {ratio} x one without the hint", rate_of(lines, "Weft, by tag in one communicator", threads), one)
        add(f"the fastest form ({best_name}) is {{ratio}} x the fastest other ({name})", best, other)
        add("it is {ratio} x Weft's own active messages", best, own)
    elif figure == 2:
        for library in ("Weft", "MPICH"):
            add(f"{library} without global progress is {{ratio}} x {library} with it",
                rate_of(lines, f"{library}, a VCI each, no global progress", threads), rate_of(lines, f"{library}, a VCI each", threads))
    else:
        without = rate_of(lines, "Weft, continuations, no request", threads)
        add("continuations without a request are {ratio} x those with one", without,
            rate_of(lines, "Weft, continuations, a request each", threads))
        add("they are {ratio} x polling", without, rate_of(lines, "Weft, a VCI each, no global progress", threads))
    return f"Seen here, with {threads} threads: {', '.join(parts) or 'nothing to compare'}."


def text(x, y, words, anchor="middle", size=13):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" font-size="{size}">{escape(words)}</text>'


def wrapped(words, width):
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def panel(top, figure, lines):
    """One figure: rates by threads, both logarithmic, with the names of its curves and what is said of it below."""
    curves = {}
    for line in lines:
        if figure in line.get("figures", ()):
            curves.setdefault(line["side"], []).append((line["threads"], line["median"]))
    values = [value for points in curves.values() for _, value in points] or [1e6]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    high = max(high, low + 1)
    widest = max([math.log2(threads) for points in curves.values() for threads, _ in points] + [1])
    bottom = top + HEIGHT - 150
    x_of = lambda threads: LEFT + 12 + (PANEL - 24) * math.log2(threads) / widest
    y_of = lambda value: bottom - (bottom - top - TOP) * (math.log10(value) - low) / (high - low)
    out = [text(LEFT + PANEL / 2, top + 24, f"Figure {figure}: 8-byte messages a second", size=15)]
    for power in range(low, high + 1):
        out.append(f'<path d="M{LEFT} {y_of(10 ** power):.1f}h{PANEL}" stroke="#ddd"/>')
        out.append(text(LEFT - 8, y_of(10 ** power) + 4, f"{10 ** power / 1e6:g} M", "end"))
    for threads in sorted({threads for points in curves.values() for threads, _ in points}):
        out.append(text(x_of(threads), bottom + 18, str(threads)))
    out.append(text(LEFT + PANEL / 2, bottom + 36, "threads of each process"))
    for row, (name, points) in enumerate(curves.items()):
        colour = COLOURS[row % len(COLOURS)]
        places = [(x_of(threads), y_of(value)) for threads, value in sorted(points)]
        dash = ' stroke-dasharray="6 3"' if not name.startswith("Weft") else ""
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        out.append(f'<path d="M{path}" stroke="{colour}" stroke-width="2" fill="none"{dash}/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in places]
        y = top + TOP + 12 + 20 * row
        out += [f'<circle cx="{LEFT + PANEL + 20}" cy="{y - 4}" r="4" fill="{colour}"/>',
                text(LEFT + PANEL + 32, y, name, "start")]
    said = wrapped(CLAIMS[figure], WORDS) + wrapped(seen(figure, lines), WORDS)
    return out + [text(LEFT, bottom + 58 + 15 * row, words, "start", 12) for row, words in enumerate(said)]


def picture(lines):
    height = len(CLAIMS) * HEIGHT
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif">',
                      f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
                      *(words for row, figure in enumerate(CLAIMS) for words in panel(row * HEIGHT, figure, lines)), "</svg>", ""])


def installed(texts):
    """name: (wrapper, launcher, its options). `texts`: others, as NAME=WRAPPER:LAUNCHER."""
    yields = ["--oversubscribe", "--bind-to", "none"]
    out = {"MPICH": ("mpicc.mpich", "mpiexec.mpich", []), "Open MPI": ("mpicc.openmpi", "mpirun.openmpi", yields)}
    for words in texts:
        name, _, programs = words.partition("=")
        wrapper, _, launcher = programs.partition(":")
        if not launcher:
            sys.exit(f"figures: --mpi {words}: write NAME=WRAPPER:LAUNCHER")
        out[name] = (wrapper, launcher, yields if name == "Open MPI" else [])
    return out


def make(source, build, output, about, options):
    """Measures, and writes mx.json and mx.svg into the folder `output`. `options` are those of scripts/figures."""
    threads = (1, 2) if options.quick else THREADS
    rounds = options.rounds or (1 if options.quick else 7)
    seconds = options.duration or (0.02 if options.quick else 0.3)
    runner = Runner(source, build, installed(options.mpi))
    points = []
    for side in sides():
        if runner.has(side.library):
            points += [(side, number) for number in threads]
        else:
            print(f"figures: {side.name} is left out: {side.library} is not installed")
    lines = lines_of(*measure_all(runner, points, rounds, seconds), about)
    notes = [{"paper": "mx", "figure": figure, "claim": CLAIMS[figure], "seen": seen(figure, lines), **about} for figure in CLAIMS]
    output.mkdir(parents=True, exist_ok=True)
    (output / "mx.json").write_text("".join(json.dumps(line) + "\n" for line in lines + notes), encoding="utf-8")
    (output / "mx.svg").write_text(picture(lines), encoding="utf-8")
    for note in notes:
        print(f"figures: Figure {note['figure']}. {note['claim']} {note['seen']}")
    print(f"figures: {output / 'mx.json'} and mx.svg")

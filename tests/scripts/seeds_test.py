#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# subject: src/net/sim src/core/protocol src/core/operation src/mpi/message
# cost: 60
"""Every test of communication, and a little of the stress suite, over a simulated network, with many seeds.

seeds_test.py                              as the tests do: 10 seeds that the commit draws, 200 in long tests, and kept ones
seeds_test.py --seeds 5000 --first 1000    by hand: any number of them, from any number on

A seed that has failed is added to tests/kept_seeds.json, with its room, by the change that mends it.
"""

import argparse
import concurrent.futures
import functools
import os
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
sys.path.insert(0, str(SOURCE / "tools"))
sys.dont_write_bytecode = True
import drawn_seeds  # noqa: E402

WORKERS = 3  # they wait more than they compute
SECONDS_MAX = 600  # for one seed: far above what it takes, with any sanitizer on any machine

# Suites that make a local_job but are left out here, and why.
LEFT_OUT = {
    "a_million_coroutines": "counts memory, and sends nothing",
    "copy_counters": "tells direct copies from others, and here direct copies are denied",
    "group_costs": "counts messages and memory, of more groups than a bad network makes in the time",
    "random_jobs": "has seeds and simulated networks of its own",
    "list_steps": "is sure of memory that is mapped, and here mappings are denied",
    "steps": "has a script in the place of its peer, and no network",
    "shared_copy": "a receiver has to copy without its sender's progress, and here direct copies are denied",
    "fiber_watch": "waits for time to pass, and sends three messages",
    "mpi_polling": "counts looks that find nothing, and here messages are under way",
    "mpi_many_communicators": "makes communicators by the thousand, and counts memory",
    "mpi_requests": "tests requests of messages that arrive without a wait, and here they are under way",
    "lost_message": "loses messages by itself, and wants others to be taken, or refused, where there is room, or none",
    "lifetime": "dies on purpose, each time in a process of its own: slow, and nothing that a network could change",
    "wrong_end": "the same",
}
# Tests that take half of the time of a seed: with the first of twenty seeds alone, and why.
SELDOM = {
    "outstanding.lets_an_object_go_that_has_been_seen_to_be_signalled": "the same long message 300 times",
    "ids.of_an_engine_are_found_while_others_come_and_go": "threads and a table, and hardly a message",
    "ids.of_engines_that_come_and_go_leave_no_engines": "engines by the thousand, and no message",
    "ids.of_registrations_that_come_and_go_leave_no_entries": "registrations by the thousand, and no message",
    "*.needs_no_stack_for_its_length": "long chains of what sends nothing",
    "collectives_of_ended_ranks.*": "waits most of its time until the end of a rank is known",
    "coll_counts*": "schedules of many ranks, and no message",
    "random_terminations.*": "has seeds of its own",
    "mpi_coll*": "collectives that coll's own suites run with each seed",
    "mpi_user_operations.*": "the same",
    "mpi_arguments.*": "calls that are refused, and hardly a message",
    "mpi_many_communicators.*thousand*": "communicators by the thousand, and few messages",
}
FAILURES = {"failed_reads": "read:2", "failed_writes": "write:2", "gone_reads": "read:2:gone", "gone_writes": "write:2:gone"}
KINDS = ("delayed", "reordered", "full", "busy", "unavailable", "unmapped", *FAILURES)
SEEDS_PER_SELDOM = 20
SEEDS_PER_FAILURE = 2  # one failure for so many seeds: 8 seeds see each
NAMES = re.compile(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+), *(\w+)\)", re.MULTILINE)


# Headers by which a test makes jobs.
JOBS = ("weft/test/local_job.hpp", "mpi/ranks.hpp")
# Rooms of tests that are left out here, and why.
ROOMS_LEFT_OUT = {
    "contract": "makes its own simulated networks",
    "programs": "the programs' scripts choose their transports",
    "schedulers": "another scheduler, and hardly a message",
    "stress": "runs for long; its short tests are run",
    "process": "no GoogleTest",
    "fuzz": "the same",
}


@functools.cache
def suites():
    """{room: suites}: all that communicate."""
    found = {}
    for source in sorted((SOURCE / "tests").rglob("*_test.cpp")):
        room = str(source.parent.relative_to(SOURCE / "tests"))
        text = source.read_text()
        if room.split("/")[0] not in ROOMS_LEFT_OUT and any(name in text for name in JOBS):
            found.setdefault(room, set()).update(suite for suite, _ in NAMES.findall(text))
    return {room: sorted(names - set(LEFT_OUT)) for room, names in found.items() if names - set(LEFT_OUT)}


def program(room):
    return str(BUILD / f"tests/weft-{room.replace('/', '-')}-tests")


def failure_of(seed, position):
    """The environment and the command that make one copy fail with this seed, by its position in the run; none with many."""
    if position % SEEDS_PER_FAILURE != 0:
        return []
    choice = list(FAILURES.values())[position // SEEDS_PER_FAILURE % len(FAILURES)]
    command = [str(BUILD / "bin/weft-run"), "-n", "2", str(BUILD / "tests/process/sim_failure")]
    return [({**variables(seed), "WEFT_SIM_FAIL": choice, "WEFT_TEST_RANKS": "2"}, command)]


def command_lines(position, only=""):
    """What is run with a seed, by its position in the run: programs and their filters; of one room alone if that is named."""
    left_out = ":".join(SELDOM) if position % SEEDS_PER_SELDOM != 0 else ""
    for room, names in suites().items():
        if only not in ("", room):
            continue
        patterns = [pattern for suite in names for pattern in (f"{suite}.*", f"*/{suite}.*")]
        yield [program(room), "--gtest_brief=1", f"--gtest_filter={':'.join(patterns)}-{left_out}"]
    for room in ("stress/core", "stress/graph") if not only else ():
        yield [program(room), "--gtest_brief=1", "--gtest_filter=short*"]


def variables(seed):
    return {"WEFT_TRANSPORT": "sim:self,sim:shm", "WEFT_SIM_SEED": str(seed), "WEFT_LOG": "info"}


def run_one(command, seed, chosen):
    """Why it failed, or None, and the faults that it counted."""
    patience = ("WEFT_STUCK_AFTER", "WEFT_BOOT_TIMEOUT_S")
    environment = {k: v for k, v in os.environ.items() if k in patience or not k.startswith(("WEFT_", "PMI", "GTEST_"))}
    faults = dict.fromkeys(KINDS, 0)
    try:
        done = subprocess.run(command, env=dict(environment, **chosen), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS_MAX, text=True,
                              errors="replace")
        output, problem = done.stdout, f"exit status {done.returncode}" if done.returncode != 0 else None
        if not problem and re.search(r"^\[=+\] 0 tests", output, re.MULTILINE):
            problem = "no test ran"
    except subprocess.TimeoutExpired as expired:
        output = (expired.stdout or b"").decode(errors="replace")
        problem = f"not done after {SECONDS_MAX} s"
    for line in output.splitlines():
        if "faults:" in line:
            for kind, count in re.findall(r"(\w+)=(\d+)", line.split("faults:")[1]):
                if kind in faults:
                    faults[kind] += int(count)
    if problem:
        told = [line for line in output.splitlines() if "faults:" not in line]
        replay = [f"{name}={value}" for name, value in chosen.items()] + command
        problem = "\n".join([f"seed {seed}: {problem}", *told[-40:], "replay it with:", "  " + shlex.join(replay)])
    return problem, faults


def run_seeds(seeds, rooms=None):
    """All problems, and the faults of all seeds together. `rooms`: {seed: the one room that it is run with}."""
    tasks = [(command, seed, chosen) for position, seed in enumerate(seeds)
             for chosen, command in [*((variables(seed), each) for each in command_lines(position, (rooms or {}).get(seed, ""))),
                                     *failure_of(seed, position)]]
    problems, total = [], dict.fromkeys(KINDS, 0)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        runs = [pool.submit(run_one, *task) for task in tasks]
        for run in concurrent.futures.as_completed(runs):
            if run.cancelled():
                continue
            problem, faults = run.result()
            for kind in KINDS:
                total[kind] += faults[kind]
            if problem:
                problems.append(problem)
                print(problem, flush=True)
                if len(problems) == 3:  # enough to see a pattern
                    for other in runs:
                        other.cancel()
    return problems, total


def usual_count():
    return 200 if "WEFT_LONG:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text() else 10


class Seeds(unittest.TestCase):
    def test_everything_communicates_over_a_bad_network_with_every_seed(self):
        seeds = drawn_seeds.seeds_of_run("seeds_test", usual_count())
        rooms = {seed: room for seed, room in drawn_seeds.kept("seeds_test").items() if seed not in seeds[:usual_count()]}
        problems, faults = run_seeds(seeds, rooms)
        self.assertEqual(len(problems), 0, "\n\n".join(problems))
        for kind in KINDS:
            self.assertGreater(faults[kind], 0, f"no fault of kind '{kind}' occurred, so nothing was tested with it")

    def test_the_suites_of_communication_are_found(self):
        self.assertIn("active_message", suites()["core/protocol"])
        self.assertIn("active_message_of_size", suites()["core/protocol"])
        self.assertIn("fiber", suites())
        self.assertIn("misuse/core", suites())
        self.assertIn("mpi_point_to_point", suites()["mpi"])
        self.assertEqual(set(drawn_seeds.kept("seeds_test").values()) - {""} - set(suites()), set())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first one")
    parser.add_argument("--verbose", action="store_true", help="say which tests run")
    options = parser.parse_args()
    if options.seeds is None and options.first == 1:
        unittest.main()
    problems, faults = run_seeds(range(options.first, options.first + (options.seeds or usual_count())))
    print(f"{len(problems)} failures; faults: {faults}")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi tests/mpi/differential
# not under sanitizers, which the wrapper's programs would need, too
# cost: 60
"""Random MPI programs whose result the standard determines (differential/), on Weft, and on request on other libraries.

Weft is judged: what the programs expect themselves is right. Where another library gives a rank other bytes, statuses or
error classes, that is a report with both results and the version of the library, for a person to judge, and no failure.

differential_test.py                                as the tests do: 10 seeds of each kind of job, 1000 in long tests
differential_test.py --seeds 50 --first 1000        by hand: any number of them, from any number on
                     --ranks 3 --level multiple     of one kind of job alone
                     --vcis 4                       with so many VCIs (WEFT_MPI_VCIS)
                     --only NAME, --without NAME    cases and kinds of communicators; `--names` prints them

The commit draws the seeds; tests/kept_seeds.json has those that failed once. Other libraries are compared by hand, in long
tests and where TEST_MPI_PEERS names them: NAME=MPICXX:MPIEXEC, separated by blanks; those of the distribution by hand and
in long tests alone.
"""

import argparse
import concurrent.futures
import functools
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
PROGRAM = SOURCE / "tests/mpi/differential"
FOLDER = BUILD / "tests/differential"
sys.path.insert(0, str(SOURCE / "tools"))
sys.dont_write_bytecode = True
import drawn_seeds  # noqa: E402

SEEDS_PER_JOB = 50
VCIS = (1, 2, 4)
SECONDS_MAX = 600  # of one job: far above what it takes
FLAGS = ["-std=c++20", "-O0", "-g1", "-Wall", "-Wextra", "-Werror", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"]

# Cases, or parts of cases, in which another library is wrong, and what the standard (MPI 5.0) says. Both libraries leave them
# out. Names are parts of a library's name.
WRONG = {
    "MPICH": {  # 5.0.2
        "elements": "3.2.5: MPI_Get_elements gives the number of basic elements; MPICH ends the job for some derived types",
        "darray": "5.1.4: block cyclic arrays whose last block is not full; MPICH gives other true bounds",
        "external32": "14.5.2: lengths of the representation; MPICH refuses some types of C and leaves long doubles out",
        "replace": "3.11: MPI_Sendrecv_replace takes any committed type; MPICH refuses some long derived ones with MPI_ERR_TYPE",
    },
    "Open": {  # 5.0.11
        "external32": "14.5.2: long has 4 bytes; MPI_Pack_external_size counts 8 for it and MPI_Pack_external writes 4",
        "negative_stride": "5.1.2: the stride of MPI_Type_vector may be negative; data get to other addresses",
        "complex": "3.3.1: the types of both sides match, so the data are equal; they are not with blocks of complex numbers",
        "truncated_messages": "3.2.4: the message that does not fit is an overflow error; a rank's message to itself writes on",
        "failures_among_requests": "3.7.5: MPI_Waitall gives MPI_ERR_IN_STATUS if a request fails; not with a rank's own messages",
        "empty_list": "2.5.2: the address of an empty array is not looked at; MPI_Startall refuses a null one",
    },
}
# Cases of functions that Weft does not have yet.
ABSENT = ()


class Library:
    def __init__(self, name, wrapper, launcher):
        self.name, self.wrapper, self.launcher = name, wrapper, launcher
        self.folder = FOLDER / name.replace(" ", "-")

    @property
    def program(self):
        return self.folder / "program"

    @functools.cached_property
    def version(self):
        """What its launcher says first of itself; MPICH's says the version in its second line."""
        said = subprocess.run([self.launcher, "--version"], capture_output=True, text=True, timeout=300).stdout
        return " ".join(" ".join(said.splitlines()[:2]).split())

    @property
    def is_open_mpi(self):
        return "Open" in self.version

    def build(self):
        """Compiles what has changed. Gives what the compiler says against it."""
        self.folder.mkdir(parents=True, exist_ok=True)
        headers = max(path.stat().st_mtime for path in (*PROGRAM.glob("*.hpp"), Path(self.wrapper)))

        def compiled(source):
            output = self.folder / f"{source.stem}.o"
            if output.exists() and output.stat().st_mtime > max(headers, source.stat().st_mtime):
                return ""
            return run([self.wrapper, *FLAGS, "-c", source, "-o", output])[1]

        sources = sorted(PROGRAM.glob("*.cpp"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            said = "".join(pool.map(compiled, sources))
        return said or run([self.wrapper, *(self.folder / f"{source.stem}.o" for source in sources), "-o", self.program])[1]

    def run(self, job, without):
        """Why the job failed, or None, and what each rank has written."""
        logs = self.folder / "logs"
        shutil.rmtree(logs, ignore_errors=True)
        logs.mkdir()
        environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                       **({} if job.vcis is None else {"WEFT_MPI_VCIS": str(job.vcis)})}
        more = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"] if self.is_open_mpi else []
        command = [self.launcher, *more, "-n", job.ranks, self.program, *job.arguments(without), "--folder", logs]
        code, output = run(command, environment)
        lines = [path.read_text(errors="replace").splitlines() for path in sorted(logs.iterdir())]
        wrong = [f"rank {rank}, {heading(log, at)}: {line}" for rank, log in enumerate(lines)
                 for at, line in enumerate(log) if line.startswith("WRONG")]
        problem = None
        if wrong:
            problem = "\n".join(wrong[:8])
        elif code != 0 or len(lines) != job.ranks:
            ends = "; ".join(f"rank {rank} in {heading(log, len(log) - 1)}" for rank, log in enumerate(lines) if log)
            problem = f"exit code {code} at {ends}\n{output[-2000:]}"
        return problem and f"{self.name}, {job}: {problem}", lines


class Job:
    """Of several threads: communicators are on so many VCIs, drawn by the first seed unless it is given."""
    def __init__(self, first, count, ranks, level, only=(), vcis=None):
        self.first, self.count, self.ranks, self.level, self.only = first, count, ranks, level, only
        self.vcis = VCIS[(first + ranks) % len(VCIS)] if vcis is None and level == "multiple" else vcis

    def __str__(self):
        vcis = "" if self.vcis is None else f" --vcis {self.vcis}"
        return f"--first {self.first} --seeds {self.count} --ranks {self.ranks} --level {self.level}{vcis}"

    def arguments(self, without):
        named = [word for name in without for word in ("--without", name)] + [word for name in self.only for word in ("--only", name)]
        return ["--first", self.first, "--count", self.count, "--level", self.level, *named]


def run(command, environment=None):
    """The exit code, and all output."""
    try:
        done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=SECONDS_MAX, text=True, errors="replace")
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as expired:
        return 124, f"{(expired.stdout or b'').decode(errors='replace')}\nnot done after {SECONDS_MAX} s"


def heading(log, at):
    """The line that names seed, case and communicator of this line."""
    return next((line for line in reversed(log[:at + 1]) if line.startswith("seed ")), "the beginning")


def difference(job, one, one_logs, other, other_logs):
    for rank, (left, right) in enumerate(zip(one_logs, other_logs)):
        for at, (here, there) in enumerate(zip(left + ["the end"], right + ["the end"])):
            if here != there:
                return f"{job}: rank {rank}, {heading(left, at)}:\n  {one.name}: {here}\n  {other.name}: {there}"
    return None


WEFT = Library("Weft", BUILD / "bin/weft-mpicxx", BUILD / "bin/weft-run")


@functools.cache
def others(has_distribution):
    """{name: Library or why it can't be used}; those of the distribution only if that is wanted."""
    known = {}
    if has_distribution:
        known = {"MPICH of the distribution": ("mpicxx.mpich", "mpiexec.mpich"),
                 "Open MPI of the distribution": ("mpicxx.openmpi", "mpirun.openmpi")}
    for text in os.environ.get("TEST_MPI_PEERS", "").split():
        name, _, programs = text.partition("=")
        known[name] = tuple(programs.split(":"))
    out = {}
    for name, programs in known.items():
        found = [shutil.which(program) for program in programs]
        if None in found:
            out[name] = "it is not installed"
            continue
        library = Library(name, *found)
        said = library.build()
        out[name] = library if not said else f"its wrapper does not compile: {said.splitlines()[0]}"
    return out


def known_wrong(name):
    return next((set(cases) for part, cases in WRONG.items() if part in name), set())


def problems_of(jobs, without=()):
    """What is wrong on Weft."""
    return [problem for job in jobs for problem in [WEFT.run(job, {*ABSENT, *without})[0]] if problem]


def differences_of(jobs, peer, without=()):
    """Where this library gives anything else than Weft, or fails; known faults of it are left out on both sides."""
    left_out = {*ABSENT, *without, *known_wrong(peer.name)}
    for job in jobs:
        problem, here = WEFT.run(job, left_out)
        if problem:  # found by problems_of, too
            continue
        problem, there = peer.run(job, left_out)
        found = problem or difference(job, WEFT, here, peer, there)
        if found:
            yield f"{peer.version}: {found}"


IS_LONG = "WEFT_LONG:BOOL=ON" in (BUILD / "CMakeCache.txt").read_text() if BUILD.is_dir() else False
KINDS = ((4, "single"), (3, "multiple"), (2, "single"), (5, "multiple"))


@functools.cache
def usual_jobs():
    count = 1000 if IS_LONG else 10
    seeds = drawn_seeds.seeds_of_run("differential_test", count)
    pieces = [(first, min(SEEDS_PER_JOB, seeds[0] + count - first)) for first in range(seeds[0], seeds[0] + count, SEEDS_PER_JOB)]
    pieces += [(seed, 1) for seed in seeds[count:]]
    return [Job(first, length, *kind) for first, length in pieces for kind in KINDS]


class Differential(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        said = WEFT.build()
        if said:
            raise AssertionError(said)

    def test_programs_find_what_the_standard_determines(self):
        self.assertEqual(problems_of(usual_jobs()), [])

    @unittest.skipUnless(IS_LONG or os.environ.get("TEST_MPI_PEERS"), "other libraries are compared by long tests")
    def test_what_other_libraries_do_otherwise_is_reported(self):
        for name, library in others(IS_LONG).items():
            if isinstance(library, str):
                print(f"{name} is not compared: {library}", flush=True)
                continue
            found = list(differences_of(usual_jobs(), library))
            print("\n".join([f"{name}: {len(found)} differences", *found]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, help="how many")
    parser.add_argument("--first", type=int, default=1, help="the first one")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--level", choices=("single", "multiple"), default="multiple")
    parser.add_argument("--vcis", type=int)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--names", action="store_true", help="the cases, and the kinds of communicators")
    parser.add_argument("--verbose", action="store_true", help="say which tests run")
    options = parser.parse_args()
    if options.seeds is None and not options.names:
        unittest.main()
    said = WEFT.build()
    if said or options.names:
        sys.exit(said or run([WEFT.program, "--names"])[1])
    peers = []
    for name, library in others(True).items():
        print(f"{name}: {library if isinstance(library, str) else library.version}")
        peers += [] if isinstance(library, str) else [library]
    jobs = [Job(first, min(SEEDS_PER_JOB, options.first + options.seeds - first), options.ranks, options.level, options.only,
                options.vcis)
            for first in range(options.first, options.first + options.seeds, SEEDS_PER_JOB)]
    failures = problems_of(jobs, options.without)
    differences = 0
    for peer in peers:
        for each in differences_of(jobs, peer, options.without):
            differences += 1
            print(each, flush=True)
    print("\n".join([*failures, f"{len(failures)} failures of Weft, {differences} differences to others"]))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: BSD-3-Clause
"""Prints what the start of MPI costs: `python3 tests/mpi/start_figures.py [build] [rounds]`. The least of all rounds.

Times are those of weft-run, from its start to its end, with programs and with `true`, which needs no MPI; memory is that of
rank 0 at rest between two barriers.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(sys.argv[1] if len(sys.argv) > 1 else SOURCE / "build").resolve()
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 15


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout


def least_milliseconds(ranks, program):
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        run(BUILD / "bin/weft-run", "-n", ranks, program)
        times.append(1000 * (time.perf_counter() - begin))
    return min(times)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for name in ("hello", "rest"):
            run(BUILD / "bin/weft-mpicc", "-O2", SOURCE / f"tests/mpi/programs/{name}.c", "-o", f"{folder}/{name}")
        for ranks in (2, 64):
            hello, nothing = (least_milliseconds(ranks, program) for program in (f"{folder}/hello", "true"))
            print(f"{ranks} ranks: hello {hello:.0f} ms, true {nothing:.0f} ms")
            resident, own = min(tuple(map(int, run(BUILD / "bin/weft-run", "-n", ranks, f"{folder}/rest").split())) for _ in range(3))
            print(f"{ranks} ranks: a rank at rest has {resident / 1024:.1f} MiB resident, {own / 1024:.1f} MiB of its own")
    print(f"processors: {len(os.sched_getaffinity(0))}, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()

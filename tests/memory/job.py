# SPDX-License-Identifier: BSD-3-Clause
"""A job of ranks of tests/process/am_idle.cpp under weft-run, and what its ranks said of themselves."""
import os
import pathlib
import subprocess
import time

BUILD = pathlib.Path(os.environ["TEST_BUILD_DIR"])
SECONDS_MAX = 300


def is_sanitized():
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith("WEFT_SANITIZE:"):
            return line.partition("=")[2] != ""
    return False


def wait_until(condition, what):
    """Waits for something that comes soon; a bound far above what any machine needs."""
    end = time.monotonic() + SECONDS_MAX
    while not (answer := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited {SECONDS_MAX} s for {what}")
        time.sleep(0.02)
    return answer


def is_running(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"  # a zombie is its parent's to bury


def socket_names():
    lines = pathlib.Path("/proc/net/unix").read_text().splitlines()[1:]
    return {fields[7] for line in lines if len(fields := line.split()) > 7}


class Job:
    """Starts the job; its files, if it leaves any, can only be in `directory`."""

    def __init__(self, directory, ranks, mode):
        self.directory = pathlib.Path(directory)
        self.ranks = ranks
        self.facts_directory = self.directory / "facts"
        self.facts_directory.mkdir()
        self.temporary = self.directory / "tmp"
        self.temporary.mkdir()
        environment = {**os.environ, "WEFT_TEST_RANKS": str(ranks), "TMPDIR": str(self.temporary)}
        program = [BUILD / "tests" / "process" / "am_idle", self.facts_directory, mode]
        self.process = subprocess.Popen([BUILD / "bin" / "weft-run", "-n", str(ranks), *program], env=environment,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, start_new_session=True)

    def facts(self):
        """For each rank: what it wrote, as lists by the first word of the line."""
        paths = [self.facts_directory / f"rank-{rank}" for rank in range(self.ranks)]
        wait_until(lambda: all(p.exists() for p in paths) or self.process.poll() is not None, "the ranks' facts")
        out = []
        for path in paths:
            said = {}
            for line in path.read_text().splitlines():
                word, _, rest = line.partition(" ")
                said.setdefault(word, []).append(rest.strip())
            out.append(said)
        return out

    def end(self):
        """Waits for weft-run; its exit code and all output."""
        output, _ = self.process.communicate(timeout=SECONDS_MAX)
        return self.process.returncode, output

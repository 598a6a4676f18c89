# SPDX-License-Identifier: BSD-3-Clause
# subject: src/core src/boot programs/weft-run tests/process/trial.cpp
"""Jobs under hostile circumstances: they end in time, with their work done or with a line that says why not."""

import os
import random
import resource
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_RUN = str(BUILD / "bin/weft-run")
TRIAL = str(BUILD / "tests/process/trial")
CACHE = (BUILD / "CMakeCache.txt").read_text()
IS_LONG = "WEFT_LONG:BOOL=ON" in CACHE
IS_SANITIZED = any(line.startswith("WEFT_SANITIZE:") and not line.endswith("=") for line in CACHE.splitlines())
LIMIT = 600  # seconds for anything; never reached where all is well
SEED = int(os.environ.get("TEST_SEED", random.randrange(1 << 32)))


def often(few, many):
    return many if IS_LONG else few


def command(ranks, *what):
    return [WEFT_RUN, "-n", str(ranks), TRIAL, *map(str, what)]


def run(*arguments, limits=(), before=None, **options):
    def prepare():
        for which, value in limits:
            resource.setrlimit(which, (value, value))
        if before:
            before()
    return subprocess.run(list(arguments), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=LIMIT, text=True, errors="replace", preexec_fn=prepare, check=False, **options)


def is_there(pid):
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Trials(unittest.TestCase):
    def succeed(self, ranks, *what):
        done = run(*command(ranks, *what))
        self.assertEqual(done.returncode, 0, done.stdout)

    def end_clearly(self, done, circumstances):
        """Its work is done, or a line of Weft's says what is missing."""
        if done.returncode == 0:
            return True
        self.assertRegex(done.stdout, "(?m)weft.*: ", f"{circumstances}: exit code {done.returncode}")
        self.assertNotRegex(done.stdout, "killed by signal (?!9)", circumstances)
        self.assertNotIn("terminate called", done.stdout, circumstances)
        self.assertNotIn("wrong use", done.stdout, circumstances)
        self.assertGreater(done.returncode, 0, f"{circumstances}: {done.stdout}")
        return False

    def test_messages_that_are_too_long_write_nothing(self):
        self.succeed(2, "overflow", often(20, 200))

    def test_extreme_tags_meet_each_other(self):
        self.succeed(3, "tags", often(10, 1000))

    def test_a_flood_into_a_small_queue_loses_nothing(self):
        self.succeed(3, "flood", often(20_000, 1_000_000 if not IS_SANITIZED else 100_000))

    def test_many_threads(self):
        self.succeed(2, "threads", often(32, 128))

    def test_many_ranks(self):
        self.succeed(often(32, 256), "barriers", 3)

    def test_many_runtimes_one_after_the_other(self):
        self.succeed(2, "runtimes", often(30, 1000))

    def test_eight_jobs_at_once(self):
        jobs = [subprocess.Popen(command(2, "tags", often(10, 200)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True) for _ in range(8)]
        for job in jobs:
            output, _ = job.communicate(timeout=LIMIT)
            self.assertEqual(job.returncode, 0, output)

    def start(self, ranks):
        job = subprocess.Popen(command(ranks, "steady"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
        pids = [int(job.stdout.readline().split()[-1]) for _ in range(ranks)]
        return job, pids

    def wait_until_gone(self, pids):
        until = time.monotonic() + LIMIT
        while any(map(is_there, pids)):
            self.assertLess(time.monotonic(), until, f"left: {[pid for pid in pids if is_there(pid)]}")
            time.sleep(0.01)

    def test_ranks_that_are_killed_end_the_job(self):
        draw = random.Random(SEED)
        for i in range(often(3, 50)):
            job, pids = self.start(3)
            time.sleep(draw.random() * 0.05)  # any moment: nothing is expected of it
            os.kill(draw.choice(pids), signal.SIGKILL)
            _, said = job.communicate(timeout=LIMIT)
            self.assertIn("killed by signal 9", said, f"seed {SEED}, round {i}")
            self.assertNotEqual(job.returncode, 0)
            self.wait_until_gone(pids)

    def test_no_rank_outlives_a_launcher_that_is_killed(self):
        draw = random.Random(SEED)
        for _ in range(often(3, 32)):
            job, pids = self.start(3)
            time.sleep(draw.random() * 0.05)  # as above
            job.kill()
            job.communicate(timeout=LIMIT)
            self.wait_until_gone(pids)

    def test_few_descriptors(self):
        outcomes = {self.end_clearly(run(*command(2, "tags", 1), limits=[(resource.RLIMIT_NOFILE, most)]),
                                     f"ulimit -n {most}")
                    for most in [*range(4, 32, often(3, 1)), 64]}
        self.assertIn(True, outcomes, "none was enough")
        self.assertIn(False, outcomes, "all were enough: then this shows nothing")

    @unittest.skipIf(IS_SANITIZED, "sanitizers take all address space there is")
    def test_little_memory(self):
        sizes = [1 << shift for shift in range(26, 39, often(3, 1))]
        outcomes = {self.end_clearly(run(*command(2, "tags", 1), limits=[(resource.RLIMIT_AS, most)]),
                                     f"ulimit -v {most >> 10}") for most in sizes}
        self.assertIn(True, outcomes, "none was enough")

    def test_small_files(self):
        for most in [0, 1 << 12, 1 << 20, 1 << 30, 1 << 33]:
            self.end_clearly(run(*command(2, "tags", 1), limits=[(resource.RLIMIT_FSIZE, most)]), f"ulimit -f {most}")

    @unittest.skipIf(IS_SANITIZED, "sanitizers want /proc")
    def test_no_proc(self):
        hide = ["unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh"]
        if shutil.which("unshare") is None or run(*hide, "true").returncode != 0:
            self.skipTest("may not hide /proc")
        self.end_clearly(run(*hide, *command(2, "tags", 1)), "no /proc")

    def test_another_user(self):
        def become_nobody():
            os.setgid(65534)
            os.setuid(65534)
        try:
            can_run = os.geteuid() == 0 and run(TRIAL, before=become_nobody).returncode == 2
        except PermissionError:  # the programs lie in a folder that only its owner may enter
            can_run = False
        if not can_run:
            self.skipTest("may not become another user who can run the programs")
        done = run(*command(2, "tags", 1), before=become_nobody)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()

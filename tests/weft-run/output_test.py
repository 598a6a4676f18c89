# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-run
# stages: release asan
"""What ranks write under weft-run: line by line, and nothing of it is lost."""

import collections
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

from weft_run_test import LIMIT, WEFT_RUN, environment, eventually, living, run


class Output(unittest.TestCase):
    def test_every_line_of_fast_writers_arrives_whole_once_and_in_its_ranks_order(self):
        count = 100000
        result = run("-n", 4, "sh", "-c", f'seq -f "$PMI_RANK %.0f abcdefghijklmnopqrstuvwxyz" 1 {count}')
        self.assertEqual(result.returncode, 0)
        seen = collections.Counter()
        for line in result.stdout.splitlines():
            rank, number, rest = line.split(" ")
            seen[rank] += 1
            self.assertEqual((int(number), rest), (seen[rank], "abcdefghijklmnopqrstuvwxyz"))
        self.assertEqual(seen, {str(rank): count for rank in range(4)})

    def test_both_streams_stay_apart_and_share_lines_nowhere_when_they_are_one(self):
        script = "for i in 1 2 3 4 5 6 7 8 9; do printf 'out %s\\n' $i; printf 'err %s\\n' $i >&2; done"
        apart = run("-n", 3, "sh", "-c", script)
        self.assertEqual(apart.stdout.count("out"), 27)
        self.assertEqual(apart.stderr.count("err"), 27)
        together = subprocess.run([WEFT_RUN, "-n", "3", "sh", "-c", script], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=LIMIT, env=environment())
        lines = together.stdout.splitlines()
        self.assertEqual(len(lines), 54)
        for line in lines:
            self.assertRegex(line, r"^(out|err) \d$")

    def test_the_prefix_is_the_rank(self):
        result = run("-n", 2, "--prefix", "sh", "-c", "echo a; echo b; echo c >&2")
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] a", "[0] b", "[1] a", "[1] b"])
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] c", "[1] c"])

    def test_a_last_line_without_newline_is_not_lost_and_not_shared(self):
        self.assertEqual(run("-n", 1, "printf", "abc").stdout, "abc")
        self.assertEqual(sorted(run("-n", 3, "printf", "abc").stdout.splitlines()), ["abc"] * 3)
        self.assertEqual(run("-n", 1, "printf", "").stdout, "")

    def test_bytes_are_passed_on_as_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.urandom(3_000_000)
            path = Path(folder, "data")
            path.write_bytes(data)
            result = subprocess.run([WEFT_RUN, "-n", "1", "cat", path], stdout=subprocess.PIPE, timeout=LIMIT,
                                    env=environment())
            self.assertEqual(result.stdout, data)

    def test_a_giant_line_goes_on_in_parts_and_nothing_is_lost(self):
        result = run("-n", 2, "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' $PMI_RANK; echo")
        counts = collections.Counter(result.stdout)
        self.assertEqual((counts["0"], counts["1"]), (5000000, 5000000))
        for line in result.stdout.splitlines():
            self.assertLessEqual(len(set(line)), 1)

    def test_a_reader_that_goes_away_ends_the_job(self):
        result = subprocess.run(["sh", "-c", f"{WEFT_RUN} -n 2 yes | head -n 1"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, timeout=LIMIT, env=environment())
        self.assertEqual(result.stdout, b"y\n")

    def test_a_full_disk_is_told(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            result = subprocess.run([WEFT_RUN, "-n", "2", "echo", "x"], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=LIMIT, env=environment())
        self.assertEqual(result.returncode, 1)
        self.assertIn("No space left", result.stderr)

    def test_a_slow_reader_slows_the_ranks_and_loses_nothing(self):
        job = subprocess.Popen([WEFT_RUN, "-n", "2", "seq", "1", "300000"], stdout=subprocess.PIPE, env=environment())
        total = 0
        with job.stdout as output:
            for _ in range(20):
                total += len(output.read(1000))
                time.sleep(0.01)
            total += len(output.read())
        self.assertEqual(job.wait(LIMIT), 0)
        self.assertEqual(total, 2 * sum(len(str(n)) + 1 for n in range(1, 300001)))


class LastOutput(unittest.TestCase):
    """What ranks have written and weft-run has not passed on when the last of them ends."""
    RANKS = 16
    EACH = 60000  # bytes: a pipe takes so many at once, and weft-run does not hold that of all ranks

    def start(self, *arguments, **more):
        mark = uuid.uuid4().hex
        job = subprocess.Popen([WEFT_RUN, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(MARK=mark), **more)
        return job, lambda: [pid for pid, _ in living("MARK=" + mark) if int(pid) != job.pid]

    def start_and_let_all_ranks_end(self):
        job, others = self.start("-n", self.RANKS, "sh", "-c", f"yes | head -c {self.EACH}", stdin=subprocess.DEVNULL)
        self.assertTrue(select.select([job.stdout], [], [], LIMIT)[0])
        self.assertTrue(eventually(lambda: not others()), "ranks wait though their pipes have room")
        return job

    def test_a_reader_that_rests_after_the_last_rank_gets_everything(self):
        job = self.start_and_let_all_ranks_end()
        time.sleep(2.5)  # the reader is slow
        fcntl.fcntl(job.stdout, 1031, 1 << 20)  # F_SETPIPE_SZ: it takes all that weft-run holds at once
        output, errors = job.communicate(timeout=LIMIT)
        self.assertEqual((job.returncode, len(output), errors), (0, self.RANKS * self.EACH, b""))

    def test_a_reader_that_goes_after_the_last_rank_is_told_of_and_the_job_fails(self):
        job = self.start_and_let_all_ranks_end()
        job.stdout.close()
        with job.stderr as errors:
            said = errors.read().decode()
        self.assertEqual(job.wait(LIMIT), 128 + signal.SIGPIPE)
        self.assertEqual(said, "weft-run: the reader of standard output has closed it: output of the ranks is lost\n")

    def test_two_signals_end_the_wait_for_a_reader_and_what_is_lost_is_told(self):
        job = self.start_and_let_all_ranks_end()
        job.send_signal(signal.SIGINT)
        job.send_signal(signal.SIGTERM)
        with job.stderr as errors:
            said = errors.read().decode()
        self.assertEqual(job.wait(LIMIT), 128 + signal.SIGTERM)
        job.stdout.close()
        self.assertEqual(said, "weft-run: interrupted twice: output of the ranks that its reader has not taken is lost\n")

    def check_closed_under_a_rank_that_ends_well(self, closed, where):
        job, _ = self.start("-n", 1, "sh", "-c", f"read x; echo too late {where}; exit 0", stdin=subprocess.PIPE)
        getattr(job, closed).close()
        other = job.stdout if closed == "stderr" else job.stderr
        with job.stdin as typed:
            typed.write(b"on\n")
        with other as pipe:
            said = pipe.read().decode()
        self.assertEqual(job.wait(LIMIT), 128 + signal.SIGPIPE)
        return said

    def test_output_that_nobody_takes_fails_a_job_whose_ranks_all_succeed(self):
        said = self.check_closed_under_a_rank_that_ends_well("stdout", "")
        self.assertEqual(said, "weft-run: the reader of standard output has closed it: output of the ranks is lost\n")
        self.assertEqual(self.check_closed_under_a_rank_that_ends_well("stderr", ">&2"), "")

    def test_output_that_is_lost_is_told_beside_another_failure(self):
        job, _ = self.start("-n", 1, "sh", "-c", "read x; echo too late; exit 7", stdin=subprocess.PIPE)
        job.stdout.close()
        with job.stdin as typed:
            typed.write(b"on\n")
        with job.stderr as errors:
            said = errors.read().decode()
        self.assertEqual(job.wait(LIMIT), 7)
        self.assertIn("standard output has closed it: output of the ranks is lost\n", said)
        self.assertIn("rank 0 failed: exit code 7\n", said)

    def test_a_stream_that_a_process_outside_of_the_job_holds_does_not_hold_the_job(self):
        name = "weft-run-test-" + uuid.uuid4().hex
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("\0" + name)
            listener.listen()
            listener.settimeout(LIMIT)
            give = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0{name}'); " \
                   "socket.send_fds(s, [b'x'], [1]); s.recv(1); print('done')"
            job, _ = self.start("-n", 1, sys.executable, "-c", give, stdin=subprocess.DEVNULL)
            connection, _ = listener.accept()
            with connection:
                _, descriptors, _, _ = socket.recv_fds(connection, 1, 1)
                try:
                    connection.send(b"x")
                    output, errors = job.communicate(timeout=LIMIT)
                finally:
                    os.close(descriptors[0])
        self.assertEqual((job.returncode, output), (0, b"done\n"))
        self.assertEqual(errors.decode(), "weft-run: a process outside of the job holds the standard output of rank 0; "
                                          "what it writes there from now on is lost\n")


if __name__ == "__main__":
    unittest.main()

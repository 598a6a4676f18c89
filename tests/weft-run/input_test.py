# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-run
# stages: release asan
"""What ranks read under weft-run, and weft-run as the foreground job of a terminal."""

import os
import pty
import select
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from weft_run_test import LIMIT, WEFT_RUN, environment, eventually, run


class Input(unittest.TestCase):
    def test_standard_input_is_rank_0s_alone(self):
        result = subprocess.run([WEFT_RUN, "-n", "3", "--prefix", "cat"], input="one\ntwo\n", stdout=subprocess.PIPE,
                                text=True, timeout=LIMIT, env=environment())
        self.assertEqual((result.returncode, result.stdout), (0, "[0] one\n[0] two\n"))

    def test_a_file_as_input_is_read_from_where_it_stands(self):
        with tempfile.TemporaryFile("w+") as file:
            file.write("first\nsecond\n")
            file.flush()
            os.lseek(file.fileno(), 6, os.SEEK_SET)
            self.assertEqual(run("-n", 2, "cat", stdin=file).stdout, "second\n")


    def test_a_question_without_newline_is_shown_before_its_answer_comes(self):
        for where in ("", ">&2"):
            job = subprocess.Popen([WEFT_RUN, "-n", "2", "--prefix", "sh", "-c",
                                    f"[ $PMI_RANK = 1 ] || {{ printf 'name? ' {where}; read x; echo hello $x {where}; }}"],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
            with job.stdout, job.stderr, job.stdin:
                asked = job.stderr if where else job.stdout
                question = b""
                while question != b"[0] name? ":
                    self.assertTrue(select.select([asked], [], [], LIMIT)[0], question)
                    question += os.read(asked.fileno(), 100)
                job.stdin.write(b"weaver\n")
                job.stdin.flush()
                self.assertEqual(asked.read(), b"hello weaver\n")
                self.assertEqual(job.wait(LIMIT), 0)

    def test_input_that_the_job_leaves_unread_is_there_for_the_next_program(self):
        result = subprocess.run(["sh", "-c", f"{WEFT_RUN} -n 2 true; read x; echo next $x"], input="line\n", timeout=LIMIT,
                                stdout=subprocess.PIPE, text=True, env=environment())
        self.assertEqual(result.stdout, "next line\n")


class Terminal(unittest.TestCase):
    """weft-run as the foreground job of a terminal of its own."""

    def start(self, *arguments, program=WEFT_RUN):
        pid, self.terminal = pty.fork()
        if pid == 0:
            try:
                os.execve(program, [program, *arguments], environment(TERM="xterm"))
            finally:
                os._exit(127)  # or a second copy of these tests would go on here
        self.pid = pid
        self.addCleanup(os.close, self.terminal)
        self.text = ""

    def expect(self, words):
        until = time.monotonic() + LIMIT
        while words not in self.text:
            ready, _, _ = select.select([self.terminal], [], [], max(0, until - time.monotonic()))
            self.assertTrue(ready, f"no {words!r} in {self.text!r}")
            try:
                self.text += os.read(self.terminal, 4096).decode()
            except OSError:  # the last process has closed it
                break
        self.assertIn(words, self.text)

    def code(self):
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            ready, _, _ = select.select([self.terminal], [], [], 0.01)
            try:
                if ready:
                    self.text += os.read(self.terminal, 4096).decode()
            except OSError:
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.read_the_rest()
                return os.waitstatus_to_exitcode(status)
        self.fail("weft-run does not end")

    def read_the_rest(self):
        try:
            while select.select([self.terminal], [], [], 0)[0]:
                more = os.read(self.terminal, 4096)
                if not more:
                    break
                self.text += more.decode()
        except OSError:  # the last process has closed it
            pass

    def test_what_is_typed_reaches_rank_0(self):
        self.start("-n", "2", "--prefix", "sh", "-c", "read x; echo got $x")
        self.expect("[1] got")
        os.write(self.terminal, b"hello\n")
        self.expect("[0] got hello")
        self.assertEqual(self.code(), 0)

    def test_the_end_of_typing_reaches_rank_0(self):
        self.start("-n", "1", "cat")
        os.write(self.terminal, b"line\n\x04")
        self.assertEqual(self.code(), 0)

    def test_a_question_is_shown_before_it_is_answered(self):
        self.start("-n", "2", "sh", "-c", "[ $PMI_RANK = 1 ] || { printf 'name? '; read x; echo hello $x; }")
        self.expect("name? ")
        os.write(self.terminal, b"weaver\n")
        self.expect("hello weaver")
        self.assertEqual(self.code(), 0)

    def test_a_line_typed_while_a_job_runs_that_reads_nothing_is_the_next_programs(self):
        wait = f"echo ready; while [ -e {self.mark()} ]; do sleep 0.05; done"
        self.start("-c", f"{WEFT_RUN} -n 2 sh -c '{wait}'; read x; echo next $x", program="/bin/sh")
        self.expect("ready\r\nready")
        os.write(self.terminal, b"typed\n")
        self.expect("typed\r\n")  # the terminal shows it: from now on it can be read
        self.mark_file.unlink()
        self.expect("next typed")
        self.assertEqual(self.code(), 0)

    def test_rank_0_in_the_background_waits_for_the_foreground_to_read(self):
        self.start("-i", program="/bin/bash")
        os.write(self.terminal, b"PS1=; set +H\n")
        os.write(self.terminal, f"{WEFT_RUN} -n 2 sh -c 'echo ready; [ $PMI_RANK = 1 ] || {{ read x; echo got $x; }}' &\n".encode())

        def stopped():
            os.write(self.terminal, b"jobs\n")  # the shell says what has become of a job when it is asked
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.text += os.read(self.terminal, 4096).decode()
            return "Stopped" in self.text
        self.assertTrue(eventually(stopped), self.text)
        os.write(self.terminal, b"fg\n")
        os.write(self.terminal, b"typed\n")
        self.expect("got typed")
        os.write(self.terminal, b"exit 7\n")
        self.assertEqual(self.code(), 7)

    def test_a_signal_reaches_what_rank_0_has_started(self):
        self.start("-n", "2", "sh", "-c", "trap : TERM; sh -c 'trap \"echo child; exit 0\" TERM; echo ready; while :; do sleep 0.05; done' & "
                   "wait; wait")
        self.expect("ready\r\nready")
        os.kill(self.pid, signal.SIGTERM)
        self.assertEqual(self.code(), 0)
        self.assertEqual(self.text.count("child"), 2)

    def test_the_terminals_interrupt_comes_once_to_each_rank(self):
        self.start("-n", "2", "sh", "-c", "trap 'echo got' INT; echo ready; while :; do sleep 0.05; [ -e $0 ] || exit 0; done",
                   str(self.mark()))
        self.expect("ready\r\nready")
        os.write(self.terminal, b"\x03")
        self.expect("got\r\ngot")
        self.mark_file.unlink()
        self.assertEqual(self.code(), 0)
        self.assertEqual(self.text.count("got"), 2)

    def mark(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.mark_file = Path(folder.name, "mark")
        self.mark_file.touch()
        return self.mark_file

    def test_an_interrupt_reaches_the_ranks(self):
        self.start("-n", "2", "sh", "-c", "echo ready; sleep 1000")
        self.expect("ready\r\nready")
        os.write(self.terminal, b"\x03")
        self.assertEqual(self.code(), 130)

    def test_rank_0_learns_how_wide_the_terminal_is(self):
        self.start("-n", "2", "sh", "-c", "echo $PMI_RANK:${WEFT_RUN_TERMINAL_COLUMNS:-none}")
        self.assertEqual(self.code(), 0)
        self.assertRegex(self.text, r"0:\d+")
        self.assertIn("1:none", self.text)
        self.assertNotIn("WEFT_RUN_TERMINAL_COLUMNS", run("-n", 1, "env").stdout)

    def test_a_progress_bar_is_shown_before_its_line_ends(self):
        self.start("-n", "1", "sh", "-c", r"printf '50%%\r' >&2; read x; printf '100%%\n' >&2")
        self.expect("50%")
        os.write(self.terminal, b"\n")
        self.expect("100%")
        self.assertEqual(self.code(), 0)

    def test_a_stopped_job_goes_on(self):
        self.start("-n", "1", "sh", "-c", "echo ready; read x; echo got $x")
        self.expect("ready")
        os.kill(self.pid, signal.SIGTSTP)

        def stopped():
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            return pid and os.WIFSTOPPED(status)
        self.assertTrue(eventually(stopped))
        os.kill(self.pid, signal.SIGCONT)
        os.write(self.terminal, b"on\n")
        self.expect("got on")
        self.assertEqual(self.code(), 0)


if __name__ == "__main__":
    unittest.main()

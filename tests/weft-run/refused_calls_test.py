# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-run
# stages: release asan
"""weft-run where the system refuses a call that it needs: it says so and ends. And a job that can do without one."""

import ctypes
import errno
import os
import struct
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_RUN = str(BUILD / "bin/weft-run")
LIMIT = 240  # seconds for anything; never reached where all is well


@unittest.skipUnless(os.uname().machine in ("x86_64", "aarch64"), "the numbers of system calls are known for these")
class RefusedSystemCalls(unittest.TestCase):
    """A seccomp filter refuses one system call: weft-run says so, starts no rank that it can't serve, and ends."""
    NUMBERS = {"x86_64": {"signalfd4": 289, "epoll_create1": 291, "epoll_ctl": 233, "membarrier": 324,
                          "poll": 7, "sched_setaffinity": 203},
               "aarch64": {"signalfd4": 74, "epoll_create1": 20, "epoll_ctl": 21, "membarrier": 283,
                           "poll": 73, "sched_setaffinity": 122}}

    def refuse(self, call):
        """For the child before its exec."""
        libc = ctypes.CDLL(None, use_errno=True)
        number = self.NUMBERS[os.uname().machine][call]
        load, jump_equal, give, allow, refusal = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000 | errno.EPERM
        steps = [(load, 0, 0, 0), (jump_equal, 0, 1, number), (give, 0, 0, refusal), (give, 0, 0, allow)]
        code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
        program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code)))

        def install():
            no_new_privileges, set_filter = 38, 22
            if (libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0 or
                    libc.prctl(set_filter, 2, ctypes.c_void_p(ctypes.addressof(program)), 0, 0) != 0):
                raise OSError(ctypes.get_errno(), "seccomp")
            return code  # kept until here
        return install

    def check_refused(self, call, message, *options):
        with tempfile.NamedTemporaryFile() as ran:
            ended = subprocess.run(
                [WEFT_RUN, "-n", "2", *options, "sh", "-c", f"echo ran >> {ran.name}; sleep 1000"], preexec_fn=self.refuse(call),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=LIMIT, text=True)
            said = Path(ran.name).read_text()
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn(f"weft-run: {message}: Operation not permitted", ended.stderr)
        return said

    def test_a_refused_signalfd_is_told_before_a_rank_starts(self):
        self.assertEqual(self.check_refused("signalfd4", "can't make a descriptor for signals"), "")

    def test_a_refused_epoll_create1_is_told_before_a_rank_starts(self):
        self.assertEqual(self.check_refused("epoll_create1", "can't make an epoll descriptor"), "")

    def test_a_refused_membarrier_is_done_without(self):
        ended = subprocess.run([WEFT_RUN, "-n", "2", str(BUILD / "tests/process/all_operations")],
                               preexec_fn=self.refuse("membarrier"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=10 * LIMIT, text=True,
                               env=os.environ | {"WEFT_TEST_RANKS": "2"})
        self.assertEqual(ended.returncode, 0, ended.stdout)

    def test_a_refused_epoll_ctl_ends_the_job(self):
        self.check_refused("epoll_ctl", "can't watch a descriptor")

    def test_a_guardian_that_can_not_wait_for_events_says_so_and_ends_the_job(self):
        self.check_refused("poll", "the guardian process can't wait for events")

    def test_a_binding_that_is_refused_is_told_as_such(self):
        said = self.check_refused("sched_setaffinity", "rank 0 could not be bound to its processors", "--bind", "core")
        self.assertEqual(said, "")


if __name__ == "__main__":
    unittest.main()

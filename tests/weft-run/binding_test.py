# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-run
# stages: release asan
"""Which processors weft-run binds ranks to."""

import os
import re
import subprocess
import sys
import unittest

from weft_run_test import BUILD, LIMIT, WEFT_RUN, environment, run

ALLOWED = os.sched_getaffinity(0)
# Other jobs are seen by their sockets, so that tests that want to be alone take a network namespace.
ALONE = ["unshare", "-rn"]
CAN_BE_ALONE = subprocess.run([*ALONE, "true"], stderr=subprocess.DEVNULL).returncode == 0
SHOW = ["grep", "Cpus_allowed_list", "/proc/self/status"]


def sets_in(output):
    """The set of processors in each line of `SHOW`."""
    out = []
    for line in output.splitlines():
        if not line.startswith("Cpus_allowed_list"):
            continue
        bound = set()
        for part in line.split()[1].split(","):
            first, _, last = part.partition("-")
            bound |= set(range(int(first), int(last or first) + 1))
        out.append(bound)
    return out


def run_alone(*arguments, allowed=ALLOWED, **variables):
    return subprocess.run([*ALONE, WEFT_RUN, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=environment(**variables),
                          preexec_fn=lambda: os.sched_setaffinity(0, allowed))


def cores():
    """How many cores this process may use, by what weft-run gives to ranks that ask for one each."""
    count = 1
    while count < len(ALLOWED) and "share theirs" not in run("-n", count + 1, "--bind", "core", "true").stderr:
        count += 1
    return count


class Asked(unittest.TestCase):
    @unittest.skipUnless(BUILD.name not in ("build-asan", "build-tsan") and subprocess.run(
        ["unshare", "-rm", "true"], stderr=subprocess.DEVNULL).returncode == 0, "needs a mount namespace, no sanitizer")
    def test_binding_without_sys_and_proc_works_or_says_what_is_missing(self):
        hide = "mount -t tmpfs none /sys && mount -t tmpfs none /proc && exec \"$@\""
        last = {max(os.sched_getaffinity(0))}
        for processors in [os.sched_getaffinity(0), last]:
            for what in ["core", "hwthread"]:
                result = subprocess.run(["unshare", "-rm", "sh", "-c", hide, "sh", WEFT_RUN, "-n", "2", "-q", "--bind", what,
                                         "true"], stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=environment(),
                                        preexec_fn=lambda: os.sched_setaffinity(0, processors))
                if result.returncode != 0:
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertRegex(result.stderr, r"weft-run: --bind: .*/sys/devices/system/cpu.* --bind none")

    def test_binding_stays_within_what_is_allowed(self):
        for what in ["core", "hwthread", "socket", "numa", "core:2"]:
            result = run("-n", 2, "-q", "--bind", what, *SHOW)
            self.assertEqual(result.returncode, 0, result.stderr)
            for bound in sets_in(result.stdout):
                self.assertTrue(bound <= ALLOWED, (what, bound))
        self.assertIn("more ranks than objects", run("-n", len(ALLOWED) + 1, "--bind", "hwthread", "true").stderr)


@unittest.skipUnless(CAN_BE_ALONE, "needs a network namespace")
class Shares(unittest.TestCase):
    def test_ranks_get_equal_parts_of_all_cores(self):
        for options in ([], ["--bind", "auto"]):
            for ranks in range(2, cores() + 1):
                result = run_alone("-n", ranks, *options, *SHOW)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                sets = sets_in(result.stdout)
                self.assertEqual(len(sets), ranks)
                self.assertEqual(set().union(*sets), ALLOWED)
                self.assertEqual(sum(map(len, sets)), len(ALLOWED), "two ranks share a processor")

    def test_nobody_is_bound_where_ranks_outnumber_cores_or_there_is_one_or_nobody_wants_it(self):
        for arguments in (["-n", cores() + 1], ["-n", 1], ["-n", 2, "--bind", "none"]):
            result = run_alone(*arguments, *SHOW)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertTrue(all(each == ALLOWED for each in sets_in(result.stdout)), result.stdout)

    def test_a_job_keeps_within_what_it_may_use(self):
        only = {max(ALLOWED)}
        result = run_alone("-n", 2, *SHOW, allowed=only, WEFT_LOG="info")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sets_in(result.stdout), [only, only])
        self.assertIn("ranks are not bound: there are more of them than cores", result.stderr)

    @unittest.skipUnless(cores() >= 2, "needs two cores")
    def test_a_second_job_leaves_the_cores_of_the_first_alone_and_says_so(self):
        inner = " ".join(["WEFT_LOG=info", WEFT_RUN, "-n", "2", *SHOW])
        # Rank 0 of a job that has all cores starts the second one; it has a network namespace in common with it.
        widened = f"taskset -p -c {','.join(map(str, ALLOWED))} $$ >/dev/null; exec env -u PMI_FD -u PMI_RANK -u PMI_SIZE {inner}"
        result = run_alone("-n", 2, "sh", "-c", f"[ $PMI_RANK = 1 ] || {{ {widened}; }}")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sets_in(result.stdout), [ALLOWED, ALLOWED])
        self.assertIn("ranks are not bound: other jobs of this machine are, and leave too few cores", result.stderr)
        # And once it has ended, they are free.
        self.assertEqual(sum(map(len, sets_in(run_alone("-n", 2, *SHOW).stdout))), len(ALLOWED))

    @unittest.skipUnless(cores() >= 2, "needs two cores")
    def test_a_job_chooses_no_cores_while_another_one_chooses(self):
        # What weft-run holds from its look at other jobs to its own announcement; here it is held for good.
        script = ("import socket, subprocess, sys\n"
                  "lock = socket.socket(socket.AF_UNIX)\n"
                  "lock.bind('\\0weft-run-chooses-cores')\n"
                  "lock.listen()\n"
                  "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n")
        result = subprocess.run([*ALONE, sys.executable, "-c", script, WEFT_RUN, "-n", "2", *SHOW], text=True, timeout=LIMIT,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(WEFT_LOG="info"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sets_in(result.stdout), [ALLOWED, ALLOWED])
        self.assertIn("ranks are not bound: another job that starts is still choosing its cores", result.stderr)

    def test_names_that_are_no_sets_of_processors_are_left_alone(self):
        names = ["weft-run-bound-1-0,", "weft-run-bound-1-0-99999999999", "weft-run-bound-1-", "weft-run-bound-1", "weft-run-bound-1-moon", "weft-run-bound-1-0x" + "f" * 80]
        script = ("import socket, subprocess, sys\n"
                  "kept = []\n"
                  f"for name in {names!r}:\n"
                  "    kept.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))\n"
                  "    kept[-1].bind('\\0' + name)\n"
                  "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n")
        result = subprocess.run([*ALONE, "python3", "-c", script, WEFT_RUN, "-n", "2", "true"], stderr=subprocess.PIPE,
                                text=True, timeout=LIMIT, env=environment())
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    @unittest.skipIf(BUILD.name in ("build-asan", "build-tsan"), "a sanitizer wants /proc")
    def test_without_sys_or_proc_ranks_run_all_the_same(self):
        for folder in ("/sys", "/proc"):
            hide = f"mount -t tmpfs none {folder} && exec \"$@\""
            result = subprocess.run(["unshare", "-rmn", "sh", "-c", hide, "sh", WEFT_RUN, "-n", "2", "true"],
                                    stderr=subprocess.PIPE, text=True, timeout=LIMIT, env=environment())
            self.assertEqual((result.returncode, result.stderr), (0, ""))


class FromInside(unittest.TestCase):
    """WEFT_BIND=auto, where a launcher has bound nobody."""

    @staticmethod
    def ranks_meet(ranks, *options, **variables):
        """Whether ranks 0 and 1 may run on one processor, and what was said."""
        result = run("-n", ranks, *options, BUILD / "bin/weft-info", "--explain", 1, 8,
                     env=environment(WEFT_LOG="info", **variables))
        assert result.returncode == 0, result.stderr
        return "may meet on one core" in result.stdout, result.stderr

    @unittest.skipUnless(cores() >= 2, "needs two cores")
    def test_ranks_share_the_cores_out_where_that_is_asked_for(self):
        self.assertTrue(self.ranks_meet(2, "--bind", "none")[0])
        meet, said = self.ranks_meet(2, "--bind", "none", WEFT_BIND="auto")
        self.assertFalse(meet)
        parts = re.findall(r"WEFT_BIND: rank \d keeps to processors (\S+)", said)
        self.assertEqual(len(parts), 2, said)
        self.assertNotEqual(parts[0], parts[1])

    def test_nobody_is_bound_where_ranks_outnumber_cores(self):
        meet, said = self.ranks_meet(cores() + 1, "--bind", "none", WEFT_BIND="auto")
        self.assertTrue(meet)
        self.assertIn(f"ranks are not bound: {cores() + 1} of them share {cores()} cores", said)

    def test_ranks_that_are_bound_stay_where_they_are(self):
        _, said = self.ranks_meet(2, "--bind", "core", WEFT_BIND="auto")
        self.assertRegex(said, "to itself, or is bound already|ranks are not bound")
        self.assertNotIn("keeps to", said)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# subject: src/net/shm src/boot programs/weft-run tests/process/am_idle.cpp
# stages: release asan
"""Whatever ends a job, no process, socket or file of it is left."""
import contextlib
import os
import pathlib
import signal
import tempfile
import unittest

import job


class Leftovers(unittest.TestCase):
    def run_job(self, end_it, mode="forever", ranks=3):
        """Runs a job that `end_it` ends, given weft-run's process id and the ranks'; its exit code and output."""
        with tempfile.TemporaryDirectory() as directory:
            run = job.Job(directory, ranks, mode)
            facts = run.facts()
            pids = [int(each["pid"][0]) for each in facts]
            sockets = [name for each in facts for name in each.get("socket", []) if name.startswith("@weft-")]
            self.assertEqual(len(pids), ranks)
            self.assertTrue(sockets, "no rank has a socket: then this test tests nothing")
            self.assertEqual([each["file"] for each in facts if "file" in each], [], "files in /dev/shm are in use")
            end_it(run.process.pid, pids)
            code, output = run.end()
            job.wait_until(lambda: not any(map(job.is_running, pids)), f"the end of {pids}")
            job.wait_until(lambda: not job.socket_names().intersection(sockets), f"the end of {sockets}")
            self.assertEqual(list(run.temporary.iterdir()), [])
            self.assertEqual([p.name for p in pathlib.Path("/dev/shm").iterdir() if "weft" in p.name], [])
            return code, output

    def test_none_after_a_job_that_ends_by_itself(self):
        code, output = self.run_job(lambda _, __: None, mode="once")
        self.assertEqual(code, 0, output)

    def test_none_after_a_rank_was_killed(self):
        for rank in range(3):
            code, output = self.run_job(lambda _, pids, rank=rank: os.kill(pids[rank], signal.SIGKILL))
            self.assertNotEqual(code, 0)
            self.assertIn(f"rank {rank}", output)

    def test_none_after_weft_run_was_killed(self):
        code, _ = self.run_job(lambda weft_run, _: os.kill(weft_run, signal.SIGKILL))
        self.assertEqual(code, -signal.SIGKILL)

    def test_none_after_weft_run_was_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            code, _ = self.run_job(lambda weft_run, _, number=number: os.kill(weft_run, number))
            self.assertNotEqual(code, 0)

    def test_none_after_all_were_killed(self):
        def kill_all(weft_run, pids):
            os.kill(weft_run, signal.SIGKILL)
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):  # gone with weft-run already
                    os.kill(pid, signal.SIGKILL)

        self.run_job(kill_all)


if __name__ == "__main__":
    unittest.main()

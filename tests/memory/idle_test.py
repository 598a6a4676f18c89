#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# subject: src/core/memory src/net/shm tests/process/am_idle.cpp
"""Two idle processes hold less than 64 MiB each, their shares of the segments included."""
import tempfile
import unittest

import job

LIMIT_KIB = 64 * 1024


class Idle(unittest.TestCase):
    @unittest.skipIf(job.is_sanitized(), "a sanitizer's own memory would be measured")
    def test_processes_hold_less_than_64_mib_each(self):
        for ranks in (2, 4):
            with tempfile.TemporaryDirectory() as directory:
                run = job.Job(directory, ranks, "once")
                code, output = run.end()
                self.assertEqual(code, 0, output)
                for rank, facts in enumerate(run.facts()):
                    kib = int(facts["pss"][0].split()[0])
                    print(f"rank {rank} of {ranks}: {kib} KiB")
                    self.assertGreater(kib, 100, "that can't be all")
                    self.assertLess(kib, LIMIT_KIB, f"rank {rank} of {ranks}")


if __name__ == "__main__":
    unittest.main()

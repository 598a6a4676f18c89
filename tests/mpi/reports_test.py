# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi src/core/runtime src/coll/group/group_report.cpp programs/weft-mpicc
# not under sanitizers, which a C compiler's programs would need, too
"""Programs of MPI that stand still: reports have functions, communicators and ranks of MPI, no words of the library's."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["TEST_BUILD_DIR"])
PROGRAM = Path(os.environ["TEST_SOURCE_DIR"]) / "tests/mpi/programs/stands_still.c"
SECONDS_MAX = 300
OWN_WORDS = r"\b(engine|device|backlog|progress\(\)|tag \d{8,}|policy)\b"


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.program = Path(cls.folder.name) / "stands_still"
        subprocess.run([BUILD / "bin/weft-mpicc", "-O1", "-Wall", "-Werror", PROGRAM, "-o", cls.program], check=True,
                       timeout=SECONDS_MAX)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def says(self, situation, *patterns):
        """What the ranks say when the time limit asks them. On a busy machine they may not wait yet: then it asks later."""
        for limit in ("1.5", "12", "40"):
            result = subprocess.run([BUILD / "bin/weft-run", "-n", "2", "--timeout", limit, self.program, situation],
                                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS_MAX,
                                    env={**os.environ, "WEFT_STUCK_AFTER": "60"})
            self.assertEqual(result.returncode, 124, result.stderr)
            if all(re.search(pattern, result.stderr, re.MULTILINE) for pattern in patterns):
                break
        for pattern in patterns:
            self.assertRegex(result.stderr, re.compile(pattern, re.MULTILINE))
        self.assertNotRegex(result.stderr, OWN_WORDS)

    def test_receives_name_their_communicator_and_rank(self):
        self.says("receives", r"^weft 0/2: stuck: thread \d+ has waited .* s in MPI_Recv$",
                  r"^weft 0/2: stuck: 1 receive \(MPI_COMM_WORLD, rank 1, tag 3\) that no message has matched$",
                  r"^weft 1/2: stuck: 1 receive \(MPI_COMM_WORLD, rank 0, tag 3\) that no message has matched$")

    def test_sends_that_wait_for_each_other_are_named(self):
        self.says("sends", r"^weft 0/2: stuck: thread \d+ has waited .* s in MPI_Send for a send to rank 1 with tag 3 in "
                  r"MPI_COMM_WORLD$", r"^weft 0/2: stuck: 1 message \(MPI_COMM_WORLD, rank 1, tag 3\) that no receive has")

    def test_a_message_of_another_tag_stands_beside_its_receive(self):
        self.says("tag", r"^weft 0/2: stuck: 1 receive \(MPI_COMM_WORLD, rank 1, tag 6\) and 1 message \(MPI_COMM_WORLD, rank "
                  r"1, tag 5\) differ only in the tag$", r"^weft 1/2: stuck: thread \d+ has waited .* s in MPI_Finalize")

    def test_a_request_has_the_name_of_its_communicator_and_the_rank_there(self):
        self.says("request", r"^weft 1/2: stuck: thread \d+ has waited .* s in MPI_Wait for a receive from rank 1 with tag 7 "
                  r"in backwards$", r"^weft 1/2: stuck: 1 receive \(backwards, rank 1, tag 7\) that no message has matched$")

    def test_a_collective_is_named_with_the_rank_that_has_not_called_it(self):
        self.says("barrier", r"^weft 0/2: stuck: thread \d+ has waited .* s in MPI_Barrier$",
                  r"^weft 0/2: stuck: MPI_Barrier in MPI_COMM_WORLD \(its call 1\) waits for a message of rank 1, which has not called it",
                  r"^weft 1/2: stuck: rank 0 has made call 1 in MPI_COMM_WORLD, and this rank has made none$")
        self.says("allreduce", r"^weft 0/2: stuck: thread \d+ has waited .* s in MPI_Allreduce$",
                  r"^weft 0/2: stuck: MPI_Allreduce in a communicator of ranks 0, 1 \(its call 1\) waits for a message of rank 1")

    def test_other_functions_that_wait_are_named(self):
        self.says("probe", r"^weft 1/2: stuck: thread \d+ has waited .* s in MPI_Probe$")
        self.says("waits", r"^weft 0/2: stuck: thread \d+ has waited .* s in MPI_Waitall for a receive from any rank with tag 0",
                  r"^weft 0/2: stuck: 1 receive \(MPI_COMM_WORLD, any rank, tag 1\) that no message has matched$")


if __name__ == "__main__":
    unittest.main()

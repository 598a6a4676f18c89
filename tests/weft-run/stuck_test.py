# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-run src/core/runtime src/coll/group/group_report.cpp tests/process/stuck.cpp
# stages: release asan
"""A job that stands still says what its ranks wait for."""

import os
import re
import selectors
import signal
import subprocess
import time
import unittest
from pathlib import Path

from weft_run_test import BUILD, LIMIT, WEFT_RUN, environment

STUCK = str(BUILD / "tests/process/stuck")


class Job:
    """A job of `stuck`, whose standard error is read until it has said what is awaited."""

    def __init__(self, situation, *options, ranks=2, launcher=None, **variables):
        variables = {"WEFT_STUCK_AFTER": "0.2", "WEFT_QUEUE_CAPACITY": "16", **variables}
        variables = {name: value for name, value in variables.items() if value is not None}
        launcher = [WEFT_RUN, "-n", str(ranks), *options] if launcher is None else launcher
        self.process = subprocess.Popen([*launcher, STUCK, situation], env=environment(**variables),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.said = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.send_signal(signal.SIGTERM)
        self.said += self.process.communicate(timeout=LIMIT)[1].decode()
        assert "Sanitizer" not in self.said, self.said

    def says(self, *patterns, quiet=False):
        """Whether each pattern is in what was said before the job's end, or the limit. `quiet`: reads to the end."""
        missing = list(patterns) or ["this is never said"]
        until = time.monotonic() + LIMIT
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stderr, selectors.EVENT_READ)
            while missing:
                missing = [pattern for pattern in missing if not re.search(pattern, self.said, re.MULTILINE)]
                if not missing:
                    return True
                if not selector.select(max(until - time.monotonic(), 0)):
                    break
                more = os.read(self.process.stderr.fileno(), 1 << 16)
                if not more:
                    break
                self.said += more.decode()
        if not quiet:
            print(f"not said: {missing}, but:\n{self.said}")
        return False


class Standstill(unittest.TestCase):
    def expect(self, situation, *patterns, **more):
        with Job(situation, **more) as job:
            self.assertTrue(job.says(*patterns))

    def expect_with(self, options, situation, *patterns):
        with Job(situation, *options) as job:
            self.assertTrue(job.says(*patterns))

    def test_a_full_queue_is_named_with_the_messages_that_it_stops(self):
        self.expect("full_queue",
                    r"^weft 1/2: stuck: nothing has moved here for ",
                    r"^weft 1/2: stuck: thread \d+ has waited .* s in runtime::barrier for the message of rank 0$",
                    r"^weft 1/2: stuck: the completion_queue with id 1 \(16 records, 16 fit in a lane\) has no room: it "
                    r"stops a message of rank 0 and all behind it",
                    r"^weft 0/2: stuck: posts were answered retry \d+ times meanwhile")

    def test_completions_that_have_no_room_at_their_own_rank_are_counted(self):
        self.expect("full_local_queue",
                    r"^weft 0/2: stuck: 24 posts with rank 1 are complete, but their completion object is full")

    def test_messages_that_no_thread_polls_are_named(self):
        line = r": stuck: messages wait at device {}, on which no thread has made progress for \d+\.\d s: "
        for options in ((), ("--sim",)):
            self.expect_with(options, "forgets_progress", r"^weft 1/2" + line.format(0),
                             r"^weft 0/2: stuck: thread \d+ has waited .* s in runtime::barrier for the message of rank 1$")
        self.expect("forgets_progress", r"^weft 1/2" + line.format(0), ranks=2, WEFT_CHECK="1")
        self.expect("forgets_itself", r"^weft 0/2" + line.format(0), r"^weft 1/2" + line.format(0))
        self.expect("forgets_itself", r"^weft" + line.format(0), launcher=())

    def test_messages_at_one_device_are_named_whatever_moves_at_others(self):
        self.expect("forgotten_device", r"^weft 1/2: stuck: messages wait at device 1, on which no thread has made progress for ")

    def test_ranks_that_compute_for_long_are_not_reported(self):
        with Job("computes", WEFT_STUCK_AFTER="1") as job:
            self.assertFalse(job.says(quiet=True))
        self.assertEqual(job.said, "")

    def test_the_time_in_which_ranks_are_stopped_does_not_count(self):
        with subprocess.Popen([WEFT_RUN, "-n", "2", STUCK, "exchanges"], env=environment(WEFT_STUCK_AFTER="1"),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            self.assertEqual(job.stdout.readline(), b"begins\n")
            ranks = Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
            for stop in (signal.SIGSTOP, signal.SIGCONT):
                for rank in ranks:
                    os.kill(int(rank), stop)
                if stop == signal.SIGSTOP:
                    time.sleep(2.5)
            self.assertEqual((job.communicate(timeout=LIMIT)[1], job.returncode), (b"", 0))

    def test_a_rank_without_launcher_reports_by_itself(self):
        with Job("coroutines", launcher=()) as job:
            self.assertTrue(job.says(r"^weft: stuck: a run_loop on device 0: 2 spawned tasks have not ended",
                                     r"^weft: stuck: that is all; if the wait is meant, set WEFT_STUCK_AFTER=0$"))

    def test_receives_and_messages_that_differ_in_one_thing_stand_side_by_side(self):
        receive = r"^weft 1/2: stuck: 1 receive posted "
        self.expect("other_tag", receive + r"\(default engine, policy rank_tag, rank 0, tag 6\) and 1 message of rank 0 "
                    r"\(default engine, policy rank_tag, tag 5\) differ only in the tag$",
                    r"^weft 0/2: stuck: 1 receive posted \(default engine, policy rank_tag, rank 1, tag 6\) that no "
                    r"message has matched$",
                    r"^weft 0/2: stuck: thread \d+ has waited .* s in device::wait on device 0 for a counter of value "
                    r"0, which 1 posted operations will signal$")
        self.expect("other_policy", receive + r".* rank 0, tag 5\) and 1 message of rank 0 \(default engine, policy "
                    r"tag_only, tag 5\) differ only in the policy$")
        self.expect("other_engine", receive + r"\(engine 7, .* and 1 message of rank 0 \(default engine, .* differ only "
                    r"in the engine$")
        self.expect("other_rank", receive + r"\(engine 7, policy rank_tag, rank 1, tag 5\) and 1 message of rank 0 "
                    r"\(engine 7, tag 5\) differ only in the rank$")

    def test_a_send_of_a_receiver_first_engine_stands_beside_the_receives_of_its_target(self):
        self.expect("receiver_first", r"^weft 0/2: stuck: 1 send to rank 1 \(engine 7, receiver-first, tag 5\) and 1 "
                    r"receive of rank 1 \(engine 7, receiver-first, tag 6\) differ only in the tag$",
                    r"^weft 1/2: stuck: 1 receive in receiver-first engines waits for a send of rank 0$")

    def test_a_program_that_polls_by_itself_is_seen(self):
        self.expect("polls", r"^weft 0/2: stuck: 1 receive posted .* tag 3\) that no message has matched$",
                    r"^weft 0/2: stuck: no thread waits in Weft")

    def test_a_device_that_no_thread_polls_is_named(self):
        self.expect("other_device", r"^weft 0/2: stuck: messages wait at device 1, on which no thread has made progress for ")

    def test_messages_for_an_id_that_no_rank_registers_are_named(self):
        self.expect("no_registration", r"^weft 1/2: stuck: 1 message of rank 0 waits because no registered completion "
                    r"object has id 9 here yet$")

    def test_a_peer_that_has_ended_is_named(self):
        self.expect("ended_peer", r"^weft 1/2: stuck: 1 receive posted .* tag_only, tag 4\)",
                    r"^weft 1/2: stuck: ranks that have destroyed their runtime: 0$")

    def test_a_blocking_call_is_named_with_rank_and_tag(self):
        self.expect("blocking", r"^weft 1/2: stuck: thread \d+ has waited .* s in recv with rank 0, tag 5")

    def test_a_collective_is_named_with_the_rank_that_has_not_called_it(self):
        waits = r": stuck: barrier in the group of all ranks \(its call {}\) waits for a message of rank {}, which has not called it yet"
        self.expect("collective_missing", r"^weft 0/2: stuck: thread \d+ has waited .* s in barrier$",
                    r"^weft 0/2" + waits.format(2, 1),
                    r"^weft 1/2: stuck: rank 0 has made call 2 in the group of all ranks, which this rank has not made; "
                    r"its last one was allreduce \(call 1\)$",
                    r"^weft 1/2: stuck: if members may call different collectives, .* WEFT_CHECK=1")
        self.expect("collective_missing", r"^weft 1/4: stuck: barrier in the group of all ranks \(its call 2\) waits", ranks=4)
        self.expect("first_collective_missing", r"^weft 0/2" + waits.format(1, 1),
                    r"^weft 1/2: stuck: rank 0 has called a collective, and this rank has called none$")
        with Job("collective_missing", WEFT_CHECK="1") as job:
            self.assertTrue(job.says(r"^weft 0/2" + waits.format(2, 1),
                                     r"made call 2 in .* its last one was allreduce \(call 1\)$"))
            self.assertNotIn("WEFT_CHECK=1 compares", job.said)

    def test_a_posted_collective_of_some_ranks_is_named(self):
        self.expect("posted_collective_missing", r"^weft 2/3: stuck: broadcast in the group of ranks 1, 2 \(its call 1\) "
                    r"waits for a message of rank 1, ", ranks=3)

    def test_members_that_call_different_collectives_are_told_of_the_check(self):
        with Job("other_collective") as job:
            self.assertTrue(job.says(r"WEFT_CHECK=1 compares their calls",
                                     r"^weft 0/2: stuck: no collective waits in the group of all ranks; the last one of this rank "
                                     r"was broadcast \(call 1\)$"))
            self.assertNotRegex(job.said, r"engine 4294967295|tag \d{10}")

    def test_posts_whose_retry_was_ignored_are_named(self):
        self.expect("ignored_retry", r"^weft 0/2: stuck: \d+ posts were answered retry before, and none since: such a post "
                    r"sends nothing; if the program has not repeated one")

    def test_a_rank_that_waits_for_the_order_of_a_peer_is_named(self):
        self.expect("engine_without_order", r"^weft 0/2: stuck: sends to rank 1 in ordered engines wait until that rank has "
                    r"put earlier ones in order: ")

    def test_fibers_say_what_they_wait_for(self):
        self.expect("fibers", r"^weft 1/2: stuck: 1 fiber of a scheduler waits: 1 in recv with rank 0, tag 5$",
                    r"^weft 1/2: stuck: thread \d+ has waited .* s in fiber::join$")

    def test_fibers_without_devices_are_told_that_their_workers_make_little_progress(self):
        self.expect("fibers_without_devices", r"^weft 1/2: stuck: 1 fiber of a scheduler waits: 1 in recv with rank 0",
                    r"^weft 1/2: stuck: the scheduler of these fibers has no `.devices`, so its workers make progress only before "
                    r"they sleep: give it devices, or use a progress_thread$")

    def test_a_rank_in_which_no_thread_makes_progress_is_named(self):
        self.expect("fiber_at_an_event", r"^weft 1/2: stuck: 1 fiber of a scheduler waits: ",
                    r"^weft 1/2: stuck: no thread has made progress meanwhile, on any device$")

    def test_coroutines_say_what_they_wait_for(self):
        self.expect("coroutines", r"^weft 1/2: stuck: a run_loop on device 0: 2 spawned tasks have not ended; its "
                    r"coroutines wait for 2 operations that are not complete$",
                    r"^weft 1/2: stuck: thread \d+ has waited .* s in run_loop::run or run_until$",
                    r"^weft 1/2: stuck: 2 receives posted .* rank 0, tag 5\) that no message has matched$")

    def test_the_reports_of_all_ranks_are_one(self):
        with Job("other_tag", ranks=3) as job:
            self.assertTrue(job.says(r"^weft-run: nothing moves in ranks of this job; they wait for:$",
                                     r"^weft-run: if these waits are meant, set WEFT_STUCK_AFTER=0 or more seconds$"))
        lines = job.said.splitlines()
        ranks = [line.split("/")[0] for line in lines if line.startswith("weft ")]
        self.assertEqual(ranks, sorted(ranks))
        self.assertEqual(set(ranks), {"weft 0", "weft 1", "weft 2"})
        self.assertTrue(lines[0].startswith("weft-run: ") and lines[-1].startswith("weft-run: "), job.said)

    def test_a_rank_that_has_ended_before_is_named_in_the_report(self):
        self.expect("ended_peer", r"^weft-run: rank 0 ended with exit code 0 before$")

    def test_a_standstill_is_reported_once(self):
        with Job("other_tag", "--timeout", "2") as job:
            self.assertFalse(job.says(quiet=True))
        self.assertEqual(job.process.returncode, 124)
        self.assertEqual(job.said.count("nothing moves in ranks"), 1, job.said)
        self.assertEqual(job.said.count("what the ranks wait for"), 1, job.said)  # asked at the end

    def test_the_timeout_asks_each_rank_before_it_ends_the_job(self):
        with Job("other_tag", "--timeout", "0.5", WEFT_STUCK_AFTER=None) as job:
            self.assertTrue(job.says(r"^weft 0/2: stuck: thread \d+ has waited", r"^weft 1/2: stuck: 1 receive posted .* "
                                     r"differ only in the tag$", r"^weft-run: the job took longer than 0.5 s"))
        self.assertEqual(job.process.returncode, 124)

    def test_counters_are_printed_before_the_limit_ends_a_rank(self):
        for after in None, "0":
            with Job("other_tag", "--timeout", "0.5", WEFT_STUCK_AFTER=after, WEFT_PRINT_COUNTERS="on") as job:
                self.assertTrue(job.says(r"^weft 0/2: info: rank 0 counted on device 0: 1 send \(",
                                         r"^weft 1/2: info: rank 1 counted on device 0: 1 receive \(",
                                         r"^weft-run: the job took longer than 0.5 s"))
            self.assertEqual("stuck: thread" in job.said, after is None, job.said)

    def test_a_rank_that_is_told_to_report_nothing_reports_nothing(self):
        with Job("other_tag", "--timeout", "0.5", WEFT_STUCK_AFTER="0") as job:
            self.assertFalse(job.says(quiet=True))
        self.assertEqual(job.said, "weft-run: the job took longer than 0.5 s; ending it\n")


if __name__ == "__main__":
    unittest.main()

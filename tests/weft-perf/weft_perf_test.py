# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-perf perf/peers
# cost: 60
"""weft-perf: each subcommand with tiny durations; the form of what it prints, never its times."""

import functools
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
PERF = BUILD / "bin/weft-perf"
# What a figure always has; a ratio and a limit may be null.
FIELDS = {"claim", "unit", "bytes", "threads", "window", "label", "weft", "least_share", "counts", "peer", "best_peer",
          "ratio", "peers", "path", "paths", "limit", "limit_name", "limit_spread", "limit_is_wrong", "fraction", "commit",
          "flags", "host", "pinning"}
# Long messages: by whom depends on whether the sender has time, and in packets where the kernel allows no copy.
COPIED = ("cross-memory copy", "cross-memory copy by both", "many packets")
CACHE = (BUILD / "CMakeCache.txt").read_text() if (BUILD / "CMakeCache.txt").exists() else ""
IS_LONG = "WEFT_LONG:BOOL=ON" in CACHE
MILLION_FIBERS_BYTES = 12 << 30
# Any hand-over is near, so that no round is thrown away for the noise of a machine that does other things as well.
TINY = ["--rounds", "2", "--duration", "0.002", "--fast-below", "1e6"]


def run(*arguments, ranks=0, timeout=600, **variables):
    patience = ("WEFT_STUCK_AFTER", "WEFT_BOOT_TIMEOUT_S")
    environment = {k: v for k, v in os.environ.items() if k in patience or not k.startswith(("WEFT_", "PMI"))}
    command = [BUILD / "bin/weft-run", "-n", str(ranks), PERF] if ranks else [PERF]
    return subprocess.run([*command, *map(str, arguments)], env=dict(environment, **variables), text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout)


def available_bytes():
    return next(int(line.split()[1]) << 10 for line in Path("/proc/meminfo").read_text().splitlines()
                if line.startswith("MemAvailable:"))


def network_provider():
    """What a comparison over a network goes by here: as weft-info finds it."""
    told = subprocess.run([BUILD / "bin/weft-info"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          timeout=600, check=True).stdout
    here = [line.split(":", 1)[1].strip() for line in told.splitlines() if line.strip().startswith("ofi:")]
    return next((name for name in ("net", "tcp") if name in here), None)


def lines_of(*arguments, attempts=5, **more):
    """What a run printed; tried again where the machine was too restless for a single round to count."""
    for _ in range(attempts):
        result = run(*arguments, "--json", **more)
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        if "changed its state" not in result.stderr and "no round kept one state" not in result.stderr:
            break
    return result.stdout


@functools.cache
def resources():
    """Of one run: it compiles all peers."""
    return lines_of("resources", *TINY)


class Figures(unittest.TestCase):
    def figures(self, *arguments, **more):
        return self.checked(lines_of(*arguments, **more))

    def checked(self, text):
        out = [json.loads(line) for line in text.splitlines()]
        for each in out:
            self.assertLessEqual(FIELDS, set(each))
            self.assertIn(each["label"], ("any", "unknown"))
            self.assertEqual(set(each["weft"]), {"median", "q1", "q3", "min", "max", "rounds"})
            self.assertGreater(each["weft"]["median"], 0)
            self.assertLessEqual(each["weft"]["min"], each["weft"]["max"])
            self.assertRegex(each["host"], r"\b\d+ processors?$")
            self.assertIn("GNU" if "GNU" in each["flags"] else "Clang", each["flags"])
        return out

    def claims(self, figures):
        return {(each["claim"], each["bytes"], each["threads"], each["window"]) for each in figures}

    def test_latency_of_both_operations(self):
        got = self.figures("latency", *TINY, "--sizes", "8,64KiB", "--verify", ranks=2)
        self.assertEqual(self.claims(got), {(f"{operation}_latency", bytes, 1, 1) for operation in ("am", "sendrecv")
                                            for bytes in (8, 65536)})
        for each in got:
            self.assertEqual((each["unit"], each["mode"], each["verified"]), ("ns", "processes", True))
            self.assertIsNone(each["ratio"])
            self.assertIn(each["path"], ("cell",) if each["bytes"] == 8 else COPIED)
            self.assertAlmostEqual(sum(each["paths"].values()), 1, delta=0.01)
            self.assertEqual(each["limit_name"], "two rings")

    def test_receivers_that_begin_and_engines_that_keep_order(self):
        for operation in ("receiver-first", "ordered"):
            for command in ("latency", "bandwidth"):
                got = self.figures(command, *TINY, "--sizes", "8,64KiB", "--operation", operation, "--verify", ranks=2)
                self.assertEqual([each["bytes"] for each in got], [8, 65536])
                self.assertIn(operation, got[0]["claim"] + got[0].get("what", ""))

    def test_threads_on_devices_of_their_own_and_on_a_shared_one(self):
        for mode in ("threads-dedicated", "threads-shared"):
            for command in ("latency", "rate"):
                got = self.figures(command, *TINY, "--mode", mode, "--threads", "1,3", "--operation", "am", "--verify",
                                   ranks=2)
                self.assertEqual({each["claim"] for each in got}, {f"am_{command}", f"mt_{command}"})
                self.assertEqual({each["mode"] for each in got}, {mode})

    def test_plain_programs(self):
        for command in ("latency", "rate"):
            got = self.figures(command, *TINY, "--plain", "--threads", "1,3", "--verify", ranks=2)
            self.assertEqual({each["claim"] for each in got}, {f"plain_{command}"})
            self.assertEqual({(each["threads"], each["what"]) for each in got},
                             {(threads, operation) for threads in (1, 3) for operation in ("am", "sendrecv")})
            self.assertEqual({(each["mode"], each["pinning"]) for each in got}, {("threads-dedicated", "none")})

    def test_plain_programs_are_compared_with_those_that_are_not_bound(self):
        got = self.figures("compare", "--quick", *TINY, "--claims", "plain_latency,plain_rate", PATH="/nowhere")
        of_ranks = [each for each in got if each["ranks"] > 2]
        self.assertEqual([(each["claim"], each["ranks"], each["threads"], each["peers"]) for each in of_ranks],
                         [("plain_latency", ranks, 1, {}) for ranks in (3, 4, 8, 16)])
        got = [each for each in got if each["ranks"] == 2]
        self.assertEqual({(each["claim"], each["threads"], each["window"]) for each in got},
                         {(f"plain_{what}", threads, window) for what, window in (("latency", 1), ("rate", 32))
                          for threads in (2, 16)})
        for each in got:
            self.assertEqual(set(each["peers"]), {"Weft, unbound"})
            self.assertIsNone(each["best_peer"])

    def test_a_ring_of_ranks_and_plain_programs_of_more_ranks_than_cores(self):
        for ranks in (2, 3, 5):
            got = self.figures("ring", *TINY, "--sizes", "8,64KiB", ranks=ranks)
            self.assertEqual([(each["claim"], each["what"], each["bytes"], each["ranks"]) for each in got],
                             [("ring", operation, size, ranks) for operation in ("am", "sendrecv") for size in (8, 65536)])
            self.assertEqual({each["label"] for each in got}, {"any" if ranks == 2 else "unknown"})
        got = self.figures("latency", *TINY, "--plain", ranks=3)
        self.assertEqual([(each["claim"], each["ranks"]) for each in got], [("plain_latency", 3)] * 2)
        self.assertEqual(run("ring", *TINY, "--threads", "2", ranks=2).returncode, 2)

    def test_rings_are_compared(self):
        got = self.figures("compare", "--quick", *TINY, "--claims", "ring")
        self.assertEqual([(each["claim"], each["ranks"]) for each in got], [("ring", ranks) for ranks in (2, 3, 4, 8, 16)])
        self.assertFalse(any(name.startswith("Weft") for each in got for name in each["peers"]))
        self.check_peers(got)

    def test_collectives_of_several_numbers_of_ranks_sizes_and_threads(self):
        got = self.figures("collectives", *TINY, "--ranks", "2,3", "--sizes", "8,24KiB", PATH="/nowhere")
        expected = {("barrier", 0)} | {(claim, size) for claim in ("broadcast", "reduce", "allreduce", "allgather", "alltoall",
                                                                   "reduce_scatter") for size in (8, 24576)}
        for ranks in (2, 3):
            found = {(each["claim"], each["bytes"]) for each in got if each["ranks"] == ranks}
            more = {("message", 8)} if ranks == 2 else set()
            self.assertEqual(found, expected - {("reduce_scatter", 8)} | more, "a block of whole doubles for each rank")
        for each in got:
            self.assertEqual((each["unit"], each["peers"], each["ratio"]), ("ns", {}, None))
            self.assertEqual("messages" in each, each["ranks"] == 2 and each["bytes"] <= 8 and
                             each["claim"] in ("barrier", "broadcast", "allreduce"))
        got = self.figures("collectives", *TINY, "--ranks", "2", "--sizes", "8", "--claims", "allreduce,barrier", "--threads", "3",
                           PATH="/nowhere")
        self.assertEqual([(each["claim"], each["threads"], set(each["peers"])) for each in got],
                         [(claim, 3, {"Weft, unbound"}) for claim in ("barrier", "allreduce")])

    def test_algorithms_of_collectives_are_compared(self):
        got = self.figures("collectives", *TINY, "--ranks", "4", "--sizes", "64", "--claims", "barrier,allreduce",
                           "--algorithms", "all", PATH="/nowhere")
        self.assertEqual({each["claim"]: set(each["peers"]) for each in got},
                         {"barrier": {"Weft, by dissemination", "Weft, by linear", "Weft, by tree"},
                          "allreduce": {"Weft, by linear", "Weft, by recursive-doubling", "Weft, by rabenseifner",
                                        "Weft, by ring"}})
        self.assertEqual({each["best_peer"] for each in got}, {None})

    def test_collectives_are_compared_and_have_aims(self):
        got = self.figures("compare", "--quick", *TINY, "--claims", "barrier,allgather,allreduce_threads")
        self.assertEqual([(each["claim"], each["ranks"], each["threads"], each.get("aim")) for each in got],
                         [("barrier", 2, 1, 1.2), ("allgather", 2, 1, 1.2), ("message", 2, 1, None), ("barrier", 4, 1, 1.3),
                          ("allgather", 4, 1, 1.2), ("barrier", 8, 1, 1.3), ("allreduce_threads", 2, 1, 1.2),
                          ("allreduce_threads", 2, 2, None), ("allreduce_threads", 2, 4, 3), ("message", 2, 1, None)])
        for each in got:
            if each["claim"] == "barrier" and each["ranks"] == 2:
                self.assertGreater(each["messages"], 0)
                self.assertEqual(each["messages_aim"], 2)
            paired = each.get("paired_ratio", {"median": None})["median"]
            self.assertEqual(paired is None, each["best_peer"] is None)
            if "aim" in each:
                ahead = paired is None or paired >= each["aim"]
                self.assertEqual(each["meets_aim"], ahead and each.get("messages", 0) <= each.get("messages_aim", 99999))
        self.check_peers(got)

    def test_waiting(self):
        got = {each["claim"]: each for each in self.figures("wait", *TINY, ranks=2)}
        self.assertEqual({claim: each["unit"] for claim, each in got.items()}, {"wait_idle": "core", "wait_wakeup": "ns"})
        self.assertEqual(got["wait_wakeup"]["limit_name"], "futex")

    def test_attentiveness_of_each_policy(self):
        got = self.figures("attentiveness", *TINY, "--threads", "3", "--devices", "1,3", "--task-us", "100", ranks=2)
        self.assertEqual({(each["claim"], each["what"], each["devices"]) for each in got},
                         {("attentiveness", f"{policy} {part}", devices)
                          for policy in ("local", "random", "all", "adaptive") for part in ("p50", "p90", "p99", "max")
                          for devices in (1, 3)})
        for each in got:
            self.assertEqual((each["unit"], each["threads"], each["task_ns"], each["weft"]["rounds"]),
                             ("ns", 3, 100_000, 2))
            self.assertIn(each["mode"], ("computing", "sleeping"))
            self.assertEqual(set(each["peers"]), set() if each["what"].startswith("adaptive") else {"mutex"})
        self.check_peers(got)
        got = self.figures("attentiveness", *TINY, "--threads", "2", "--policies", "adaptive", ranks=2)
        self.assertEqual({each["devices"] for each in got}, {1, 2})

    def test_reductions_beside_vectorized_loops(self):
        got = self.figures("reductions", *TINY, "--sizes", "4,1000")
        self.assertLessEqual({"int8 sum", "uint64 logical or", "double min", "complex float product", "int32 max with index"},
                             {each["what"] for each in got})
        for each in got:
            self.assertEqual((each["unit"], each["best_peer"], each["aim"]), ("op/s", "loop", 0.7))
        self.assertIn(("int8 sum", 4), {(each["what"], each["bytes"]) for each in got})
        self.assertNotIn(("double sum", 4), {(each["what"], each["bytes"]) for each in got}, "no whole element")
        self.check_peers(got)

    def test_hooks(self):
        got = self.figures("hooks", *TINY[:2], "--duration", "0.02", "--threads", "1,2")
        self.assertEqual({each["what"] for each in got},
                         {"call", "tasks", "delay", "threads", "class", "devices", "requests"})
        for each in got:
            self.assertEqual((each["claim"], each["unit"]), ("hooks", "ns"))
        self.assertEqual({each["tasks"] for each in got if each["what"] == "call"}, {0, 1, 8, 32, 256})
        self.assertEqual({each["threads"] for each in got if each["what"] == "devices"}, {1, 2})

    def test_fibers(self):
        got = self.figures("fibers", *TINY)
        self.assertLessEqual({each["what"] for each in got}, {"yield", "signal", "signal to another worker", "signals to and fro"})
        self.assertEqual([each["fibers"] for each in got if each["what"] == "yield"], [2, 8, 64, 1024, 16384])
        host = got[0]["host"]
        got = self.figures("fibers", *TINY, "--fibers", "1,100", ranks=2)
        self.assertEqual({each["host"] for each in got}, {host}, "ranks that have a part of the processors")
        self.assertEqual([(each["claim"], each["what"], each["fibers"], each["unit"]) for each in got],
                         [("fibers", "message", 1, "ns"), ("fibers", "message", 100, "ns")])
        self.assertEqual([(each["workers"], each["progress_thread"], each["writes"], each["bytes"]) for each in got],
                         [(1, 0, 0, 8)] * 2)

    def test_fibers_of_several_workers_and_with_a_thread_for_progress(self):
        got = self.figures("fibers", *TINY, "--fibers", "40", "--workers", "1,2", ranks=2)
        self.assertEqual([(each["workers"], each["progress_thread"]) for each in got], [(1, 0), (2, 0)])
        got = self.figures("fibers", *TINY, "--fibers", "3", "--workers", "0", "--progress-thread", ranks=2)
        cores = len(os.sched_getaffinity(0))  # all of them where the ranks are not bound
        self.assertEqual(len(got), 1)
        self.assertLessEqual(got[0]["workers"], cores)
        self.assertEqual(got[0]["progress_thread"], 1)

    def test_messages_of_fibers_with_random_writes_and_of_several_sizes(self):
        result = run("fibers", *TINY, "--fibers", "2", "--writes", "0,7", "--sizes", "8,4096", "--json", ranks=2)
        got = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([(each["writes"], each["bytes"]) for each in got], [(0, 8), (0, 4096), (7, 8), (7, 4096)])
        result = run("fibers", *TINY, "--fibers", "2", "--sizes", "12", ranks=2)
        self.assertEqual(result.returncode, 2)
        self.assertIn("12 bytes are not", result.stderr)

    def test_messages_of_fibers_beside_threads(self):
        got = self.figures("fibers", *TINY, "--fibers", "1,63,100")
        self.assertEqual([(each["what"], each["fibers"]) for each in got],
                         [("message, compared", fibers) for fibers in (1, 63, 100)])
        for each in got:
            self.assertEqual("Weft, threads" in each["peers"], each["fibers"] <= 63)
            self.assertNotEqual(each["best_peer"], "Weft, threads")
        self.check_peers(got)
        self.assertEqual(run("fibers", *TINY, "--fibers", "1", "--writes", "5").returncode, 2)

    @unittest.skipUnless(IS_LONG, "a million fibers are for the long tests")
    def test_a_million_fibers_of_each_rank(self):
        if available_bytes() < MILLION_FIBERS_BYTES:
            self.skipTest(f"a million fibers of two ranks need {MILLION_FIBERS_BYTES >> 30} GiB of memory")
        got = self.figures("fibers", "--rounds", "1", "--duration", "0.1", "--fibers", "1048576", ranks=2, timeout=1200)
        self.assertEqual([each["fibers"] for each in got], [1048576])

    def test_windows_and_streams(self):
        got = self.figures("rate", *TINY, "--window", "1,32", "--verify", ranks=2)
        self.assertEqual({each["window"] for each in got}, {1, 32})
        self.assertEqual({each["claim"] for each in got}, {"am_rate", "sendrecv_rate"})
        got = self.figures("rate", *TINY, "--stream", "--verify", ranks=2)
        self.assertEqual(self.claims(got), {("am_rate", 8, 1, 0)})

    def test_bandwidth(self):
        got = self.figures("bandwidth", *TINY, "--sizes", "4KiB,1MiB", "--verify", ranks=2)
        self.assertEqual({(each["claim"], each["unit"]) for each in got}, {("bandwidth", "B/s")})
        self.assertEqual({each["bytes"] for each in got}, {4096, 1 << 20})
        for each in got:
            self.assertIn(each["path"], ("packet",) if each["bytes"] == 4096 else COPIED)

    def test_bandwidth_of_lists(self):
        for pieces, paths in (("8", ("many packets",)), ("64KiB", COPIED)):
            got = self.figures("bandwidth", *TINY, "--sizes", "256KiB", "--pieces", pieces, "--verify", ranks=2)
            self.assertEqual({each["bytes"] for each in got}, {1 << 18})
            for each in got:
                self.assertIn(each["path"], paths)

    def test_messages_in_blocks(self):
        for ends, loops, shape, paths in (("both", [], "8:16", ("many packets",)), ("sender", [], "24:40", ("many packets",)),
                                          ("receiver", [], "4KiB:6000", ("many packets",)),
                                          ("both", ["--by-loops"], "8:8", COPIED)):
            got = self.figures("bandwidth", *TINY, "--sizes", "100000", "--window", "1,3", "--layout", shape, "--layout-at", ends,
                               *loops, "--verify", ranks=2)
            self.assertEqual({(each["bytes"], each["window"]) for each in got}, {(100000, 1), (100000, 3)})
            for each in got:
                self.assertIn(each["path"], paths)
                self.assertTrue(each["what"].startswith("sendrecv, "))
                self.assertEqual("by loops" in each["what"], bool(loops))
        for operation in ("sendrecv", "ordered", "receiver-first"):
            got = self.figures("latency", *TINY, "--sizes", "8,40,4096,64KiB", "--layout", "1:3", "--operation", operation,
                               "--verify", ranks=2)
            self.assertEqual([each["bytes"] for each in got], [8, 40, 4096, 65536])
            self.assertEqual({each["what"] for each in got}, {f"{operation}, 1 B of 3 B"})

    def test_a_comparison_of_messages_in_blocks(self):
        got = self.figures("compare", "--quick", *TINY, "--claims", "layout_latency,layout_bandwidth")
        self.assertEqual({(each["claim"], each["what"], each["window"]) for each in got},
                         {(claim, what, window) for what in ("8 B of 16 B", "4096 B of 8192 B")
                          for claim, window in (("layout_latency", 1), ("layout_bandwidth", 1), ("layout_bandwidth", 16))})
        for each in got:
            self.assertEqual((each["bytes"], each["path"]), (1 << 20, "many packets"))
            self.assertLessEqual({"Weft, by loops", "Weft, side by side in packets"}, set(each["peers"]))
            self.assertFalse((each["best_peer"] or "").startswith("Weft"))
            if each["claim"] == "layout_bandwidth":
                self.assertEqual(each["limit_name"], f"pack and unpack {each['what']}")
        self.check_peers(got)

    def test_messages_that_the_kernel_does_not_copy_go_in_many_packets(self):
        got = self.figures("bandwidth", *TINY, "--sizes", "64KiB", ranks=2, WEFT_SHM_CMA="off")
        self.assertEqual({each["path"] for each in got}, {"many packets"})

    def test_ways_of_long_messages_are_compared_in_turns(self):
        got = self.figures("bandwidth", *TINY, "--operation", "sendrecv", "--sizes", "64KiB", "--verify",
                           "--long-messages", "auto,packets,one_side", ranks=2)
        paths = {each["what"]: each["path"] for each in got}
        self.assertEqual(set(paths), {"sendrecv, auto", "sendrecv, packets", "sendrecv, one_side"})
        self.assertEqual(paths["sendrecv, packets"], "many packets")
        self.assertIn(paths["sendrecv, one_side"], COPIED)

    def test_puts_and_gets(self):
        for more in ([], ["--memory", "ordinary"], ["--touch"]):
            got = self.figures("put", *TINY, "--sizes", "8,64KiB", "--verify", *more, ranks=2)
            self.assertEqual({each["claim"] for each in got}, {"put_latency", "put_bandwidth", "get_latency"})
            visible = [each for each in got if each.get("what") == "visible"]
            self.assertEqual({each["bytes"] for each in visible}, {8, 65536})
            self.assertEqual({each["limit_name"] for each in visible}, {"two lines"})
            paths = {each["path"] for each in got}
            self.assertEqual(paths, {"mapped memory"} if "ordinary" not in more else paths & {*COPIED, "packet"})

    def test_several_processes_and_other_transports(self):
        self.assertEqual(self.claims(self.figures("latency", *TINY, "--operation", "am", "--verify", ranks=4)),
                         {("am_latency", 8, 1, 1)})
        got = self.figures("bandwidth", *TINY, "--sizes", "64KiB", "--transport", "sim:shm", "--verify", "--mode",
                           "threads-shared", "--threads", "3", ranks=2)
        self.assertEqual(self.claims(got), {("bandwidth", 65536, 3, 64)})

    def test_limits_of_the_machine(self):
        got = self.figures("limits", *TINY)
        self.assertEqual({each["claim"] for each in got}, {"limit"})
        names = {each["what"] for each in got}
        self.assertLessEqual({"handover", "cells", "two lines", "two rings", "memcpy fresh", "memcpy just written", "futex",
                              "yield", "packets", "cells"}, names)
        for each in got:
            best = each["weft"]["min" if each["unit"] == "ns" else "max"]
            self.assertEqual((each["limit"], each["limit_name"], each["path"]), (best, each["what"], None))
            self.assertFalse(each["limit_is_wrong"])

    def test_parts_of_the_library(self):
        got = self.checked(resources())
        most = max(2, len(os.sched_getaffinity(0)))
        all_threads = [threads for threads in (1, 2, 4, 8, 16, 32, 64) if threads <= most]
        self.assertEqual({(each["claim"], each["threads"]) for each in got},
                         {(name, threads) for name in ("pool", "matching", "queue") for threads in all_threads})
        self.check_peers(got)
        got = self.figures("resources", *TINY, "--claims", "pool,queue", "--threads", "3")
        self.assertEqual([(each["claim"], each["threads"]) for each in got], [("pool", 3), ("queue", 3)])

    def test_a_comparison_names_peers_that_are_here_and_those_that_are_not(self):
        got = self.figures("compare", "--quick", *TINY, "--claims", "am_latency,put_latency,mt_rate,bandwidth,queue")
        self.assertEqual({each["claim"] for each in got},
                         {"am_latency", "put_latency", "mt_rate", "bandwidth", "queue"})
        self.assertEqual({each["threads"] for each in got if each["claim"] == "mt_rate"}, {4, 16})
        processors = len(os.sched_getaffinity(0))
        for each in got:
            if each["claim"] == "mt_rate" and each["threads"] > processors:
                taking_turns = {name for name in each["peers"] if name.endswith(", in turns")}
                self.assertEqual(bool(taking_turns), bool(each["peers"]), each)
            paths = {"am_latency": ("cell",), "put_latency": ("mapped memory",), "mt_rate": ("cell",), "queue": (None,),
                     "bandwidth": ("packet",) if each["bytes"] == 4096 else COPIED}
            self.assertIn(each["path"], paths[each["claim"]])
            if each["claim"] == "am_latency" or each.get("what") == "visible":
                self.assertEqual(each["limit_name"], "two rings" if each["claim"] == "am_latency" else "two lines")
            if each["claim"] == "bandwidth":
                limits = {"packets" if path in ("packet", "many packets") else path for path in each["paths"]}
                self.assertIn(each["limit_name"], limits)
        self.check_peers(got)

    def test_a_comparison_holds_a_shared_device_against_dedicated_ones(self):
        got = self.figures("compare", "--quick", *TINY, "--claims", "shared_device")
        self.assertEqual({(each["claim"], each["what"], each["mode"], each["threads"], each["window"]) for each in got},
                         {("shared_device", what, "threads-shared", 2, 32) for what in ("am", "sendrecv")})
        for each in got:
            self.assertLessEqual(set(each["peers"]), {"Weft, dedicated devices"})
            self.assertNotIn("absent", each)
        self.check_peers(got)

    def test_a_comparison_over_a_network(self):
        provider = network_provider()
        if provider is None:
            self.skipTest("libfabric has neither net nor tcp here")
        got = self.figures("compare", "--quick", *TINY, "--claims", "net_latency,net_rate")
        self.assertEqual({(each["claim"], each["what"], each["bytes"], each["window"], each["unit"]) for each in got},
                         {("net_latency", what, 8, 1, "ns") for what in ("am", "sendrecv")} |
                         {("net_rate", what, 8, 64, "msg/s") for what in ("am", "sendrecv")})
        for each in got:
            self.assertEqual((each["provider"], each["mode"], each["limit"]), (provider, "processes", None))
            self.assertEqual(each["path"], "libfabric")
            if each["claim"] == "net_latency":
                self.assertLessEqual(set(each["peers"]), {"libfabric"})
            else:
                self.assertFalse(set(each["peers"]) & {"libfabric", "UCX"})
        self.check_peers(got)

    def test_a_comparison_without_a_network_says_so(self):
        for allowed in ("shm", "nobody"):  # of libfabric's providers: neither is a network
            result = run("compare", "--quick", *TINY, "--claims", "net_latency,net_rate", "--json", FI_PROVIDER=allowed)
            self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
            self.assertIn("nothing is measured over a network: ", result.stderr)

    def test_a_whole_comparison_tells_dedicated_devices_from_a_shared_one(self):
        with tempfile.TemporaryDirectory() as nothing:  # no peer is found there, as they take their time
            got = self.figures("compare", *TINY, "--claims", "mt_latency,mt_rate", PATH=nothing)
        self.assertEqual({(each["claim"], each["mode"], each.get("what"), each["threads"], each["window"])
                          for each in got},
                         {(claim, mode, what, threads, window)
                          for claim, window in (("mt_latency", 1), ("mt_rate", 1), ("mt_rate", 32))
                          for mode, what in (("threads-dedicated", None), ("threads-shared", "shared"))
                          for threads in (2, 4, 8, 16)})
        for each in got:
            self.assertEqual((each["peers"], each["ratio"]), ({}, None))
            self.assertLessEqual({"MPICH", "Open MPI", "UCX", "libfabric"}, set(each["absent"]))

    def check_peers(self, figures):
        for each in figures:
            self.assertEqual(each["ratio"] is None, each["best_peer"] is None)
            if each["best_peer"]:
                self.assertEqual(each["peer"], each["peers"][each["best_peer"]])
                mine, theirs = each["weft"]["median"], each["peer"]["median"]
                ratio = theirs / mine if each["unit"] == "ns" else mine / theirs
                self.assertAlmostEqual(each["ratio"] / ratio, 1, places=2)
            self.assertFalse(set(each["peers"]) & set(each.get("absent", [])))

    def test_lines_are_drawn(self):
        if not any(subprocess.run([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL).returncode == 0
                   for python in (sys.executable, "/usr/bin/python3") if os.access(python, os.X_OK)):
            self.skipTest("no matplotlib (scripts/setup --peers installs it)")
        drawer = sys.executable
        lines = run("rate", *TINY, "--json", ranks=2).stdout + resources()
        untold = (run("hooks", *TINY[:2], "--duration", "0.02", "--json").stdout +
                  run("attentiveness", *TINY, "--threads", "2", "--json", ranks=2).stdout +
                  run("fibers", *TINY, "--fibers", "1,100", "--writes", "3", "--json", ranks=2).stdout)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "lines.json")
            file.write_text(lines)
            result = subprocess.run([drawer, "-B", SOURCE / "tools/plot.py", file, "--output", folder], text=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertEqual({path.name for path in Path(folder).glob("*.svg")}, {"rate.svg", "resources.svg"})
            file.write_text(untold)
            result = subprocess.run([drawer, "-B", SOURCE / "tools/plot.py", file, "--output", f"{folder}/untold"],
                                    text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
            self.assertEqual(result.returncode, 0, result.stdout)
            self.assertEqual({path.name for path in Path(folder, "untold").glob("*.svg")},
                             {"attentiveness.svg", "fibers.svg", "hooks.svg"})
            file.write_text("{}\n")
            result = subprocess.run([drawer, "-B", SOURCE / "tools/plot.py", file], text=True, timeout=600,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(result.returncode, 1)
            self.assertIn("lines.json:1: no line of weft-perf", result.stdout)


class Tables(unittest.TestCase):
    def test_a_table_for_people(self):
        result = run("latency", *TINY, ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        heading, *rows = result.stdout.splitlines()
        self.assertRegex(heading, r"claim\s+size\s+threads\s+window\s+label\s+median")
        for row in rows:
            self.assertRegex(row, r"^(am|sendrecv)_latency\s+8 B\s+1\s+1\s+(fast|slow|far|any)\s+[\d.e+]+ \w+")

    def test_what_makes_no_sense_is_refused(self):
        for arguments in (["--bogus"], [], ["latency", "--sizes", "0"], ["latency", "--sizes", "8kb"],
                          ["rate", "--threads", "4"], ["rate", "--stream", "--operation", "sendrecv"],
                          ["bandwidth", "--layout", "8"], ["bandwidth", "--layout", "16:8"], ["bandwidth", "--layout", "0:8"],
                          ["latency", "--layout", "8:16", "--operation", "am"], ["latency", "--by-loops"],
                          ["bandwidth", "--layout", "8:16", "--pieces", "8"], ["latency", "--layout-at", "sender"],
                          ["latency", "--layout", "8:16", "--layout-at", "left"], ["rate", "--layout", "8:16"],
                          ["points", "latency:8:1:1:10:sendrecv:processes:weft:blocks-8-16-left-layout"],
                          ["points", "latency:8:1:1:10:sendrecv:processes:weft:blocks-8"],
                          ["latency", "--mode", "both"], ["latency", "--duration", "nan"], ["latency", "--rounds", " 2"],
                          ["latency", "--rounds", "0x2"], ["attentiveness", "--task-us", "nan"], ["compare", "--mpi", "nonsense", "--claims", "am_rate"], ["points", "walk:8:1:1:10:am:processes:weft"]):
            self.assertEqual(run(*arguments, ranks=2).returncode, 2, arguments)
        alone = run("latency")
        self.assertEqual(alone.returncode, 2)
        self.assertIn("weft-run -n 2 weft-perf latency", alone.stderr)
        self.assertRegex(run("--version").stdout, r"\Aweft-perf \d+\.\d+\.\d+\n\Z")

    def test_help_names_the_values_of_options(self):
        for subcommand in ("latency", "rate", "bandwidth", "put", "attentiveness", "compare"):
            result = run(subcommand, "--help")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(all(each.isprintable() for each in result.stdout.splitlines()), result.stdout)
            if subcommand != "attentiveness":
                self.assertIn("--pin TEXT:{core,none}", result.stdout)
        self.assertIn("'both' is none of processes, threads-dedicated, threads-shared",
                      run("latency", "--mode", "both").stderr)
        self.assertIn("'most' is none of adaptive, all, local, random",
                      run("attentiveness", "--policies", "local,most").stderr)

    def test_points_are_measured_one_round_each(self):
        result = run("points", "latency:8:1:1:2:am:processes:ordinary", "rate:8:1:32:2:sendrecv:processes:ordinary",
                     ranks=2)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual([line.split()[:2] for line in lines], [["sample", "0"], ["sample", "1"]])
        for line in lines:
            self.assertTrue(re.fullmatch(r"sample \d+( [\d.e+-]+){4}( limit=[\d.e+-]+)? cell=1", line), line)


if __name__ == "__main__":
    unittest.main()

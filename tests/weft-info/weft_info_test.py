# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-info src/base/config.cpp src/coll
"""weft-info: every variable, what is found here, which way a message goes; and what the library refuses."""

import os
import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))


def run(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "PMI"))}
    return subprocess.run([BUILD / "bin/weft-info", *arguments], env=dict(environment, **variables), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)


def explain(*of, ranks=2, **variables):
    """What rank 0 of a job says, line by line."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "PMI"))}
    command = [BUILD / "bin/weft-run", "-n", str(ranks), BUILD / "bin/weft-info", "--explain", *map(str, of)]
    return subprocess.run(command, env=dict(environment, **variables), text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)


class WeftInfo(unittest.TestCase):
    def test_every_variable_of_the_table_is_listed_with_its_default(self):
        result = run("--config")
        self.assertEqual(result.returncode, 0, result.stderr)
        table = set(re.findall(r'"(WEFT_[A-Z_]+)"', (SOURCE / "src/base/config.cpp").read_text())) - {"WEFT_"}
        listed = re.findall(r"(?m)^(WEFT_\w+)  \((\w+); default (\S+); here (\S+)\)$", result.stdout)
        self.assertEqual({entry[0] for entry in listed}, table)
        self.assertIn(("WEFT_PACKET_BYTES", "bytes", "8192", "8192"), listed)

    def test_values_of_the_environment_are_shown(self):
        self.assertIn("default 8192; here 16384", run("--config", WEFT_PACKET_BYTES="16KiB").stdout)

    def test_what_the_library_refuses_is_refused(self):
        result = run("--config", WEFT_PAKET_COUNT="1")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("did you mean WEFT_PACKET_COUNT?", result.stderr)
        self.assertEqual(run("--bogus").returncode, 2)
        for arguments in ((), ("--config",), ("--explain", "0", "8")):
            for name, value in (("WEFT_TRANSPORT", "ib"), ("WEFT_TRANSPORT", "shm,"), ("WEFT_PACKET_BYTES", "3")):
                result = run(*arguments, **{name: value})
                self.assertEqual((result.returncode, result.stdout), (2, ""), (arguments, value))
                self.assertRegex(result.stderr, rf"\Aweft-info: [^\n]*{name}='{value}'[^\n]*\n\Z")

    def test_without_options_it_tells_what_is_here(self):
        result = run()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"\Aweft-info \d+\.\d+\.\d+\ntransports: self shm")
        self.assertIn("WEFT_TRANSPORT=shm,ofi\n", result.stdout)
        cores = int(re.search(r"topology: .* (\d+) cores?,", result.stdout).group(1))
        self.assertTrue(1 <= cores <= os.cpu_count())
        self.assertEqual(run("--version").stdout, result.stdout.splitlines()[0] + "\n")


class Explain(unittest.TestCase):
    def way(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()[1].split(":")[0]

    def test_the_way_changes_at_each_threshold(self):
        for size, way in ((0, "inline"), (40, "inline"), (41, "packet"), (8192, "packet"), (8193, "rendezvous by copy")):
            self.assertEqual(self.way(explain(1, size)), way, size)
        self.assertEqual(self.way(explain(1, "8KiB", WEFT_PACKET_BYTES="4KiB")), "rendezvous by copy")
        self.assertEqual(self.way(explain(1, "1MiB", WEFT_SHM_CMA="off")), "rendezvous by packets")

    def test_it_says_why_not_another_way(self):
        text = explain(1, "1MiB", WEFT_SHM_CMA="off").stdout
        self.assertIn("1048576 bytes from rank 0 to rank 1\n", text)
        self.assertIn("not inline: a cell holds at most 40 bytes\n", text)
        self.assertIn("not packet: a packet holds 8192 bytes (WEFT_PACKET_BYTES)\n", text)
        self.assertIn("not rendezvous by copy: no direct copies: WEFT_SHM_CMA=off", text)

    def test_it_says_how_long_messages_travel_and_which_setting_says_so(self):
        self.assertIn("copied by both: so are messages of more than 32 KiB", explain(1, "1MiB").stdout)
        text = explain(1, "16KiB").stdout
        self.assertIn("the receiver finds out by the first messages of 8 KiB to 16 KiB", text)
        self.assertIn("(WEFT_LONG_MESSAGES=auto)\n", text)
        for how, words in (("one_side", "copied by the receiver"), ("both", "copied by both")):
            result = explain(1, "1MiB", WEFT_LONG_MESSAGES=how)
            self.assertEqual(self.way(result), "rendezvous by copy")
            self.assertIn(f"  {words}: WEFT_LONG_MESSAGES={how}\n", result.stdout)
        result = explain(1, "1MiB", WEFT_LONG_MESSAGES="packets")
        self.assertEqual(self.way(result), "rendezvous by packets")
        self.assertIn("not rendezvous by copy: the receiver of these messages chooses packets\n", result.stdout)
        self.assertIn("  in packets: WEFT_LONG_MESSAGES=packets\n", result.stdout)
        self.assertNotIn("WEFT_LONG_MESSAGES", explain(1, 8192).stdout)

    def test_it_names_the_transport_and_why_no_other(self):
        text = explain(1, 8).stdout
        self.assertIn("transport shm (WEFT_TRANSPORT=", text)
        self.assertIn("not self: it doesn't reach rank 1\n", text)
        self.assertIn("transport self (", explain(0, 8).stdout)
        alone = explain(0, 8, ranks=1).stdout
        self.assertIn("not shm: not opened, as there is no other rank\n", alone)
        for name in ("ofi", "sim:ofi") if "  ofi: " in run().stdout else ():
            text = explain(1, 8, WEFT_TRANSPORT=name, WEFT_SIM_SEED="1").stdout
            self.assertIn(f"transport {name} (", text)
            self.assertNotIn(f"not {name}", text)
        simulated = explain(1, 8, WEFT_TRANSPORT="sim:shm", WEFT_SIM_SEED="1")
        self.assertIn("transport sim:shm (WEFT_TRANSPORT=sim:shm)\n", simulated.stdout)

    def test_what_makes_no_sense_is_refused(self):
        self.assertIn("there is no rank 7; the job has ranks 0 to 1", explain(7, 8).stderr)
        for size in ("-1", "x", "8kb", "99999999999999999999", "99999999999GiB"):
            self.assertEqual(run("--explain", "0", size).returncode, 2, size)
        self.assertEqual(run("--explain", "0").returncode, 2)
        self.assertEqual(run("--explain", "0", "8", "--ranks", "2").returncode, 2)
        self.assertEqual(run("--ranks", "2").returncode, 2)


class ExplainCollective(unittest.TestCase):
    def lines(self, *of, ranks=4, **variables):
        result = explain(*of, ranks=ranks, **variables)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.splitlines()

    def test_it_says_which_algorithm_is_taken_why_and_what_it_costs(self):
        lines = self.lines("allreduce", 8, WEFT_COLL="allreduce:ring")
        self.assertEqual(lines[:3], ["allreduce of 8 bytes among 4 members", "algorithm ring: WEFT_COLL names it",
                                     # One element alone is no part for each rank: most messages are empty.
                                     "6 rounds, 24 messages, 48 bytes; a rank sends 16 bytes at most"])
        lines = self.lines("allreduce", "64KiB", WEFT_COLL="allreduce:recursive-doubling")
        self.assertEqual(lines[2], "2 rounds, 8 messages, 524288 bytes; a rank sends 131072 bytes at most")
        lines = self.lines("allreduce", 8)
        self.assertRegex(lines[1], r"^algorithm [\w-]+: the rule for ")
        self.assertEqual(lines[2], "  without a graph where a thread waits for it")
        self.assertNotIn("  without a graph where a thread waits for it", self.lines("allreduce", 48))

    def test_one_of_a_kind_is_in_the_singular(self):
        lines = self.lines("broadcast", 1, ranks=2, WEFT_COLL="broadcast:linear")
        self.assertEqual(lines[0], "broadcast of 1 byte among 2 members")
        self.assertIn("1 round, 1 message, 1 byte; a rank sends 1 byte at most", lines)
        self.assertIn("rank 0 and rank 1: 1 message of 1 byte", lines)
        text = explain(1, 1).stdout
        self.assertTrue(text.startswith("1 byte from rank 0 to rank 1\n"), text)
        self.assertIn("not rendezvous: 1 byte is there before it could be asked for\n", text)

    def test_it_says_how_the_messages_of_rank_0_travel(self):
        lines = self.lines("allreduce", 8, WEFT_COLL="allreduce:recursive-doubling")
        at = lines.index("rank 0 and ranks 1, 2: 4 messages of 8 bytes")
        self.assertTrue(lines[at + 1].startswith("  inline:"), lines)
        self.assertTrue(any(line.startswith("  transport shm (WEFT_TRANSPORT=") for line in lines[at:]), lines)
        lines = self.lines("broadcast", "1MiB", ranks=2, WEFT_COLL="broadcast:binomial", WEFT_SHM_CMA="off")
        at = lines.index("rank 0 and rank 1: 1 message of 1048576 bytes")
        self.assertTrue(lines[at + 1].startswith("  rendezvous by packets:"), lines)

    def test_ranks_that_the_job_does_not_have_can_be_asked_about(self):
        lines = self.lines("alltoall", 100, "--ranks", 16, WEFT_COLL="alltoall:linear")
        self.assertEqual(lines[0], "alltoall of 100 bytes among 16 members")
        self.assertEqual(lines[2], "15 rounds, 240 messages, 24000 bytes; a rank sends 1500 bytes at most")
        self.assertIn("rank 0 and ranks 1, 2, 3: 6 messages of 100 bytes", lines)
        self.assertIn("rank 0 and ranks that this job does not have: 24 messages", lines)
        alone = run("--explain", "barrier", "--ranks", "1024", WEFT_COLL="barrier:dissemination")
        self.assertIn("10 rounds, 10240 messages, 0 bytes", alone.stdout)

    def test_every_operation_can_be_asked_about(self):
        for operation in ("barrier", "broadcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall",
                          "reduce_scatter", "scan", "exscan"):
            result = run("--explain", operation, "0", "--ranks", "5")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stdout, rf"^{operation} (of 0 bytes )?among 5 members\nalgorithm ")

    def test_what_makes_no_sense_is_refused(self):
        for wrong, words in ((("alreduce", "8"), "'alreduce' is no rank and no operation; operations and their"),
                             (("broadcast",), "broadcast needs a SIZE"),
                             (("broadcast", "8", "--ranks", "0"), "for 1 to 1024 ranks, and not for 0"),
                             (("broadcast", "8", "--ranks", "1025"), "for 1 to 1024 ranks, and not for 1025"),
                             (("broadcast", "9999999999GiB"), "bytes are too many to be counted")):
            result = run("--explain", *wrong)
            self.assertEqual(result.returncode, 2, wrong)
            self.assertIn(words, result.stderr)


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: examples README.md docs/first-steps.md
"""The examples print what they promise, on several numbers of ranks, and the README's commands what the README says."""

import os
import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_RUN = BUILD / "bin/weft-run"
RUN_TIMEOUT_S = 300  # for what hangs; sanitizers and a busy machine make all of them slow
# What ctest's example.* run on two ranks is enough for sanitizers; here it is results that count.
CACHE = BUILD / "CMakeCache.txt"
SANITIZED = CACHE.exists() and re.search(r"^WEFT_SANITIZE:STRING=.", CACHE.read_text(), re.MULTILINE)
# Of a simulated network, which would find an order, or room for a post, that an example takes for granted.
SEEDS = (1, 2) if SANITIZED else (1, 2, 3, 4, 5)
SIZES = (1, 2) if SANITIZED else (1, 2, 3, 5)


def run(*command, **options):
    # What is printed is compared: a machine with far too much work is no standstill to be reported.
    options["env"] = {**options.get("env", os.environ), "WEFT_STUCK_AFTER": "0"}
    return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=RUN_TIMEOUT_S, **options)


def previous(rank, size):
    return (rank + size - 1) % size


def calls_to(rank, size):
    """How many calls of rpc come to a rank: 4 threads of each rank make 500, to the ranks in turn."""
    return 4 * size * len(range(rank, 500, size))


def served_by(rank, size):
    """How many requests come to a server of `servers`: each client sends 100, to the servers in turn."""
    servers = (size + 1) // 2
    return sum((client - 1 + 2 * i) % (2 * servers) == rank for client in range(1, size, 2) for i in range(100))


def stays_or_leaves(rank, size):
    stay = max(size - 1, 1)
    if rank == size - 1 and size > 1:
        return f"rank {rank}: leaves early"
    return f"rank {rank}: is one of {stay} that stayed, the sum is {stay * (stay + 1) // 2}"


# What a rank prints, as a regular expression. Those of `PAIRS` take two ranks and no others.
PAIRS = {
    "coroutine_ping_pong": lambda rank, size: f"rank {rank}: 100 coroutines played 20 rounds",
    "ping_pong": lambda rank, size: rf"rank {rank} thread 0: [\d.]+ us a round trip\n"
                                    rf"rank {rank} thread 1: [\d.]+ us a round trip",
}
RINGS = {
    "batch": lambda rank, size: f"rank {rank}: 10 steps right",
    "collectives": lambda rank, size: f"rank {rank}: the parts are right, the sum is {size * size / 2:g}",
    "device_memory": lambda rank, size: f"rank {rank}: the bytes of rank {previous(rank, size)} came whole; "
                                        "a buffer that does not name its memory is refused",
    "device_threads": lambda rank, size: f"rank {rank}: 400 messages came",
    "distributed_array": lambda rank, size: f"rank {rank}: read 1000 squares, 0 of them wrong",
    "event_loop": lambda rank, size: f"rank {rank}: 6 messages came around the ring",
    "fiber_pieces": lambda rank, size: f"rank {rank}: the words of rank {(rank + 1) % size} add up, rightly",
    "fiber_ring": lambda rank, size: f"rank {rank}: 500 tokens came around",
    "graph_barrier": lambda rank, size: f"rank {rank}: 10 barriers passed, (some work done|no work) meanwhile",
    "graph_search": lambda rank, size: f"rank {rank}: {len(range(rank, 5000, size))} vertices reached, 0 of them wrong",
    "hello": lambda rank, size: f"rank {rank} of {size}: 'hello from rank {previous(rank, size)}'",
    "histogram": lambda rank, size: f"rank {rank}: all bins are right",
    "hook_allreduce": lambda rank, size: f"rank {rank}: the largest is {(size - 1) * 10}",
    "large_message": lambda rank, size: f"rank {rank}: 16777216 bytes from rank {previous(rank, size)}, all of them right",
    "leave_early": stays_or_leaves,
    "mailbox": lambda rank, size: rf"rank {rank}: 1000 letters came; \d+ posts were answered with retry",
    "matrix_columns": lambda rank, size: f"rank {rank}: 32 columns came from rank {previous(rank, size)}, 0 numbers wrong",
    "put_signal": lambda rank, size: f"rank {rank}: 50 blocks came from rank {previous(rank, size)}, 0 words wrong",
    "ring": lambda rank, size: f"after 3 laps of {size} ranks: {3 * size}" if rank == 0 else "",
    "rpc": lambda rank, size: f"rank {rank}: 2000 calls were answered, {calls_to(rank, size)} came here",
    "send_receive": lambda rank, size: f"rank {rank}: 40 rows from its neighbour",
    "servers": lambda rank, size: f"rank {rank}: has " + ("100 answers" if rank % 2 else
                                                           f"served {served_by(rank, size)} requests"),
    "stopped_pipeline": lambda rank, size: f"rank {rank}: stopped, and 0 messages are left over",
    "several_runtimes": lambda rank, size: f"rank {rank}: hello from rank {previous(rank, size)}; "
                                           f"the ranks add up to {size * (size + 1) // 2}",
    "stencil": lambda rank, size: f"rank {rank}: 200 steps, all right",
    "work_until_none": lambda rank, size: rf"rank {rank}: has done {'8191' if size == 1 else r'[0-9]+'} nodes",
}


@unittest.skipUnless(WEFT_RUN.exists() and (BUILD / "examples/hello").exists(), "weft-run or the examples are not built")
class Examples(unittest.TestCase):
    def check(self, name, lines_of, size, *options):
        with self.subTest(example=name, ranks=size, options=options):
            result = run(WEFT_RUN, "-n", size, *options, BUILD / "examples" / name)
            self.assertEqual(result.returncode, 0, result.stdout)
            expected = "\n".join(filter(None, (lines_of(rank, size) for rank in range(size))))
            found = "\n".join(sorted(line for line in result.stdout.splitlines() if not line.startswith("weft-run: ")))
            self.assertIsNotNone(re.fullmatch(expected, found), f"{found}\nin place of\n{expected}")

    def test_none_is_forgotten(self):
        self.assertEqual(sorted([*PAIRS, *RINGS]), sorted(path.stem for path in (SOURCE / "examples").glob("*.cpp")))

    def test_each_prints_the_right_result_on_any_number_of_ranks(self):
        for name, lines_of in RINGS.items():
            for size in SIZES:
                self.check(name, lines_of, size)
        for name, lines_of in PAIRS.items():
            self.check(name, lines_of, 2)

    def test_each_is_right_over_a_simulated_network(self):
        for name, lines_of in (RINGS | PAIRS).items():
            for seed in SEEDS[:3]:
                self.check(name, lines_of, 2, f"--sim={seed}")

    def test_calls_are_answered_once_over_a_simulated_network(self):
        for seed in SEEDS:
            with self.subTest(seed=seed):
                network = {"WEFT_TRANSPORT": "sim:self,sim:shm", "WEFT_SIM_SEED": str(seed), "WEFT_SIM_REFUSE_PERCENT": "40"}
                result = run(WEFT_RUN, "-n", 2, BUILD / "examples/rpc", env={**os.environ, **network})
                self.assertEqual(result.returncode, 0, result.stdout)

    def test_an_example_for_two_ranks_says_so_on_others(self):
        for name in PAIRS:
            result = run(BUILD / "examples" / name)
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"{name}: start it on two ranks", result.stdout)

    def test_each_recipe_has_a_program_and_each_end_of_work_a_recipe(self):
        page = (SOURCE / "docs/cookbook.md").read_text()
        for recipe in re.split("^## ", page, flags=re.MULTILINE)[1:]:
            programs = re.findall(r"\]\(\.\./examples/(\w+)\.cpp\)", recipe)
            self.assertTrue(programs, recipe)
            self.assertLessEqual(set(programs), {*PAIRS, *RINGS}, recipe)
        for name in "leave_early", "servers", "device_threads", "work_until_none", "stopped_pipeline":
            self.assertIn(f"../examples/{name}.cpp", page)

    def test_the_readme_shows_what_its_program_prints(self):
        blocks = re.findall(r"^```sh\n(build/bin/weft-run [^\n]*build/examples[^\n]*)\n```\n\n```\n(.*?)^```",
                            (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
        self.assertTrue(blocks)
        for command, lines in blocks:
            result = run(*command.replace("build/", f"{BUILD}/").split())
            self.assertEqual(sorted(result.stdout.splitlines()), sorted(lines.splitlines()), command)


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# subject: tests/fuzz src/boot src/net/shm src/net/ofi src/core/protocol apps/kmer
# stages: release asan
"""Runs the fuzz targets for some seconds each. Those of a compiler without libFuzzer run the kept inputs, and a number
of others made from them: without a sanitizer under the C library's own checks of its allocator.

fuzz_test.py                                               as the tests do
fuzz_test.py --target core_messages --seconds 600 --keep   by hand; keeps a small set of what reaches the same code
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build-asan"))
HERE = SOURCE / "tests/fuzz"
WORK = BUILD / "tests/fuzz"
TARGETS = sorted(path.stem for path in HERE.glob("*.cpp") if path.stem != "replay")
KEPT_MAX = 100  # inputs of a target
FUZZED_SECONDS = 20  # of all targets together
# Inputs made from kept ones where there is no fuzzer: a second's worth. Those that make a runtime or a job are slow.
MUTATIONS = {"core_messages": 1000, "shm_segment": 300, "shm_handshake": 3000, "kmer_bgzip": 2000, "kmer_fastx": 3000}
MUTATIONS_OTHERWISE = 20000
SEED = 1
CACHE = BUILD / "CMakeCache.txt"
SANITIZED = bool(CACHE.exists() and re.search(r"^WEFT_SANITIZE:\w+=.+$", CACHE.read_text(), re.MULTILINE))
MALLOC_CHECKS = "libc_malloc_debug.so.0"  # glibc's, which looks at the bytes behind each block that is freed


def corpus(target):
    """The kept inputs: one a line, in hexadecimal digits, so that they read and merge like any text. Those that were
    written by hand, to reach what is refused today, stay whatever a fuzzer finds."""
    files = [HERE / f"corpus/{target}.txt", HERE / f"corpus/{target}-by-hand.txt"]
    return [bytes.fromhex(line) for file in files if file.exists() for line in file.read_text().split()]


def unpacked(target):
    folder = WORK / f"{target}-kept"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, content in enumerate(corpus(target)):
        (folder / f"{number:03}").write_bytes(content)
    return folder


def is_fuzzer(target):
    done = subprocess.run([WORK / target, "-help=1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=300, check=False)
    return b"libFuzzer" in done.stdout or b"max_total_time" in done.stdout


def watched():
    """The environment of a target without a sanitizer: memory is neither zero nor what it was, and a block that was
    written beyond ends the process when it is freed."""
    if SANITIZED:
        return os.environ
    return os.environ | {"LD_PRELOAD": MALLOC_CHECKS,
                         "GLIBC_TUNABLES": "glibc.malloc.check=3:glibc.malloc.perturb=165"}


def has_malloc_checks():
    done = subprocess.run(["/bin/true"], env=watched(), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    return done.returncode == 0 and not done.stderr


def call(command, seconds, environment):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", timeout=seconds + 600, env=environment, check=False)
    return done.returncode, done.stdout


def run(target, seconds=FUZZED_SECONDS / len(TARGETS), mutations=None, seed=SEED):
    """Exit status and output; what is found stays in the build folder."""
    if is_fuzzer(target):
        found = WORK / f"{target}-found"
        found.mkdir(parents=True, exist_ok=True)
        return call([WORK / target, f"-max_total_time={max(round(seconds), 2)}", "-timeout=120", "-rss_limit_mb=4096",
                     "-max_len=512", "-verbosity=1", f"-artifact_prefix={WORK}/", found, unpacked(target)],
                    seconds, os.environ)
    count = MUTATIONS.get(target, MUTATIONS_OTHERWISE) // (5 if SANITIZED else 1) if mutations is None else mutations
    return call([WORK / target, "--mutations", str(count), "--seed", str(seed), unpacked(target)], seconds, watched())


def keep(target):
    """Makes the corpus of what was found: few inputs that together reach what is reached."""
    merged = WORK / f"{target}-merged"
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir()
    subprocess.run([WORK / target, "-set_cover_merge=1", "-max_len=200", merged, WORK / f"{target}-found",
                    unpacked(target)], stdin=subprocess.DEVNULL, check=True, timeout=3000)
    write_corpus(target, merged)


def write_corpus(target, folder):
    """The inputs in `folder`, or where they are many a share of them, of all lengths."""
    lines = sorted({path.read_bytes().hex() for path in folder.iterdir()} - {""}, key=lambda line: (len(line), line))
    step = max(1, -(-len(lines) // KEPT_MAX))
    (HERE / f"corpus/{target}.txt").write_text("".join(f"{line}\n" for line in lines[::step]))


class Fuzz(unittest.TestCase):
    def test_no_input_of_any_target_does_harm(self):
        # The parsers of weft-kmer, where there is none: all the others have to be there.
        built = [each for each in TARGETS if not each.startswith("kmer_") or (WORK / each).exists()]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for target, (status, output) in zip(built, pool.map(run, built)):
                with self.subTest(target=target):
                    self.assertEqual(status, 0, output[-6000:])
        if built != TARGETS:
            self.skipTest(f"weft-kmer is not built here, so these did not run: {set(TARGETS) - set(built)}")

    def test_a_byte_that_is_written_behind_a_block_of_memory_ends_a_target(self):
        if is_fuzzer("settings"):
            self.skipTest("libFuzzer runs with a sanitizer, which is its maker's to test")
        if not SANITIZED and not has_malloc_checks():
            self.skipTest(f"this C library has no {MALLOC_CHECKS}")
        status, output = call([WORK / "settings", "--overflow", unpacked("settings")], 60, watched())
        self.assertNotEqual(status, 0, output)

    def test_each_target_has_inputs_that_are_kept(self):
        for target in TARGETS:
            self.assertGreaterEqual(len(corpus(target)), 5, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60, help="of a fuzzer")
    parser.add_argument("--mutations", type=int, help="made from kept inputs, where there is no fuzzer")
    parser.add_argument("--seed", type=int, default=SEED, help="of those")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="say which tests run")
    options = parser.parse_args()
    if options.target is None:
        unittest.main()
    status, output = run(options.target, options.seconds, options.mutations, options.seed)
    print(output)
    if status == 0 and options.keep:
        keep(options.target)
    sys.exit(status)


if __name__ == "__main__":
    main()

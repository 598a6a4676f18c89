#!/usr/bin/env python3
"""Runs the fuzz targets for some seconds each; those of a compiler without libFuzzer only run the kept inputs.

fuzz_test.py                                               as the tests do
fuzz_test.py --target core_messages --seconds 600 --keep   by hand; keeps a small set of what reaches the same code
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build-clang"))
HERE = SOURCE / "tests/fuzz"
WORK = BUILD / "tests/fuzz"
TARGETS = sorted(path.stem for path in HERE.glob("*.cpp") if path.stem != "replay")
KEPT_MAX = 100  # inputs of a target


def corpus(target):
    """The kept inputs: one a line, in hexadecimal digits, so that they read and merge like any text."""
    return [bytes.fromhex(line) for line in (HERE / f"corpus/{target}.txt").read_text().split()]


def unpacked(target):
    folder = WORK / f"{target}-kept"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, content in enumerate(corpus(target)):
        (folder / f"{number:03}").write_bytes(content)
    return folder


def is_fuzzer(target):
    done = subprocess.run([WORK / target, "-help=1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=60, check=False)
    return b"libFuzzer" in done.stdout or b"max_total_time" in done.stdout


def run(target, seconds):
    """Exit status and output; what is found stays in the build folder."""
    found = WORK / f"{target}-found"
    found.mkdir(parents=True, exist_ok=True)
    command = [WORK / target]
    if is_fuzzer(target):
        command += [f"-max_total_time={seconds}", "-timeout=120", "-rss_limit_mb=4096", "-max_len=512",
                    "-verbosity=1", f"-artifact_prefix={WORK}/", found]
    command.append(unpacked(target))
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", timeout=seconds + 600, check=False)
    return done.returncode, done.stdout


def keep(target):
    """Makes the corpus of what was found: few inputs that together reach what is reached."""
    merged = WORK / f"{target}-merged"
    shutil.rmtree(merged, ignore_errors=True)
    merged.mkdir()
    subprocess.run([WORK / target, "-set_cover_merge=1", "-max_len=200", merged, WORK / f"{target}-found",
                    unpacked(target)], stdin=subprocess.DEVNULL, check=True, timeout=600)
    write_corpus(target, merged)


def write_corpus(target, folder):
    """The inputs in `folder`, or where they are many a share of them, of all lengths."""
    lines = sorted({path.read_bytes().hex() for path in folder.iterdir()} - {""}, key=lambda line: (len(line), line))
    step = max(1, -(-len(lines) // KEPT_MAX))
    (HERE / f"corpus/{target}.txt").write_text("".join(f"{line}\n" for line in lines[::step]))


class Fuzz(unittest.TestCase):
    def test_no_input_of_any_target_does_harm(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for target, (status, output) in zip(TARGETS, pool.map(lambda each: run(each, 5), TARGETS)):
                with self.subTest(target=target):
                    self.assertEqual(status, 0, output[-6000:])

    def test_each_target_has_inputs_that_are_kept(self):
        for target in TARGETS:
            self.assertGreaterEqual(len(corpus(target)), 5, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if options.target is None:
        unittest.main()
    status, output = run(options.target, options.seconds)
    print(output)
    if status == 0 and options.keep:
        keep(options.target)
    sys.exit(status)


if __name__ == "__main__":
    main()

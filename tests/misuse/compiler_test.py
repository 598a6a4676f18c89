# SPDX-License-Identifier: BSD-3-Clause
# subject: include
"""What the compiler refuses, and the words that it says; beside each, what is right and compiles (wrong_calls.py).

By the compiler of the build, and by the other one of GCC and Clang where it is installed. The headers are compiled once.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from wrong_calls import FUNCTION, OLD, PRELUDE, REFUSED, RIGHT

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
COMPILER = os.environ.get("TEST_CXX", "c++")
OTHERS = ("g++", "clang++", "clang++-14")
FLAGS = ["-std=c++20", "-Wall", "-Wextra", "-Wno-unused", "-Wno-unused-parameter", "-Wno-unused-result",
         "-I", SOURCE / "include"]
LIMIT = 600  # seconds for anything; never reached where all is well


def is_clang(compiler):
    version = subprocess.run([compiler, "--version"], stdout=subprocess.PIPE, text=True, timeout=LIMIT, check=True)
    return "clang" in version.stdout


def find_compiler(clang):
    for name in (COMPILER, *OTHERS):
        if shutil.which(name) and is_clang(name) == clang:
            return name
    return None


class Refusals:
    CLANG = False
    FIRST_LINES = 0  # of what the compiler says: there stands what to write
    LINES_MAX = 0  # of all that it says

    @classmethod
    def setUpClass(cls):
        cls.compiler = find_compiler(cls.CLANG)
        if cls.compiler is None:
            raise unittest.SkipTest("this compiler is not installed")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.prelude = Path(folder.name) / "prelude.hpp"
        cls.prelude.write_text(PRELUDE)
        made = subprocess.run([cls.compiler, *FLAGS, "-x", "c++-header", cls.prelude, "-o",
                               f"{cls.prelude}.{'pch' if cls.CLANG else 'gch'}"], timeout=LIMIT)
        if made.returncode != 0:
            raise AssertionError(f"{cls.compiler} does not compile the headers")

    def compile_one(self, lines, is_whole=False):
        # Whole: GCC forgets which warnings a header turns off, where the header was compiled before.
        known = [] if is_whole else ["-include", self.prelude]
        return subprocess.run([self.compiler, *FLAGS, "-fsyntax-only", *known, "-x", "c++", "-"],
                              input=f"{PRELUDE if is_whole else ''}{FUNCTION}{lines}\n}}\n", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT)

    def test_what_is_wrong_is_refused_with_words(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for line, answer in zip(REFUSED, pool.map(self.compile_one, REFUSED)):
                with self.subTest(line):
                    self.assertNotEqual(answer.returncode, 0)
                    said = answer.stdout.splitlines()
                    found = [number for number, each in enumerate(said, 1) if re.search(REFUSED[line], each)]
                    self.assertTrue(found and found[0] <= self.FIRST_LINES, answer.stdout)
                    self.assertLessEqual(len(said), self.LINES_MAX, answer.stdout)

    def test_what_is_right_compiles(self):
        answer = self.compile_one(RIGHT, is_whole=True)
        self.assertEqual(answer.returncode, 0, answer.stdout)
        self.assertNotIn("deprecated", answer.stdout)

    def test_old_names_compile_and_name_the_new_ones(self):
        first = "progress_thread poller{dev};\ngroup all = dev.runtime().world();\n"
        answer = self.compile_one(first + "\n".join(OLD), is_whole=True)
        self.assertEqual(answer.returncode, 0, answer.stdout)
        for line, words in OLD.items():
            with self.subTest(line):
                self.assertTrue(re.search(words, answer.stdout), answer.stdout)
        self.assertGreaterEqual(answer.stdout.count("use device()"), 4)


class Gcc(Refusals, unittest.TestCase):
    FIRST_LINES = 10
    LINES_MAX = 16


class Clang(Refusals, unittest.TestCase):
    CLANG = True
    FIRST_LINES = 10
    LINES_MAX = 40  # it lists all overloads, three lines each


if __name__ == "__main__":
    unittest.main()

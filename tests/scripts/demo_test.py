# SPDX-License-Identifier: BSD-3-Clause
# subject: scripts/demo scripts/setup tools/spectrum.py apps/kmer
# alone, as it builds what the others run
"""scripts/demo does what the README says, and the spectrum it draws is that of its histogram."""

import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))


def run(*command, **options):
    return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=900, **options)


class Spectrum(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def draw(self, text):
        histogram = self.folder / "h"
        histogram.write_text(text)
        return run(sys.executable, "-B", SOURCE / "tools/spectrum.py", histogram, "--svg", self.folder / "s.svg")

    def test_every_count_is_a_row_and_a_bar(self):
        result = self.draw("1 900\n2 10\n3 40\n4 20\n12 1\n")
        self.assertEqual(result.returncode, 0, result.stdout)
        rows = [line.split()[:2] for line in result.stdout.splitlines()[1:]]
        self.assertIn(["3", "40"], rows)
        self.assertIn(["5", "0"], rows)
        picture = xml.etree.ElementTree.parse(self.folder / "s.svg")
        bars = picture.findall(".//{http://www.w3.org/2000/svg}rect[@fill='#2a7f9e']")
        self.assertEqual(len(bars), 5)
        self.assertIn("peak at 3", (self.folder / "s.svg").read_text())

    def test_one_line_is_enough(self):
        self.assertEqual(self.draw("7 1\n").returncode, 0)

    def test_a_line_that_is_no_pair_is_named_and_nothing_is_written(self):
        result = self.draw("1 2\nthree 4\n")
        self.assertEqual(result.returncode, 1)
        self.assertIn("h:2: not `count distinct`: 'three 4'", result.stdout)
        self.assertFalse((self.folder / "s.svg").exists())

    def test_an_empty_histogram_is_an_error(self):
        self.assertEqual(self.draw("").returncode, 1)


@unittest.skipUnless(BUILD == SOURCE / "build" and (BUILD / "bin/weft-kmer").exists(),
                     "scripts/demo runs what is in build/")
class Demo(unittest.TestCase):
    def test_the_demo_finds_the_known_histogram_from_any_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run(SOURCE / "scripts/demo", cwd=folder, env=dict(os.environ, SETUP_DONE="1"))
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(result.returncode, 0, result.stdout)
        known = (SOURCE / "tests/kmer/known/unicycler_k51.histo").read_text().splitlines()
        self.assertEqual(known[0].split()[0], "1")  # the demo counts k-mers that occur more than once
        self.assertEqual((BUILD / "demo/out.histo").read_text().splitlines(), known[1:])
        self.assertIn("peak at 27", (BUILD / "demo/spectrum.svg").read_text())


if __name__ == "__main__":
    unittest.main()

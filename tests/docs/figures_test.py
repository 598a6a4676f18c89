# SPDX-License-Identifier: BSD-3-Clause
# subject: docs README.md tools/figures.py tools/threads_picture.py
"""Times and rates on pages are those of docs/figures, which are of one run (tools/figures.py, scripts/figures)."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
KEPT = SOURCE / "docs/figures"
MEASURED = [path for path in KEPT.glob("*.json") if path.stem != "coverage"]  # that one is made by scripts/coverage


def loaded(name, path):
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(name, importlib.machinery.SourceFileLoader(name, str(SOURCE / path))))
    sys.modules[name] = module
    module.__spec__.loader.exec_module(module)
    return module


figures = loaded("figures", "tools/figures.py")
script = loaded("measure_figures", "scripts/figures")


class Repository(unittest.TestCase):
    def test_every_figure_has_a_mark_and_every_mark_a_name(self):
        quotes = figures.Quotes()
        used, problems = set(), []
        for path in figures.pages():
            problems += [each for each in figures.checked(path.relative_to(SOURCE), path.read_text(), quotes, used)[1]
                         if "has no mark" in each or "quotes.txt has no" in each or "docs/decisions" in each]
        self.assertEqual(problems, [])
        self.assertEqual(set(quotes.lines) - used, set())

    def test_the_picture_is_that_of_the_file(self):
        result = subprocess.run([sys.executable, "-B", SOURCE / "tools/threads_picture.py"], text=True, timeout=600,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual((result.stdout, result.returncode), ("", 0))

    def test_pages_say_what_the_files_say(self):
        result = subprocess.run([sys.executable, "-B", SOURCE / "tools/figures.py"], text=True, timeout=600,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.returncode, 0)

    def test_the_files_are_of_one_run_of_one_commit(self):
        self.assertEqual({path.stem for path in MEASURED}, {piece.file for piece in script.PIECES})
        lines = [line for path in MEASURED for line in script.lines_of(path)]
        for field in ("commit", "flags", "host"):
            self.assertEqual(len({each[field] for each in lines}), 1, {each[field] for each in lines})
        self.assertNotIn("dirty", lines[0]["commit"])

    def test_a_ratio_is_to_the_fastest_peer(self):
        for path in MEASURED:
            for line in script.lines_of(path):
                fastest = figures.best_peer({"unit": "ns", "peers": {}, **line})
                if line.get("best_peer") is None or line["best_peer"].startswith("Weft"):
                    continue
                own, ratio = line["weft"]["median"], line["ratio"]
                self.assertEqual(line["peer"]["median"], fastest, (path.name, line))
                self.assertAlmostEqual(ratio, fastest / own if line["unit"] in ("ns", "us") else own / fastest,
                                       delta=ratio * 1e-3)

    def test_a_piece_takes_less_than_ten_minutes_and_all_of_them_less_than_half_an_hour(self):
        self.assertEqual(len({piece.name for piece in script.PIECES}), len(script.PIECES))
        self.assertLess(max(piece.minutes for piece in script.PIECES), 9)
        self.assertLess(sum(piece.minutes for piece in script.PIECES), 30)


class Script(unittest.TestCase):
    """scripts/figures, with a program that prints one line."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        before, script.BUILD = script.BUILD, self.folder
        self.addCleanup(setattr, script, "BUILD", before)
        self.options = argparse.Namespace(rounds=None, duration=None)
        self.path = self.folder / "piece.json"

    def measure(self, shell):
        program = self.folder / "bin/weft-perf"
        program.write_text(f"#!/bin/sh\n{shell}\n")
        program.chmod(0o755)
        script.measure(script.Piece("one", "limits", "limits", 3, 1), self.path, self.options, "abc1234")

    def test_a_piece_is_kept_once_it_is_whole(self):
        self.measure("""echo '{"commit": "abc1234", "host": "here", "arguments": "'$*'"}'""")
        self.assertEqual(script.lines_of(self.path)[0]["arguments"], "limits --json --rounds 3")
        self.assertTrue(script.is_of(script.lines_of(self.path), "abc1234"))
        self.assertFalse(script.is_of(script.lines_of(self.path), "def5678"))

    def test_nothing_is_kept_of_a_piece_that_failed_or_is_of_another_commit(self):
        for shell in ("""echo '{"commit": "abc1234"}'; exit 1""", """echo '{"commit": "abc1234-dirty"}'""", "true"):
            with self.assertRaises(SystemExit):
                self.measure(shell)
            self.assertFalse(self.path.exists())

    def test_pieces_of_two_hosts_are_not_put_together(self):
        paths = {piece.name: self.folder / f"{number}.json" for number, piece in enumerate(script.PIECES)}
        for path in paths.values():
            path.write_text('{"commit": "abc1234", "host": "here"}\n')
        with contextlib.redirect_stdout(io.StringIO()):
            script.keep(paths, self.folder / "kept")
        self.assertEqual(len(script.lines_of(self.folder / "kept/compare.json")),
                         sum(piece.file == "compare" for piece in script.PIECES))
        path.write_text('{"commit": "abc1234", "host": "there"}\n')
        with self.assertRaises(SystemExit):
            script.keep(paths, self.folder / "kept")


LINES = [{"claim": "plain_latency", "threads": threads, "what": "sendrecv", "label": label, "unit": "ns", "ratio": 4.0,
          "weft": {"median": median, "rounds": rounds}, "commit": "abc1234",
          "peers": {"MPICH": {"median": 900.0}, "Open MPI, bound": {"median": 700.0}, "Weft, unbound": {"median": 1.0}}}
         for threads, label, median, rounds in ((1, "near", 234.0, 9), (1, "far", 999.0, 2), (2, "far", 4812.0, 1))]
QUOTES = """# names
plain.{1,2}  compare  claim=plain_latency threads={} : weft.median us
plain.best   compare  claim=plain_latency what="sendrecv" threads=1 : best ns
ahead        compare  claim=plain_latency threads=1 : ratio inverse
commit       compare  claim=plain_latency threads=1 : commit text
far          compare  threads=1 label=far : weft.median ns
nothing      compare  claim=none : weft.median ns
both         compare  claim=plain_latency : weft.median ns
post         instructions : [messages].[active message].post count
"""


class Tool(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "compare.json").write_text("".join(json.dumps(line) + "\n" for line in LINES))
        (self.folder / "instructions.json").write_text('{"messages": {"active message": {"post": 59.4}}}')
        (self.folder / "quotes.txt").write_text(QUOTES)
        self.quotes = figures.Quotes(self.folder, self.folder / "instructions.json")

    def checked(self, text, path="docs/page.md"):
        return figures.checked(path, text, self.quotes, set())

    def test_a_mark_is_brought_up_to_date(self):
        after, problems = self.checked("Takes 0.5<!--plain.1--> us.\n")
        self.assertEqual(after, "Takes 0.23<!--plain.1--> us.\n")
        self.assertEqual(len(problems), 1)
        self.assertIn("docs/page.md:1: 0.5 is 0.23 in the file of plain.1", problems[0])
        self.assertEqual(self.checked(after), (after, []))

    def test_values(self):
        for name, value in (("plain.1", "0.23"), ("plain.2", "4.8"), ("plain.best", "700"), ("ahead", "0.25"),
                            ("commit", "abc1234"), ("far", "999"), ("post", "59")):
            self.assertEqual(self.quotes.value(name), value)
        for name in ("nothing", "both", "unknown"):
            with self.assertRaises(figures.Problem):
                self.quotes.value(name)

    def test_a_figure_without_a_mark_is_found(self):
        for text in ("It takes 5 ns.", "0.23, 0.48 and 4.6 us", "| 10 to 20 GB/s |", "2.3 M/s", "4 million messages a second",
                     "0.06 % of a core", "1.6 times", "12 instructions", "takes 5\nns", "- takes 5\n  ns", "- takes 5,\n  6 ns", "- 0.5<!--plain.1--> us; the best 3.9"):
            self.assertTrue(figures.unmarked(text + "\n"), text)
        self.assertEqual(figures.unmarked("0.23, 0.48<!--a--> and\n4.6 us\n"), [(1, "0.23"), (2, "4.6")])

    def test_what_is_no_figure_needs_no_mark(self):
        for text in ("Debian 12, g++ 12.2, 40 minutes, 8 bytes, 64 KiB, 2^20 fibers", "`--task-us 500 us`", "```\n5 ns\n```",
                     "at most 100<!--set--> ms", "2.3<!--of waiting.md--> us", "1<!--plain.1-->, 2<!--plain.2--> us",
                     "4 of 5 users", "the 3 messages"):
            self.assertEqual(figures.unmarked(text + "\n"), [], text)

    def test_a_quotation_from_a_decision_stands_there(self):
        self.assertEqual(self.checked("2.3<!--of waiting.md--> us\n")[1], [])
        self.assertEqual(len(self.checked("2.31<!--of waiting.md--> us\n")[1]), 1)
        self.assertEqual(len(self.checked("2.3<!--of nowhere.md--> us\n")[1]), 1)

    def test_only_decisions_are_history(self):
        history = "It took 5 ns.\n\nThe figures of this page are history, measured up to commit abc1234 (May 2026).\n"
        self.assertEqual(self.checked(history, "docs/decisions/page.md")[1], [])
        self.assertEqual(len(self.checked(history)[1]), 1)
        self.assertEqual(len(self.checked("It took 5 ns.\n", "docs/decisions/page.md")[1]), 1)


if __name__ == "__main__":
    unittest.main()

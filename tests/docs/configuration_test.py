# SPDX-License-Identifier: BSD-3-Clause
# subject: docs/configuration.md include/weft/runtime_options.hpp src/base/config.cpp src/base/config.hpp tests/docs/configuration_table.cpp
"""The table in docs/configuration.md is the library's own table of WEFT_* variables.

configuration_test.py --write    rewrites the table instead, after a change to src/base/config.cpp
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
COMPILER = os.environ.get("TEST_CXX", "c++")
PAGE = SOURCE / "docs/configuration.md"
TABLE = re.compile(r"(?<=<!-- table: begin -->\n).*?(?=<!-- table: end -->\n)", re.DOTALL)
HEAD = "| Variable | Default | Allowed | Whose | Meaning |\n| --- | --- | --- | --- | --- |\n"


def rows():
    """What the library says, a list of fields for each variable."""
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/table"
        sources = [SOURCE / "tests/docs/configuration_table.cpp", SOURCE / "src/base/config.cpp",
                   SOURCE / "src/base/collective_names.cpp", SOURCE / "src/base/error.cpp",
                   SOURCE / "src/base/fiber_words.cpp"]
        subprocess.run([COMPILER, "-std=c++20", "-O0", f"-I{SOURCE / 'src'}", f"-I{SOURCE / 'include'}",
                        *map(str, sources), "-o", program, "-lfmt"], stdin=subprocess.DEVNULL, check=True, timeout=600)
        printed = subprocess.run([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=True,
                                 timeout=600).stdout
    return [line.split("\t") for line in printed.splitlines()]


def number(text, kind):
    """A number as one would write it: bytes in the largest unit that leaves it whole."""
    value = int(text)
    for bits, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if kind == "bytes" and value >= 1 << bits and value % (1 << bits) == 0:
            return f"{value >> bits}{unit}"
    return str(value)


def table():
    text = HEAD
    for name, kind, default, least, most, multiple, power, choices, whose, _, meaning in rows():
        if kind == "choice":
            allowed = ", ".join(f"`{choice}`" for choice in choices.split())
        elif kind == "text":
            allowed = "text"
        elif kind == "algorithms":
            allowed = "`operation:algorithm`, … ([collectives.md](collectives.md))"
        else:
            allowed = f"{number(least, kind)} to {number(most, kind)}"
            allowed += ", a power of two" if power == "1" else ""
            allowed += f", a multiple of {multiple}" if multiple != "0" else ""
            allowed += " (seconds)" if kind in ("seconds", "time") else ""
        if default and kind == "bytes":
            default = number(default, kind)
        text += f"| `{name}` | {f'`{default}`' if default else 'not set'} | {allowed} | {whose} | {meaning} |\n"
    return text


class Configuration(unittest.TestCase):
    maxDiff = None

    def test_the_page_has_the_table_of_the_library(self):
        found = TABLE.search(PAGE.read_text())
        self.assertIsNotNone(found, "docs/configuration.md has lost the comments around its table")
        self.assertEqual(found.group(), table(), "run: python3 tests/docs/configuration_test.py --write")

    def test_runtime_options_have_a_member_for_each_setting_of_a_runtime(self):
        options = (SOURCE / "include/weft/runtime_options.hpp").read_text().partition("struct runtime_options")[2]
        members = re.findall(r"^  (?:std::optional<[\w:]+>|std::string) (\w+)\{\};", options, re.MULTILINE)
        self.assertEqual(sorted(members), sorted(row[9] for row in rows() if row[8] != "process"))

    def test_no_page_names_a_variable_that_is_not_there(self):
        known = set(re.findall(r"^\| `(WEFT_\w+)`", PAGE.read_text(), re.MULTILINE))
        # Options of CMake, not variables of the environment.
        known |= set(re.findall(r"^(?:option|set)\((WEFT_\w+) ", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE))
        # Names that Weft leaves alone.
        places = re.search(r"names_of_installations\{(.*?)\};", (SOURCE / "src/base/config.cpp").read_text(), re.DOTALL)
        known |= {f"WEFT_{name}" for name in re.findall(r'"(\w+)"sv', places.group(1))}
        for page in (SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))):
            unknown = set(re.findall(r"\bWEFT_[A-Z_]*[A-Z]\b", page.read_text())) - known
            self.assertEqual(unknown, set(), page)


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(TABLE.sub(lambda _: table(), PAGE.read_text()))
    else:
        unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: docs/decisions/dependencies.md cmake CMakeLists.txt
"""docs/decisions/dependencies.md has a row for each library that a source includes and that the build looks for."""

import os
import re
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
PAGE = (SOURCE / "docs/decisions/dependencies.md").read_text()
# Whose sources may include what a section of the page lists.
FOLDERS = {"The library": ["src", "include"], "The programs": ["programs", "apps", "perf"], "The tests": ["tests"]}
# Those of the system, of the compilers and of Weft itself.
KNOWN = ("sys/", "linux/", "netinet/", "arpa/", "sanitizer/", "weft/")
# Headers without a folder, but for those of the language and of the system's library.
SINGLE_HEADERS = ("hwloc.h", "zlib.h", "xxhash.h")
# The comparison of parts with those of other libraries compiles its peers itself.
PEERS = SOURCE / "perf/peers"


def rows(section):
    """What the table of a section says of CMake's name and of the header of each dependency."""
    text = re.search(rf"^## {section}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL).group(1)
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return [(re.findall(r"`([\w.]+)`", row[1]), re.findall(r"`<([\w./-]+)>?`", row[2])) for row in table]


def included(folder):
    """Each header that is not the system's and that the sources of a folder include."""
    for source in sorted((SOURCE / folder).rglob("*.[ch]pp")):
        if PEERS in source.parents:
            continue
        for header in re.findall(r"^\s*#\s*include <([^>]+)>", source.read_text(), re.MULTILINE):
            if header in SINGLE_HEADERS or ("/" in header and not header.startswith(KNOWN)):
                yield source.relative_to(SOURCE), header


class Dependencies(unittest.TestCase):
    def test_each_library_that_is_included_has_a_row_in_its_section_or_one_that_it_builds_on(self):
        allowed = []
        for section, folders in FOLDERS.items():
            allowed += [header for _, headers in rows(section) for header in headers]
            for folder in folders:
                for source, header in included(folder):
                    self.assertTrue(header.startswith(tuple(allowed)), f"{source} includes <{header}>: no row for it")

    def test_each_row_that_names_a_header_is_of_one_that_its_section_includes(self):
        for section, folders in FOLDERS.items():
            found = [header for folder in folders for _, header in included(folder)]
            for _, headers in rows(section):
                for prefix in headers:
                    self.assertTrue(any(header.startswith(prefix) for header in found), f"{section}: <{prefix}>: unused")

    def test_the_build_looks_for_each_library_of_the_tables(self):
        looked_for = set(re.findall(r"\w+", (SOURCE / "cmake/dependencies.cmake").read_text()))
        on_page = {name for section in FOLDERS for names, _ in rows(section) for name in names}
        self.assertEqual(on_page - looked_for, set())


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: docs README.md include
"""Every C++ block in README.md and docs/ compiles, and every relative link there leads somewhere.

A block with `int main` is a whole program. Any other is a fragment: the body of a function, with <weft/weft.hpp> and
the fragment's own #include lines before it, unless the comment before it says otherwise. What a fragment takes for granted stands in a comment before it, which
readers of the page don't see:
    <!-- given: weft::runtime rt; int peer = 0; -->      declarations inside the function, before the block
    <!-- namespace scope -->                             the block is no function's body
    <!-- not compiled: why -->                           for a block that is no program text
"""

import concurrent.futures
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
COMPILER = os.environ.get("TEST_CXX", "c++")
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-unused-result", "-pthread"]
BLOCK = re.compile(r"((?:^<!--(?:(?!-->).)*-->\s*\n)*)^```(?:cpp|c\+\+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


class Block(NamedTuple):
    page: str
    line: int
    notes: str
    text: str


def blocks_of(page, text):
    return [Block(page, text.count("\n", 0, match.start(2)), match.group(1), match.group(2))
            for match in BLOCK.finditer(text)]


def program_of(block):
    """The block as a source file that compiles alone, or None. Compilers name page and line in their messages."""
    if "<!-- not compiled:" in block.notes:
        return None
    here = f'#line {block.line + 1} "{block.page}"\n'
    if re.search(r"\bint main\(", block.text):
        return here + block.text
    given = "\n".join(re.findall(r"<!-- given:(.*?)-->", block.notes, re.DOTALL))
    includes = "#include <weft/weft.hpp>\n"
    lines = block.text.splitlines(keepends=True)
    includes += "".join(line for line in lines if line.startswith("#include"))
    body = "".join("\n" if line.startswith("#include") else line for line in lines)
    if "<!-- namespace scope -->" in block.notes:
        return f"{includes}{given}\n{here}{body}"
    return f"{includes}void fragment();\nvoid fragment() {{\n{given}\n{here}{body}}}\n"


def compile_block(block, folder):
    """What the compiler says against the block; nothing if all is well."""
    program = program_of(block)
    if program is None:
        return ""
    path = Path(folder) / f"{block.page.replace('/', '_')}_{block.line}.cpp"
    path.write_text(program)
    result = subprocess.run([COMPILER, *FLAGS, f"-I{SOURCE / 'include'}", str(path)], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    return result.stdout if result.returncode else ""


def pages():
    return [page for page in (SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))) if page.exists()]


class Documentation(unittest.TestCase):
    def test_every_block_compiles(self):
        blocks = [block for page in pages() for block in blocks_of(str(page.relative_to(SOURCE)), page.read_text())]
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
            problems = list(pool.map(lambda block: compile_block(block, folder), blocks))
        self.assertEqual("".join(problems), "")

    def test_every_relative_link_leads_somewhere(self):
        broken = []
        for page in pages():
            text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
            for target in LINK.findall(text):
                if ":" not in target and not (page.parent / target).exists():
                    broken.append(f"{page.relative_to(SOURCE)}: {target}")
        self.assertEqual(broken, [])


class TheTestItself(unittest.TestCase):
    def said_of(self, page):
        """What the compiler says of the first block of a page, whose header is this test's own."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "weft").mkdir()
            (Path(folder) / "weft/weft.hpp").write_text("#pragma once\nnamespace weft { struct runtime {}; }\n")
            FLAGS.insert(0, f"-I{folder}")
            try:
                return compile_block(blocks_of("page.md", page)[0], folder)
            finally:
                FLAGS.pop(0)

    def test_a_wrong_block_is_named_by_page_and_line(self):
        self.assertIn("page.md:4:", self.said_of("# Title\n\n```cpp\nint a = unknown;\n```\n"))

    def test_what_is_given_is_known(self):
        self.assertEqual(self.said_of("<!-- given: weft::runtime rt; -->\n```cpp\nauto& r = rt;\n```\n"), "")

    def test_a_program_is_compiled_as_it_stands(self):
        self.assertEqual(self.said_of("```cpp\n#include <cstdio>\nint main() { std::puts(\"\"); }\n```\n"), "")

    def test_a_fragment_at_namespace_scope_and_one_that_is_no_program_text(self):
        self.assertEqual(self.said_of("<!-- namespace scope -->\n```cpp\n#include <vector>\nclass a {};\n```\n"), "")
        self.assertEqual(self.said_of("<!-- not compiled: a sketch -->\n```cpp\nwhat(...)\n```\n"), "")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: docs README.md scripts examples programs apps include
"""What the pages say of files, headings, commands and options is there. `docs_test.py` looks after their C++."""

import os
import re
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md")), SOURCE / "examples/README.md"]
EXAMPLES = sorted((SOURCE / "examples").glob("*.cpp"))
README_PROGRAM_LINES_MAX = 25
EXAMPLE_LINES_MAX = 60
RULES_LINES_MAX = 560
# Pages for those who work on Weft, which the README does not list.
FOR_DEVELOPERS = {"transport-contract.md", "reliability.md", "roadmap.md"}


def blocks(text, language):
    return re.findall(rf"^```{re.escape(language)}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchors(text):
    """The anchors that a page's headings have on the web: in small letters, with hyphens, without punctuation."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def sources_of(program):
    """The folder or file that a program of build/bin is made of."""
    stem = program.removeprefix("weft-")
    return [SOURCE / path for path in (f"programs/{program}", f"programs/{program}.cpp", f"apps/{stem}", f"apps/{program}",
                                       f"apps/mpi/{program.removeprefix('mpi-')}") if (SOURCE / path).exists()]


def commands():
    """Each line of each block of shell commands, with its page; continued lines are one."""
    for page in PAGES:
        for block in blocks(page.read_text(), "sh"):
            for line in block.replace("\\\n", " ").splitlines():
                if line.strip():
                    yield page.name, line


class Readme(unittest.TestCase):
    def test_its_program_is_the_example_and_short(self):
        program = blocks((SOURCE / "README.md").read_text(), "cpp")[0]
        self.assertEqual(program, (SOURCE / "examples/hello.cpp").read_text())
        self.assertLessEqual(len(program.splitlines()), README_PROGRAM_LINES_MAX)

    def test_its_two_commands_can_be_typed(self):
        section = re.split(r"^## Two commands$", (SOURCE / "README.md").read_text(), flags=re.MULTILINE)[1]
        first = blocks(section, "sh")[0].split()
        self.assertEqual(first, ["scripts/demo", "scripts/test"])


class ListsOfPages(unittest.TestCase):
    PAGES = {path.name for path in (SOURCE / "docs").glob("*.md")} - {"README.md"}

    def test_the_readme_names_each_page_for_users(self):
        linked = set(re.findall(r"\(docs/([\w-]+\.md)[)#]", (SOURCE / "README.md").read_text()))
        self.assertEqual(self.PAGES - FOR_DEVELOPERS - linked, set())

    def test_the_list_of_pages_names_each(self):
        linked = set(re.findall(r"\(([\w-]+\.md)[)#]", (SOURCE / "docs/README.md").read_text()))
        self.assertEqual(self.PAGES - linked, set())


class Cookbook(unittest.TestCase):
    def test_each_recipe_answers_a_question_with_a_program(self):
        _, *recipes = re.split(r"^## ", (SOURCE / "docs/cookbook.md").read_text(), flags=re.MULTILINE)
        self.assertGreater(len(recipes), 10)
        for recipe in recipes:
            question = recipe.partition("\n")[0]
            self.assertTrue(question.endswith("?"), question)
            programs = set(re.findall(r"\(\.\./examples/(\w+\.cpp)\)", recipe))
            self.assertTrue(programs & {path.name for path in EXAMPLES}, question)


class Rules(unittest.TestCase):
    # The part, the page that explains it, and the heading of its rules.
    EXPLAINED = {"waiting.md": "Waiting", "graphs.md": "Graphs", "coroutines.md": "Coroutines",
                 "memory.md": "Kinds of memory and layouts"}

    def test_they_are_rules_and_leave_explanations_to_other_pages(self):
        text = (SOURCE / "docs/rules.md").read_text()
        self.assertLessEqual(len(text.splitlines()), RULES_LINES_MAX)
        sections = dict(section.partition("\n")[::2] for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:])
        for page, heading in self.EXPLAINED.items():
            self.assertIn(f"({page})", sections[heading])
            self.assertNotIn("```", sections[heading], heading)


class Examples(unittest.TestCase):
    def test_each_is_short_and_uses_public_headers_only(self):
        self.assertTrue(EXAMPLES)
        for example in EXAMPLES:
            text = example.read_text()
            self.assertLess(len(text.splitlines()), EXAMPLE_LINES_MAX, example.name)
            self.assertEqual(re.findall(r'#include "', text), [], example.name)
            self.assertNotIn("weft::detail", text, example.name)


class Pages(unittest.TestCase):
    def test_links_to_headings_find_them(self):
        for page in PAGES:
            text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
            for target, anchor in re.findall(r"\[[^\]]*\]\(([^)#\s:]*)#([^)\s]+)\)", text):
                there = page.parent / target if target else page
                self.assertIn(anchor, anchors(there.read_text()), f"{page.name}: {target}#{anchor}")

    def test_scripts_and_programs_that_are_to_be_started_are_there(self):
        for page, line in commands():
            for script in re.findall(r"(?<!\S)scripts/\S+", line):
                self.assertTrue(os.access(SOURCE / script, os.X_OK), f"{page}: {line}")
            for program in re.findall(r"build/bin/([\w-]+)", line):
                self.assertTrue(sources_of(program), f"{page}: {line}")
            for example in re.findall(r"build/examples/(\w+)", line):
                self.assertIn(f"{example}.cpp", [path.name for path in EXAMPLES], f"{page}: {line}")

    def test_long_options_of_our_programs_are_known_to_them(self):
        for page, line in commands():
            parts = re.split(r"build/bin/((?:weft|mpi)-[\w-]+)", line)
            for program, arguments in zip(parts[1::2], parts[2::2]):
                known = "".join(path.read_text() for folder in sources_of(program)
                                for path in ([folder] if folder.is_file() else sorted(folder.rglob("*.cpp"))))
                own = arguments.split("build/examples/")[0]
                for option in re.findall(r"(?<!\S)--[a-z][\w-]*", own):
                    self.assertIn(option, known, f"{page}: {line}")

    def test_names_of_wefts_beside_those_of_other_libraries_are_in_the_headers(self):
        headers = "\n".join(path.read_text() for path in sorted((SOURCE / "include/weft").glob("*.hpp")))
        rows = re.findall(r"^\| (.*?) \|", (SOURCE / "docs/names.md").read_text(), re.MULTILINE)
        codes = [code for row in rows for code in re.findall(r"`([^`]*)`", row) if not code.startswith(("weft-", "WEFT_"))]
        names = {name for code in codes for name in re.findall(r"[a-z_]{4,}", code)}
        self.assertGreater(len(names), 50)
        self.assertEqual({name for name in names if not re.search(rf"\b{name}\b", headers)}, set())

    def test_files_that_are_named_in_text_are_there(self):
        for page in PAGES:
            for path in re.findall(r"`((?:src|include|apps|programs|tests|tools|scripts|examples)/[\w./-]+)`", page.read_text()):
                self.assertTrue((SOURCE / path).exists(), f"{page.name}: {path}")


if __name__ == "__main__":
    unittest.main()

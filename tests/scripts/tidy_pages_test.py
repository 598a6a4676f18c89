# SPDX-License-Identifier: BSD-3-Clause
# subject: tools/checks/pages.py tools/checks/files.py tools/walks.py docs/architecture.md
"""What tools/tidy.py checks of the list of layers on a page, and of the length of functions."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tools"))
sys.dont_write_bytecode = True
from checks import files, pages  # noqa: E402


class Layers(unittest.TestCase):
    def test_the_page_has_the_layers_and_rooms_of_the_build(self):
        page = "# A\n\n## The layers\n\n```\ninclude/weft/  b\nsrc/base/      c\nsrc/core/wait/ d\n         api/  e\nsrc/mpi/       f, type/\n```\n"
        build = {"src/CMakeLists.txt": "add_subdirectory(base)\nadd_subdirectory(core)\nadd_subdirectory(mpi)\nadd_subdirectory(test)\n",
                 "src/core/CMakeLists.txt": "weft_layer(core LINKS base\n  ROOMS wait api\n  ALSO net/a.cpp)\n",
                 "src/base/a.cpp": "", "src/core/wait/a.hpp": "", "src/core/api/a.cpp": "", "src/mpi/type/a.cpp": ""}

        def found(**changes):
            with tempfile.TemporaryDirectory() as folder:
                for name, text in {"docs/architecture.md": page, **build, **changes}.items():
                    path = Path(folder) / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
                return [str(each) for each in pages.layers_as_built(Path(folder))]

        self.assertEqual(found(), [])
        for expected, changes in {
                "the layers of the page are base core mpi; the build makes base mpi core":
                    {"src/CMakeLists.txt": "add_subdirectory(base)\nadd_subdirectory(mpi)\nadd_subdirectory(core)\n"},
                "the rooms of core on the page are wait api; the build has api wait":
                    {"src/core/CMakeLists.txt": "weft_layer(core ROOMS api wait)\n"},
                "the rooms of core on the page are wait api; the build has api fast wait": {"src/core/fast/a.cpp": ""},
                "the page does not name the folders group of mpi": {"src/mpi/group/a.hpp": ""}}.items():
            answer = found(**changes)
            self.assertEqual(len(answer), 1, answer)
            self.assertIn(expected, answer[0])


class Functions(unittest.TestCase):
    def test_a_function_fits_on_a_screen(self):
        body = lambda lines: "void a(int b) noexcept {\n" + "  b();\n" * (lines - 2) + "}\n"
        self.assertEqual(files.functions("src/base/a.cpp", body(60)), [])
        self.assertEqual(files.functions("tests/base/a.cpp", body(61)), [])
        self.assertEqual([str(each) for each in files.functions("src/base/a.cpp", "\n" + body(61))],
                         ["src/base/a.cpp:2: a has 61 lines, 60 allowed: make its steps functions"])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: include cmake/reference.cmake cmake/Doxyfile.in
"""The reference can be made: every public thing has a comment, and doxygen understands each of them.

Doxygen itself says what is wrong, by page and line; cmake/Doxyfile.in tells it what is public. Without doxygen
(scripts/setup --test installs it) the tests are skipped.
"""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
DOXYGEN = shutil.which("doxygen")


def said_of(source):
    """What doxygen has against the headers below `source`; nothing if the reference is made."""
    with tempfile.TemporaryDirectory() as folder:
        values = {"PROJECT_SOURCE_DIR": str(source), "PROJECT_BINARY_DIR": folder, "PROJECT_VERSION": "0",
                  "PROJECT_DESCRIPTION": "a test"}
        template = (SOURCE / "cmake/Doxyfile.in").read_text()
        settings = Path(folder) / "Doxyfile"
        settings.write_text(re.sub(r"@(\w+)@", lambda name: values[name.group(1)], template))
        run = subprocess.run([DOXYGEN, str(settings)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=600)
        made = (Path(folder) / "reference/html/classweft_1_1device.html").exists()
        return run.stdout if run.returncode or not made else ""


@unittest.skipIf(DOXYGEN is None, "doxygen is not installed")
class Reference(unittest.TestCase):
    def test_it_is_made_without_a_warning(self):
        self.assertEqual(said_of(SOURCE), "")

    def test_a_function_without_a_comment_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(SOURCE / "include", f"{folder}/include")
            header = Path(folder) / "include/weft/device.hpp"
            header.write_text(header.read_text().replace(" public:\n", " public:\n  void undocumented();\n\n", 1))
            self.assertRegex(said_of(folder), r"device\.hpp:\d+: error: Member undocumented\(\)")


if __name__ == "__main__":
    unittest.main()

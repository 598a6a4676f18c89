"""weft-info --config lists every variable, and refuses an environment that the library would refuse."""

import os
import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))


def run(*arguments, **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("WEFT_", "PMI"))}
    return subprocess.run([BUILD / "bin/weft-info", *arguments], env=dict(environment, **variables), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)


class WeftInfo(unittest.TestCase):
    def test_every_variable_of_the_table_is_listed_with_its_default(self):
        result = run("--config")
        self.assertEqual(result.returncode, 0, result.stderr)
        table = set(re.findall(r'"(WEFT_[A-Z_]+)"', (SOURCE / "src/base/config.cpp").read_text())) - {"WEFT_"}
        listed = re.findall(r"(?m)^(WEFT_\w+)  \((\w+); default (\S+); here (\S+)\)$", result.stdout)
        self.assertEqual({entry[0] for entry in listed}, table)
        self.assertIn(("WEFT_PACKET_BYTES", "bytes", "8192", "8192"), listed)

    def test_values_of_the_environment_are_shown(self):
        self.assertIn("default 8192; here 16384", run("--config", WEFT_PACKET_BYTES="16KiB").stdout)

    def test_what_the_library_refuses_is_refused(self):
        result = run("--config", WEFT_PAKET_COUNT="1")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("did you mean WEFT_PACKET_COUNT?", result.stderr)
        self.assertEqual(run("--bogus").returncode, 2)


if __name__ == "__main__":
    unittest.main()

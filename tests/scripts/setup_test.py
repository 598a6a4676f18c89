# SPDX-License-Identifier: BSD-3-Clause
# subject: scripts/setup
"""scripts/setup against a made-up system: what is installed, who asks, and what apt-get does are the test's choice."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))

DPKG_QUERY = """#!/bin/sh
for last; do :; done
grep -qx "$last" "$FAKE/missing" && exit 1
printf installed
"""
APT_GET = """#!/bin/sh
echo "$*" >>"$FAKE/apt-get.log"
case "$*" in
  *update*) [ -e "$FAKE/no-network" ] || rm -f "$FAKE/stale" ;;
  *install*)
    [ -e "$FAKE/stale" ] && { echo "E: Unable to locate package"; exit 100; }
    [ -e "$FAKE/interrupted" ] && { echo "E: dpkg was interrupted, you must manually run dpkg"; exit 100; }
    [ -e "$FAKE/broken" ] && { echo "E: no space left"; exit 100; }
    : >"$FAKE/missing" ;;
esac
exit 0
"""


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.fake = Path(folder.name)
        for tool in ("bash", "sh", "env", "timeout", "mktemp", "cat", "rm", "grep"):
            (self.fake / tool).symlink_to(shutil.which(tool))
        self.program("dpkg-query", DPKG_QUERY)
        self.program("apt-get", APT_GET)
        self.program("dpkg", "#!/bin/sh\n[ \"$*\" = \"--configure -a\" ] && rm -f \"$FAKE/interrupted\"\n")
        self.program("id", "#!/bin/sh\necho 0\n")
        self.missing()

    def program(self, name, text):
        (self.fake / name).write_text(text)
        (self.fake / name).chmod(0o755)

    def missing(self, *packages):
        (self.fake / "missing").write_text("".join(package + "\n" for package in packages))

    def run_setup(self, *arguments):
        environment = {"PATH": str(self.fake), "FAKE": str(self.fake), "HOME": str(self.fake)}
        return subprocess.run([shutil.which("bash"), SOURCE / "scripts/setup", *arguments], env=environment, timeout=600,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def apt_calls(self):
        log = self.fake / "apt-get.log"
        return [line.split()[-1] for line in log.read_text().splitlines()] if log.exists() else []

    def test_does_nothing_and_says_so_when_all_is_there(self):
        result = self.run_setup("--test")
        self.assertEqual((result.returncode, result.stdout), (0, "scripts/setup: everything needed is installed\n"))
        self.assertEqual(self.apt_calls(), [])

    def test_installs_what_is_missing_and_nothing_else_and_names_it_first(self):
        self.missing("libfmt-dev", "libhwloc-dev", "libgtest-dev")
        result = self.run_setup()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("installing with apt-get: libfmt-dev libhwloc-dev\n", result.stdout)
        self.assertIn("libfmt-dev libhwloc-dev\n", (self.fake / "apt-get.log").read_text())
        self.assertNotIn("libgtest-dev", result.stdout)

    def test_a_tool_that_is_there_in_another_way_is_not_installed(self):
        self.missing("cmake")
        self.program("cmake", "#!/bin/sh\n")
        self.assertIn("everything needed is installed", self.run_setup().stdout)

    def test_the_demonstration_needs_less(self):
        self.missing("libfabric-dev", "nlohmann-json3-dev", "unicycler-data")
        self.assertIn("installing with apt-get: unicycler-data\n", self.run_setup("--demo").stdout)

    def test_the_tests_need_more(self):
        self.missing("libgtest-dev")
        self.assertIn("installing with apt-get: libgtest-dev\n", self.run_setup("--test").stdout)

    def test_peers_need_more_and_not_what_tests_need(self):
        self.missing("libgtest-dev", "libmpich-dev", "ucx-utils")
        self.program("ucx_perftest", "#!/bin/sh\n")
        self.assertIn("installing with apt-get: libmpich-dev\n", self.run_setup("--peers").stdout)

    def test_lists_that_are_missing_or_stale_are_fetched(self):
        self.missing("libfmt-dev")
        (self.fake / "stale").touch()
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(self.apt_calls(), ["libfmt-dev", "update", "libfmt-dev"])

    def test_an_installation_that_was_interrupted_is_finished_first(self):
        self.missing("libfmt-dev")
        (self.fake / "interrupted").touch()
        result = self.run_setup()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("interrupted before; finishing it", result.stdout)

    def test_without_network_it_names_what_could_not_be_fetched(self):
        self.missing("libfmt-dev", "zlib1g-dev")
        (self.fake / "stale").touch()
        (self.fake / "no-network").touch()
        result = self.run_setup("--test")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"could not be fetched \(is there a network\?.*\): libfmt-dev zlib1g-dev\n")

    def test_what_else_apt_get_says_is_shown_and_not_taken_for_a_missing_network(self):
        self.missing("libfmt-dev")
        (self.fake / "broken").touch()
        result = self.run_setup()
        self.assertEqual(result.returncode, 1)
        self.assertIn("E: no space left", result.stdout)
        self.assertIn("could not install these packages; see above: libfmt-dev", result.stdout)
        self.assertNotIn("network", result.stdout)

    def test_where_not_root_it_asks_sudo(self):
        self.missing("libfmt-dev")
        self.program("id", "#!/bin/sh\necho 1000\n")
        result = self.run_setup()
        self.assertEqual(result.returncode, 1)
        self.assertIn("not root, and there is no sudo", result.stdout)
        self.assertIn("Ask an administrator to run: apt-get install --no-install-recommends libfmt-dev\n", result.stdout)
        self.program("sudo", "#!/bin/sh\necho sudo: not allowed\nexit 1\n")
        result = self.run_setup()
        self.assertEqual(result.returncode, 1)
        self.assertIn("sudo refuses. Ask an administrator to run: apt-get install", result.stdout)
        self.program("sudo", "#!/bin/sh\nexec \"$@\"\n")
        result = self.run_setup()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("installing with sudo apt-get: libfmt-dev\n", result.stdout)

    def test_without_apt_get_it_names_what_is_missing(self):
        self.missing("libfmt-dev")
        (self.fake / "apt-get").unlink()
        result = self.run_setup()
        self.assertEqual(result.returncode, 1)
        self.assertIn("there is no apt-get to install them with: libfmt-dev", result.stdout)

    def test_an_unknown_argument_is_an_error(self):
        result = self.run_setup("--all")
        self.assertEqual(result.returncode, 1)
        self.assertIn("unknown argument '--all'", result.stdout)


if __name__ == "__main__":
    unittest.main()

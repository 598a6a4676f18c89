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
  *update*) [ -e "$FAKE/no-network" ] && exit 100; rm -f "$FAKE/stale" ;;
  *install*) [ -e "$FAKE/stale" ] && { echo "E: 404 not found"; exit 100; }; : >"$FAKE/missing" ;;
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
        self.program("apt-cache", "#!/bin/sh\n[ -e \"$FAKE/no-lists\" ] || echo known\n")
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
        self.missing("libfmt-dev", "zlib1g-dev", "libgtest-dev")
        result = self.run_setup()
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("installing with apt-get: libfmt-dev zlib1g-dev\n", result.stdout)
        self.assertIn("libfmt-dev zlib1g-dev\n", (self.fake / "apt-get.log").read_text())
        self.assertNotIn("libgtest-dev", result.stdout)

    def test_a_tool_that_is_there_in_another_way_is_not_installed(self):
        self.missing("cmake")
        self.program("cmake", "#!/bin/sh\n")
        self.assertIn("everything needed is installed", self.run_setup().stdout)

    def test_the_tests_need_more(self):
        self.missing("libgtest-dev")
        self.assertIn("installing with apt-get: libgtest-dev\n", self.run_setup("--test").stdout)

    def test_peers_need_more_and_not_what_tests_need(self):
        self.missing("libgtest-dev", "libmpich-dev", "ucx-utils")
        self.program("ucx_perftest", "#!/bin/sh\n")
        self.assertIn("installing with apt-get: libmpich-dev\n", self.run_setup("--peers").stdout)

    def test_lists_are_fetched_when_there_are_none(self):
        self.missing("libfmt-dev")
        (self.fake / "no-lists").touch()
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(self.apt_calls(), ["update", "libfmt-dev"])

    def test_lists_that_are_stale_are_fetched_again(self):
        self.missing("libfmt-dev")
        (self.fake / "stale").touch()
        self.assertEqual(self.run_setup().returncode, 0)
        self.assertEqual(self.apt_calls(), ["libfmt-dev", "update", "libfmt-dev"])

    def test_without_network_it_fails_and_says_why(self):
        self.missing("libfmt-dev")
        (self.fake / "no-lists").touch()
        (self.fake / "no-network").touch()
        result = self.run_setup()
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get update failed", result.stdout)

    def test_where_not_root_it_asks_sudo(self):
        self.missing("libfmt-dev")
        self.program("id", "#!/bin/sh\necho 1000\n")
        result = self.run_setup()
        self.assertEqual(result.returncode, 1)
        self.assertIn("not root, and there is no sudo", result.stdout)
        self.assertIn("apt-get install libfmt-dev", result.stdout)
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

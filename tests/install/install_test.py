"""Installs the build into an empty folder, looks at what is there, and builds a project outside against it."""

import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["TEST_BUILD_DIR"])
SOURCE = Path(os.environ["TEST_SOURCE_DIR"])
COMPILER = os.environ.get("TEST_CXX", "c++")
GENERATOR = os.environ.get("TEST_GENERATOR", "Ninja")


def run(*command, **options):
    """The output of a command; an error with all it printed if it fails."""
    result = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, timeout=600, **options)
    if result.returncode != 0:
        raise AssertionError(f"{shlex.join(str(part) for part in command)} failed:\n{result.stdout}")
    return result.stdout


class InstallTree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.prefix = Path(cls.folder.name) / "prefix"
        run("cmake", "--install", BUILD, "--prefix", cls.prefix)
        cls.installed = sorted(str(path.relative_to(cls.prefix)) for path in cls.prefix.rglob("*") if path.is_file())

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def work(self, name):
        path = Path(self.folder.name) / name
        path.mkdir()
        return path

    def test_a_project_that_finds_the_package_by_cmake_builds_and_runs(self):
        work = self.work("by_cmake")
        run("cmake", "-S", SOURCE / "tests/install/outside", "-B", work, "-G", GENERATOR,
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}")
        run("cmake", "--build", work)
        self.assertEqual(self.alone(work / "outside"), "rank 0 of 1\n")

    def test_a_project_that_finds_the_package_by_pkg_config_builds_and_runs(self):
        work = self.work("by_pkg_config")
        paths = ":".join(str(path.parent) for path in self.prefix.rglob("weft.pc"))
        environment = dict(os.environ, PKG_CONFIG_PATH=paths)
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "weft", env=environment))
        version = run("pkg-config", "--modversion", "weft", env=environment)
        self.assertRegex(version, r"^\d+\.\d+\.\d+\n$")
        libraries = [flag[2:] for flag in flags if flag.startswith("-L")]
        run(COMPILER, SOURCE / "tests/install/outside/main.cpp", "-o", work / "outside", *flags,
            *[f"-Wl,-rpath,{library}" for library in libraries])
        self.assertEqual(self.alone(work / "outside"), "rank 0 of 1\n")

    def test_the_first_program_of_the_pages_is_built_as_they_say_and_prints_what_they_say(self):
        if "bin/weft-run" not in self.installed:
            self.skipTest("weft-run is not built")
        page = (SOURCE / "docs/first-steps.md").read_text()
        work = self.work("first_steps")
        for language, name in (("cpp", "sum.cpp"), ("cmake", "CMakeLists.txt")):
            block = re.search(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
            (work / name).write_text(block.group(1))
        run("cmake", "-S", work, "-B", work / "build", "-G", GENERATOR, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={COMPILER}")
        run("cmake", "--build", work / "build")
        ranks = re.search(r"weft-run\" -n (\d+) build/sum", page).group(1)
        printed = re.search(r"It prints `(.*?)`", page).group(1)
        self.assertEqual(run(self.prefix / "bin/weft-run", "-n", ranks, work / "build/sum"), printed + "\n")

    def alone(self, program):
        """Without what a launcher around this test may have set."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "WEFT_"))}
        return run(program, env=environment)

    def test_every_public_header_is_installed_and_no_other(self):
        public = sorted(str(path.relative_to(SOURCE)) for path in (SOURCE / "include").rglob("*.hpp"))
        self.assertEqual([file for file in self.installed if file.endswith(".hpp")], public)

    def test_only_programs_for_users_are_installed(self):
        expected = {"weft-run", "weft-info", "weft-kmer", "weft-perf", "weft-uts"}
        programs = {file[len("bin/"):] for file in self.installed if file.startswith("bin/")}
        self.assertLessEqual(programs, expected)

    def test_nothing_else_is_installed(self):
        allowed = ("include/weft/", "bin/weft-", "share/doc/weft/", "share/weft/perf/", "lib/")
        for file in self.installed:
            self.assertTrue(file.startswith(allowed), file)
            self.assertNotRegex(file, r"gtest|test-support|-lib\.a|_test")

    def test_nothing_installed_names_the_build_tree(self):
        for file in self.installed:
            if file.endswith((".cmake", ".pc")):
                text = (self.prefix / file).read_text()
                self.assertNotIn(str(SOURCE), text, file)
                self.assertNotIn("weft_warnings", text, file)


if __name__ == "__main__":
    unittest.main()

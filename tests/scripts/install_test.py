# SPDX-License-Identifier: BSD-3-Clause
# subject: include programs/weft-mpicc cmake/mpi_wrappers.cmake cmake/install.cmake cmake/weft-config.cmake.in cmake/weft.pc.in tests/scripts/outside
# not under sanitizers, which its users would need, too
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
        run("cmake", "-S", SOURCE / "tests/scripts/outside", "-B", work, "-G", GENERATOR,
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}")
        run("cmake", "--build", work, "--target", "outside")
        self.assertEqual(self.alone(work / "outside"), "rank 0 of 1\n")

    def test_the_version_is_one_in_project_package_header_library_and_programs(self):
        work = self.work("version")
        run("cmake", "-S", SOURCE / "tests/scripts/outside", "-B", work, "-G", GENERATOR,
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}")
        run("cmake", "--build", work, "--target", "version")
        version = re.search(r"^project\(weft VERSION (\d+\.\d+\.\d+)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE).group(1)
        major, minor, patch = map(int, version.split("."))
        number = major * 10000 + minor * 100 + patch
        self.assertEqual(self.alone(work / "version"), f"{version} {version} {version}\n{version} {number} {number}\n")
        paths = ":".join(str(path.parent) for path in self.prefix.rglob("weft.pc"))
        found = run("pkg-config", "--modversion", "weft", env=dict(os.environ, PKG_CONFIG_PATH=paths))
        self.assertEqual(found, version + "\n")
        for program in self.installed:
            if program.startswith("bin/"):
                name = program.removeprefix("bin/")
                # A wrapper of a compiler hands --version to it.
                option = "-showme:version" if name.startswith("weft-mpic") else "--version"
                self.assertEqual(self.alone(self.prefix / program, option), f"{name} {version}\n")

    def test_a_header_of_another_version_is_refused(self):
        text = (SOURCE / "include/weft/version.hpp").read_text()
        for changed in (text.replace("_MINOR 1", "_MINOR 12"), text.replace('"0.1.0"', '"0.1"'), ""):
            with self.subTest(changed[-200:]), tempfile.TemporaryDirectory() as folder:
                header = Path(folder) / "include/weft/version.hpp"
                header.parent.mkdir(parents=True)
                header.write_text(changed)
                project = "cmake_minimum_required(VERSION 3.22)\nproject(weft VERSION 0.1.0 LANGUAGES NONE)\n"
                (Path(folder) / "CMakeLists.txt").write_text(f"{project}include({SOURCE}/cmake/version.cmake)\n")
                with self.assertRaisesRegex(AssertionError, "the project has version 0.1.0"):
                    run("cmake", "-S", folder, "-B", Path(folder) / "build")

    def test_programs_run_with_the_shared_library_and_two_copies_are_named(self):
        if not self.shared():
            self.skipTest("built without the archive")
        work = self.work("shared")
        run("cmake", "-S", SOURCE / "tests/scripts/outside", "-B", work, "-G", GENERATOR,
            f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={COMPILER}",
            f"-DEXAMPLE={SOURCE / 'examples/hello.cpp'}")
        run("cmake", "--build", work)
        needed = run("readelf", "--dynamic", work / "outside-shared")
        self.assertRegex(needed, r"NEEDED.*\[libweft\.so\.")
        self.assertEqual(self.alone(work / "outside-shared"), "rank 0 of 1\n")
        self.assertEqual(self.alone(work / "example"), "rank 0 of 1: 'hello from rank 0'\n")
        if "bin/weft-run" in self.installed:
            heard = run(self.prefix / "bin/weft-run", "-n", 2, work / "example")
            self.assertEqual(sorted(heard.splitlines()),
                             [f"rank {rank} of 2: 'hello from rank {1 - rank}'" for rank in range(2)])
        self.assertEqual(self.alone(work / "two-copies"), "rank 0 of 1\n")
        two = self.alone(work / "two-copies", next(work.glob("*plugin*.so")))
        self.assertRegex(two, r"this process has 2 copies of Weft: \S*/two-copies, \S*/libweft\.so\.\S*;")
        self.assertIn("rank 0 of 1\n", two)

    def test_the_shared_library_exports_public_names_alone_each_with_its_version(self):
        if not self.shared():
            self.skipTest("built without the archive")
        archive = next(self.prefix.rglob("libweft.a"))
        inside = r"^_Z(?:NK?|T.N)4weft(?:4core|3net|4base|4boot|4coll|6fibers)"
        exported = set()
        for line in run("nm", "--dynamic", "--defined-only", self.shared()).splitlines():
            kind, versioned = line.split()[-2:]
            if kind == "A":  # the version itself
                continue
            name, _, version = versioned.partition("@@")
            self.assertRegex(version, r"^WEFT_\d+\.\d+$", line)
            exported.add(name)
        self.assertGreater(len(exported), 100)
        for name in exported:
            self.assertTrue(re.match(r"^_Z(NK?|T.N)4weft", name), name)
            self.assertFalse(re.match(inside, name) and "fibers" not in name, name)
        for line in run("nm", "--extern-only", "--defined-only", archive).splitlines():
            name = line.split()[-1] if line else ""
            if re.match(r"^_Z(NK?|T.N)4weft\d", name) and not re.match(inside, name):
                self.assertIn(name, exported, "name it in cmake/shared.cmake")

    def shared(self):
        """libweft.so beside the archive, if the build has it."""
        found = sorted(self.prefix.rglob("libweft.so"))
        return found[0] if found and any(self.prefix.rglob("libweft.a")) else None

    def test_a_project_that_finds_the_package_by_pkg_config_builds_and_runs(self):
        work = self.work("by_pkg_config")
        paths = ":".join(str(path.parent) for path in self.prefix.rglob("weft.pc"))
        environment = dict(os.environ, PKG_CONFIG_PATH=paths)
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "weft", env=environment))
        version = run("pkg-config", "--modversion", "weft", env=environment)
        self.assertRegex(version, r"^\d+\.\d+\.\d+\n$")
        libraries = [flag[2:] for flag in flags if flag.startswith("-L")]
        run(COMPILER, SOURCE / "tests/scripts/outside/main.cpp", "-o", work / "outside", *flags,
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

    def test_a_program_of_mpi_is_built_by_the_wrapper_by_cmake_and_by_pkg_config(self):
        if "bin/weft-mpicc" not in self.installed:
            self.skipTest("the MPI library is not built")
        work = self.work("mpi")
        source = SOURCE / "tests/mpi/programs"
        names = next(self.prefix.rglob("weft/mpi/bin"))
        run(names / "mpicc", source / "hello.c", "-o", work / "by_wrapper")
        run("cmake", "-S", source, "-B", work, "-G", GENERATOR, f"-DMPI_C_COMPILER={self.prefix}/bin/weft-mpicc",
            f"-DMPI_CXX_COMPILER={names}/mpicxx")
        run("cmake", "--build", work)
        paths = ":".join(str(path.parent) for path in self.prefix.rglob("weft-mpi.pc"))
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "weft-mpi", env=dict(os.environ, PKG_CONFIG_PATH=paths)))
        run("cc", source / "hello.c", "-o", work / "by_pkg_config", *flags)
        for program in ("by_wrapper", "found-hello", "found-hello-cxx", "by_pkg_config"):
            self.assertEqual(self.alone(work / program), "rank 0 of 1\nsum 0\n")
            printed = self.alone(names / "mpiexec", "-n", 2, work / program)
            self.assertEqual(sorted(printed.splitlines()), ["rank 0 of 2", "rank 1 of 2", "sum 1"])
        printed = self.alone(self.prefix / "bin/weft-run", "--mpi", "-n", 1, "sh", "-c", "echo $LD_PRELOAD")
        self.assertEqual(Path(printed.strip()).name, "libmpi_abi.so.1")
        self.assertTrue(Path(printed.strip()).is_relative_to(self.prefix.resolve()))
        self.assertTrue(any(file.endswith("docs/mpi-absent.md") for file in self.installed))

    def alone(self, program, *arguments):
        """Without what a launcher around this test may have set."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PMI", "WEFT_"))}
        return run(program, *arguments, env=environment)

    def test_every_public_header_is_installed_and_no_other(self):
        public = sorted(str(path.relative_to(SOURCE)) for path in (SOURCE / "include").rglob("*.hpp"))
        self.assertEqual([file for file in self.installed if file.endswith(".hpp")], public)

    def test_only_programs_for_users_are_installed(self):
        expected = {"weft-mpicc", "weft-mpicxx", "weft-run", "weft-dt", "weft-hpccg", "weft-info", "weft-kmer", "weft-perf", "weft-uts"}
        programs = {file[len("bin/"):] for file in self.installed if file.startswith("bin/")}
        self.assertLessEqual(programs, expected)

    def test_nothing_else_is_installed(self):
        allowed = ("include/weft/", "include/weft-mpi/mpi.h", "include/weft-mpi/mpix.h", "bin/weft-", "share/doc/weft/", "share/weft/perf/", "lib/")
        for file in self.installed:
            self.assertTrue(file.startswith(allowed), file)
            self.assertNotRegex(file, r"gtest|test-support|-lib\.a|_test")

    def test_the_license_is_installed_and_no_debug_information(self):
        self.assertIn("share/doc/weft/LICENSE", self.installed)
        for file in self.installed:
            path = self.prefix / file
            if path.read_bytes()[:4] == b"\x7fELF" or file.endswith(".a"):
                self.assertNotIn(".debug_info", run("readelf", "--sections", "--wide", path), file)

    def test_nothing_installed_names_the_build_tree(self):
        for file in self.installed:
            if file.endswith((".cmake", ".pc")):
                text = (self.prefix / file).read_text()
                self.assertNotIn(str(SOURCE), text, file)
                self.assertNotIn("weft_warnings", text, file)


if __name__ == "__main__":
    unittest.main()

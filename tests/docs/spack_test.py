# SPDX-License-Identifier: BSD-3-Clause
# subject: contrib cmake CMakeLists.txt
"""The Spack recipe says what the build says: its options are there, and its dependencies are those of the build.

Spack itself is not needed: what the recipe calls of it stands here, and notes what it is told.
"""

import os
import re
import sys
import types
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
RECIPE = SOURCE / "contrib/spack/packages/weft/package.py"

# What cmake/dependencies.cmake looks for, and what Spack calls it. Threads are the compiler's.
PACKAGES = {"fmt": "fmt", "PkgConfig": "pkgconfig", "libfabric": "libfabric", "CLI11": "cli11", "ZLIB": "zlib-api",
            "nlohmann_json": "nlohmann-json", "hwloc": "hwloc", "htslib": "htslib", "isal": "isa-l",
            "GTest": "googletest", "OpenSSL": "openssl", "Python3": "python", "Boost": "boost", "Threads": None}


class Condition:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Package:
    """What Spack's CMakePackage does for a recipe, all variants being on."""

    def define_from_variant(self, option, variant):
        return option, variant


def load():
    """The recipe's class, and what it told Spack: names of packages and of variants."""
    told = {"depends_on": [], "variant": [], "license": []}
    stand_in = types.ModuleType("spack.package")
    stand_in.CMakePackage = Package
    stand_in.when = lambda _: Condition()
    for ignored in ("version", "requires", "conflicts"):
        setattr(stand_in, ignored, lambda *_, **__: None)
    for noted in told:
        setattr(stand_in, noted, lambda what, noted=noted, **_: told[noted].append(what))
    sys.modules["spack"] = types.ModuleType("spack")
    sys.modules["spack.package"] = stand_in
    scope = {"__file__": str(RECIPE)}
    exec(compile(RECIPE.read_text(), str(RECIPE), "exec"), scope)
    return scope["Weft"], told


class Recipe(unittest.TestCase):
    def test_its_options_are_those_of_the_build_and_its_variants_are_all_used(self):
        recipe, told = load()
        known = re.findall(r"^option\((\w+)", (SOURCE / "CMakeLists.txt").read_text(), re.MULTILINE)
        arguments = recipe().cmake_args()
        for option, _ in arguments:
            self.assertIn(option, known)
        self.assertEqual(sorted(told["variant"]), sorted(variant for _, variant in arguments))

    def test_it_depends_on_what_the_build_looks_for(self):
        _, told = load()
        wanted = {re.match(r"[\w-]+", what).group() for what in told["depends_on"]} - {"cxx", "cmake"}
        text = (SOURCE / "cmake/dependencies.cmake").read_text()
        looked_for = set(re.findall(r"find_package\((\w+)|pkg_check_modules\((\w+)", text))
        names = {first or second for first, second in looked_for}
        self.assertEqual(wanted, {PACKAGES[name] for name in names} - {None})

    def test_its_license_is_that_of_the_project(self):
        self.assertEqual(load()[1]["license"], ["BSD-3-Clause"])
        self.assertTrue((SOURCE / "LICENSE").read_text().startswith("BSD 3-Clause License\n"))

    def test_it_builds_the_clone_that_it_lies_in(self):
        recipe, _ = load()
        self.assertEqual(recipe.git, SOURCE.resolve().as_uri())


if __name__ == "__main__":
    unittest.main()

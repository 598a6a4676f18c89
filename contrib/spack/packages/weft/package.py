# SPDX-License-Identifier: BSD-3-Clause
"""Weft for Spack: builds the clone that this file lies in."""

from pathlib import Path

from spack.package import *

try:
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:  # before Spack 1.0 it comes with spack.package
    pass


class Weft(CMakePackage):
    """Asynchronous communication between processes with many threads: active messages, send and receive, put, get and
    remote atomics, through shared memory and libfabric."""

    git = Path(__file__).resolve().parents[4].as_uri()

    license("BSD-3-Clause")

    version("main", branch="main")

    variant("shared", default=False, description="Build the library as a shared one")
    variant("programs", default=True, description="Build weft-run, weft-info, weft-perf, weft-kmer, weft-uts, weft-dt, weft-hpccg and the examples")
    variant("tests", default=False, description="Build the tests")

    requires("platform=linux", msg="Weft uses futexes, memfds and process_vm_readv")
    conflicts("%gcc@:11", msg="Weft is C++20: gcc 12 or later")
    conflicts("%clang@:13", msg="Weft is C++20: clang 14 or later")
    conflicts("+tests", when="~programs", msg="the tests test the programs, too")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("fmt@8:")
    depends_on("libfabric@1.11:")

    with when("+programs"):
        depends_on("cli11")
        depends_on("nlohmann-json")
        depends_on("hwloc")
        depends_on("isa-l")
        depends_on("openssl")

    with when("+tests"):
        depends_on("googletest+gmock")
        depends_on("python@3.9:", type="build")
        depends_on("boost@1.74:+context+fiber")
        depends_on("zlib-api")
        depends_on("htslib")

    def cmake_args(self):
        return [
            self.define_from_variant("BUILD_SHARED_LIBS", "shared"),
            self.define_from_variant("WEFT_PROGRAMS", "programs"),
            self.define_from_variant("WEFT_TESTS", "tests"),
        ]

    # libfabric is loaded when it is first used, from wherever the loader looks.
    def setup_run_environment(self, env):
        env.prepend_path("LD_LIBRARY_PATH", self.spec["libfabric"].prefix.lib)

    def setup_dependent_run_environment(self, env, dependent_spec):
        self.setup_run_environment(env)

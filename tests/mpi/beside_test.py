# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi include/weft/mpi.hpp src/core/api/mpi.cpp src/base/copies.cpp cmake/mpi_wrappers.cmake tests/mpi/programs
# not under sanitizers, which a C compiler's programs would need, too
"""The MPI library beside others in a process: beside Weft's own interface, beside a second copy of Weft, and loaded by
Python, whose modules do not see each other's names."""

import os
import re
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from outside import BUILD, LIBRARY, NAMES, WEFT_RUN, OutsideTest, run  # noqa: E402

HEADERS = f"-I{os.environ['TEST_SOURCE_DIR']}/include"
# Loads the library as Python does, and sends a message around.
LOADED = f"""
import ctypes
mpi = ctypes.CDLL("{LIBRARY}", mode=0)
world = ctypes.c_void_p(0x101)
integer = ctypes.c_void_p(0x{{integer:x}})
assert mpi.MPI_Init(None, None) == 0
rank, size, got = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(-1)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
after, before = (rank.value + 1) % size.value, (rank.value - 1) % size.value
assert mpi.MPI_Sendrecv(ctypes.byref(rank), 1, integer, after, 3, ctypes.byref(got), 1, integer, before, 3, world, None) == 0
assert got.value == before, (got.value, before)
assert mpi.MPI_Finalize() == 0
print("right")
"""


class Beside(OutsideTest):
    def test_a_program_uses_mpi_and_active_messages_of_one_weft(self):
        program = self.compiled("beside.cpp", "-std=c++20", HEADERS, "-lweft", wrapper=NAMES / "mpicxx")
        for ranks in (2, 3):
            self.succeeds(WEFT_RUN, "-n", ranks, program)

    def test_two_copies_of_weft_end_with_a_line_that_names_both(self):
        archive = BUILD / "lib/libweft.a"
        if not archive.exists():
            self.skipTest("the build has no archive")
        program = self.compiled("two_copies.cpp", "-std=c++20", HEADERS, archive, "-lfmt", "-ldl", wrapper=NAMES / "mpicxx")
        result = run(program)
        self.assertEqual((result.returncode, result.stdout), (16, ""), result.stderr)
        self.assertRegex(result.stderr, r"^MPI_Init: MPI_ERR_OTHER: this process has 2 copies of Weft: \S*/two_copies-mpicxx, "
                         r"\S*/libweft\.so\.\S*; [^\n]*: link the program and all its libraries with one libweft.so[^\n]*\n$")

    def test_python_loads_it_with_names_that_no_other_library_sees(self):
        script = self.folder / "loaded.py"
        header = (BUILD / "include/weft-mpi/mpi.h").read_text()
        integer = int(re.search(r"#define MPI_INT .* (0x\w+)\)", header).group(1), 16)
        script.write_text(LOADED.format(integer=integer))
        self.assertEqual(self.succeeds(WEFT_RUN, "-n", 2, sys.executable, script), ["right"] * 2)


if __name__ == "__main__":
    unittest.main()

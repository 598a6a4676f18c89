# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi
# not under sanitizers, whose runtimes have symbols of their own
"""The library exports the names of the standard ABI, those of its extensions, and no other; its headers compile in all languages, and mpi.h agrees with
that of another library of the ABI where TEST_MPI_PEER names its compiler's wrapper, such as mpicc_abi."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from fnmatch import fnmatchcase
from pathlib import Path

BUILD = Path(os.environ["TEST_BUILD_DIR"])
TABLES = Path(os.environ["TEST_SOURCE_DIR"]) / "src/mpi/api"
HEADER = BUILD / "include/weft-mpi"
sys.dont_write_bytecode = True
sys.path.insert(0, str(TABLES))
from header import handles_of  # noqa: E402
from tables import Tables, read_rows  # noqa: E402

PEER = os.environ.get("TEST_MPI_PEER")
FUNCTIONS = 664
FUNCTIONS_THERE = 425  # and more of the families of which some are absent


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=300, **options)
    if result.returncode != 0:
        raise AssertionError(f"{command}: {result.stderr}")
    return result.stdout


class Abi(unittest.TestCase):
    tables = Tables(TABLES)
    extensions = Tables(TABLES / "extensions", tables)

    def test_all_names_and_their_twins_are_exported_and_no_other(self):
        listed = run("nm", "-D", "--defined-only", BUILD / "lib/libmpi_abi.so.1").splitlines()
        exported = {line.split()[2]: line.split()[1] for line in listed}
        names = [one.name for one in self.tables.functions]
        self.assertEqual(len(set(names)), FUNCTIONS)
        self.assertEqual({name for name in names if not name.startswith("MPI_")}, set())
        extensions = [one.name for one in self.extensions.functions]
        self.assertEqual({name for name in extensions if not name.startswith("MPIX_")}, set())
        names += extensions
        self.assertEqual(set(exported), {prefix + name for name in names for prefix in ("", "P")})
        self.assertEqual({exported[name] for name in names}, {"W"})
        self.assertEqual({exported["P" + name] for name in names}, {"T"})

    def test_all_functions_are_there_but_those_of_eight_families(self):
        families, of_one = read_rows(TABLES / "families.tsv"), set()
        for row in families:
            patterns = row["names"].split()
            found = {one.name for one in self.tables.functions
                     if any(f"{one.chapter}.table" == text or fnmatchcase(one.name, text) for text in patterns)} - of_one
            self.assertEqual(len(found), int(row["functions"]), row["family"])
            of_one |= found
        supported = {one.name for one in self.tables.functions if one.is_supported}
        others = {one.name for one in self.tables.functions} - of_one
        self.assertEqual((len(families), len(others)), (8, FUNCTIONS_THERE))
        self.assertEqual(others - supported, set())

    def test_the_headers_compile_in_c_and_cxx(self):
        program = '#include <mpi.h>\nstatic MPI_Comm of = MPI_COMM_WORLD;\nint main(void) { return of == MPI_COMM_NULL; }\n'
        for compiler, language, standards in (("cc", "c", ("c89", "c99", "c11")), ("c++", "c++", ("c++98", "c++11", "c++20"))):
            for standard in standards:
                for text in (program, program.replace("<mpi.h>", "<mpix.h>")):
                    run(compiler, "-x", language, f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{HEADER}",
                        "-fsyntax-only", "-", input=text)

    def test_functions_of_fortrans_handles_are_compiled_into_the_program(self):
        """So it needs no name that other libraries of the ABI lack."""
        program = '#include <mpi.h>\nMPI_Comm given(MPI_Fint comm) { return MPI_Comm_f2c(comm); }\n'
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "given.o"
            run("cc", "-x", "c", f"-I{HEADER}", "-c", "-o", output, "-", input=program)
            needed = {line.split()[-1] for line in run("nm", "--undefined-only", output).splitlines()}
        self.assertEqual({name for name in needed if "MPI" in name}, {"MPI_Comm_fromint"})
        for name in ("int MPI_Fint;", "int MPI_Comm_f2c;", "int PMPI_Status_c2f;"):
            run("cc", "-x", "c", f"-I{HEADER}", "-DWEFT_MPI_ABI_ONLY", "-fsyntax-only", "-", input=f"#include <mpi.h>\n{name}\n")

    def test_handles_have_the_tags_that_names_of_cxx_functions_hold(self):
        tags = dict(handles_of(self.tables))
        program = "#include <mpi.h>\n" + "".join(f"void take({name});\nvoid call_{name}({name} of) {{ take(of); }}\n" for name in tags)
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "tags.o"
            run("c++", "-x", "c++", f"-I{HEADER}", "-c", "-o", output, "-", input=program)
            names = run("nm", output)
        for tag in tags.values():
            tag = tag.removeprefix("struct ")
            self.assertIn(f"_Z4takeP{len(tag)}{tag}\n", names)

    def names_of_types(self):
        return ["MPI_Status", "MPI_Aint", "MPI_Count", "MPI_Offset", "MPI_T_cb_safety",
                *handles_of(self.tables)]

    def values(self, *flags):
        """Sizes of types, and values of constants, as a C program has them."""
        lines = [f'  printf("{row["name"]} %lld\\n", (long long) {row["name"]});' for row in self.tables.constants
                 if not row["name"].startswith("MPIX_")]
        lines += [f'  printf("sizeof {name} %d\\n", (int) sizeof({name}));'
                  for name in self.names_of_types()]
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "values"
            run("cc", "-x", "c", "-w", *flags, "-o", output, "-", input="\n".join(
                ["#include <mpi.h>", "#include <stdio.h>", "int main(void) {", *lines, "  return 0;", "}", ""]))
            return run(output).splitlines()

    def test_constants_have_the_values_of_the_tables(self):
        found = dict(line.rsplit(" ", 1) for line in self.values(f"-I{HEADER}"))
        self.assertEqual(found["sizeof MPI_Status"], "32")
        for row in self.tables.constants:
            if re.fullmatch(r"-?(0x)?[0-9a-fA-F]+", row["value"]) and row["name"] in found:
                self.assertEqual(int(found[row["name"]]), int(row["value"], 0), row["name"])

    @unittest.skipUnless(PEER, "TEST_MPI_PEER names no other library of the ABI")
    def test_constants_and_sizes_are_those_of_another_library(self):
        flags = re.findall(r"-[ID]\S+", run(PEER, "-show"))
        self.assertEqual(self.values(f"-I{HEADER}"), self.values(*flags))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi programs/weft-run programs/weft-mpicc tests/mpi/programs
# not under sanitizers, which a C compiler's programs would need, too
"""Programs of one library of the standard ABI run with the other: theirs on ours, and ours on theirs."""

import subprocess
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from outside import BUILD, PEER, WEFT_RUN, WITH_PEER, OutsideTest, environment, run  # noqa: E402

# A library of no use to MPI, whose functions are those of a tool.
TOOL = """#include <mpi.h>
#include <stdio.h>
int MPI_Finalize(void) { puts("tool"); return PMPI_Finalize(); }
"""
# Says which library it runs on.
WHOSE = """#include <mpi.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char** argv) {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(text, &length);
  MPI_Init(&argc, &argv);
  puts(strncmp(text, "Weft", 4) == 0 ? "Weft" : "another");
  return MPI_Finalize();
}
"""


class Preloaded(OutsideTest):
    """A stand-in for another library: a run path in which there is one of the same name that can't be used."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.theirs = cls.folder / "their lib"
        cls.theirs.mkdir()
        source = cls.folder / "whose.c"
        source.write_text(WHOSE)
        header = f"-I{BUILD}/include/weft-mpi"
        cls.program = cls.folder / "whose"
        cls.stand_in = cls.theirs / "libmpi_abi.so.1"
        functions = "".join(f"void {name}(void) {{ _Exit(9); }}\n" for name in ("MPI_Init", "MPI_Finalize", "MPI_Get_library_version"))
        (cls.folder / "theirs.c").write_text("#include <stdlib.h>\n" + functions)
        for command in (["-shared", "-fPIC", "-Wl,-soname,libmpi_abi.so.1", "theirs.c", "-o", cls.stand_in],
                        # The run path that comes before all that variables say.
                        [header, "whose.c", "-o", cls.program, cls.stand_in, f"-Wl,-rpath,{cls.theirs},--disable-new-dtags"]):
            subprocess.run(["cc", *map(str, command)], cwd=cls.folder, check=True, timeout=600)

    def test_the_run_path_finds_the_other_library_without_the_option(self):
        self.assertEqual(run(WEFT_RUN, "-n", 1, self.program).returncode, 9)

    def test_with_the_option_the_library_is_ours(self):
        self.assertEqual(self.succeeds(WEFT_RUN, "--mpi", "-n", 2, self.program), ["Weft"] * 2)

    def test_what_the_user_preloads_stays_and_is_first(self):
        (self.folder / "tool.c").write_text(TOOL)
        tool = self.folder / "tool.so"
        subprocess.run(["cc", f"-I{BUILD}/include/weft-mpi", "-shared", "-fPIC", self.folder / "tool.c", "-o", tool], check=True,
                       timeout=600)
        for how in ({"env": environment(LD_PRELOAD=str(tool))}, {}):
            options = [] if how else ["-x", f"LD_PRELOAD={tool}"]
            self.assertEqual(self.succeeds(WEFT_RUN, "--mpi", *options, "-n", 1, self.program, **how), ["Weft", "tool"])


@WITH_PEER
class Peer(OutsideTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.their_launcher = Path(PEER).with_name("mpiexec")
        cls.their_lib = next((path.parent for path in Path(PEER).resolve().parents[1].glob("lib*/libmpi_abi.so*")), None)

    def test_their_programs_run_on_ours(self):
        for name, lines in (("hello.c", 4), ("ring.c", None), ("interposed.c", None)):
            program = self.compiled(name, wrapper=PEER)
            printed = self.succeeds(WEFT_RUN, "--mpi", "-n", 3, program)
            self.assertEqual(len(printed), lines or len(printed))
        (self.folder / "whose.c").write_text(WHOSE)
        program = self.compiled(self.folder / "whose.c", wrapper=PEER)
        self.assertEqual(self.succeeds(WEFT_RUN, "--mpi", "-n", 2, program), ["Weft"] * 2)
        self.assertEqual(self.succeeds(program), ["another"])

    def test_our_programs_run_on_theirs(self):
        if self.their_lib is None or not self.their_launcher.exists():
            self.skipTest("their library or launcher isn't where their compiler's wrapper is")
        theirs = environment(LD_LIBRARY_PATH=str(self.their_lib))
        for name in ("hello.c", "ring.c", "interposed.c"):
            program = self.compiled(name)
            ours = self.succeeds(WEFT_RUN, "-n", 3, program)
            self.assertEqual(self.succeeds(self.their_launcher, "-n", 3, program, env=theirs), ours)


if __name__ == "__main__":
    unittest.main()

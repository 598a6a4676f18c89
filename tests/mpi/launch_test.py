# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi src/boot programs/weft-run programs/weft-mpicc tests/mpi/programs
# not under sanitizers, which a C compiler's programs would need, too
"""How programs of MPI are started: by Weft's mpiexec, by that of others, and in vain."""

import shutil
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from outside import NAMES, PROGRAMS, OutsideTest, environment, run  # noqa: E402

HYDRA = shutil.which("mpiexec.hydra")
SHOW = 'echo "$PMI_RANK of $PMI_SIZE: $* $ONE $ALL"'


def hello(ranks):
    return sorted([*(f"rank {rank} of {ranks}" for rank in range(ranks)), f"sum {sum(range(ranks))}"])


class Mpiexec(OutsideTest):
    def mpiexec(self, *arguments, **options):
        return self.succeeds(NAMES / "mpiexec", *arguments, **options)

    def refused(self, *arguments):
        result = run(NAMES / "mpiexec", *arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"^mpiexec: [^\n]*\(see mpiexec --help\)\n$")
        return result.stderr

    def test_programs_of_a_job_have_ranks_in_their_order(self):
        printed = self.mpiexec("-n", 2, "sh", "-c", SHOW, "sh", "a", "b", ":", "-np", 1, "sh", "-c", SHOW, "sh", "c")
        self.assertEqual(printed, ["0 of 3: a b  ", "1 of 3: a b  ", "2 of 3: c  "])

    def test_two_programs_are_one_world(self):
        program = self.compiled("hello.c")
        self.assertEqual(self.mpiexec("-n", 2, program, ":", program), hello(3))

    def test_each_program_has_its_number_in_an_attribute(self):
        program = self.compiled("program_number.c")
        self.assertEqual(self.mpiexec("-n", 2, program, ":", program, ":", program), [
            "rank 0 is of program 0", "rank 1 is of program 0", "rank 2 is of program 1", "rank 3 is of program 2"])

    def test_variables_are_for_a_program_or_for_all(self):
        show = ("sh", "-c", SHOW)
        printed = self.mpiexec("-genv", "ALL", "x", "-env", "ONE", 1, *show, ":", "-x", "ONE=2", *show, ":", *show)
        self.assertEqual(printed, ["0 of 3:  1 x", "1 of 3:  2 x", "2 of 3:   x"])
        # Open MPI's -x without a value passes on a variable, which ranks have here in any case.
        self.assertEqual(self.mpiexec("-x", "ONE", *show, env=environment(ONE="9")), ["0 of 1:  9 "])

    def test_settings_of_each_program_are_looked_at_before_there_are_ranks(self):
        result = run(NAMES / "mpiexec", "echo", "a", ":", "-env", "WEFT_TRANSPORT", "ib", "echo", "b")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertRegex(result.stderr, r"\A[^\n]*names 'ib', which this Weft does not have[^\n]*\n\Z")
        result = run(NAMES / "mpiexec", "-genv", "WEFT_COLOUR", "red", "true", ":", "true")
        self.assertEqual((result.returncode, result.stderr.count("WEFT_COLOUR is no setting")), (0, 1))

    def test_ranks_are_bound_and_may_be_more_than_cores(self):
        printed = self.mpiexec("--oversubscribe", "--bind-to", "core", "-n", 1, "sh", "-c", "grep ^Cpus_allowed_list /proc/self/status")
        self.assertRegex(printed[0], r"^Cpus_allowed_list:\s+\d+(,\d+)?$")
        self.assertEqual(len(self.mpiexec("-oversubscribe", "-bind-to", "none", "-n", 9, "echo", "x")), 9)

    def test_what_it_does_not_know_it_names_in_one_line(self):
        self.assertIn("--mca is not known; known are -n, ", self.refused("-n", 2, "--mca", "a", "b", "true"))
        self.assertIn("--bind-to l3 is not known; ", self.refused("--bind-to", "l3", "true"))
        self.assertIn("-np 0 is no number of ranks from 1 to ", self.refused("-np", 0, "true"))
        self.assertIn("-n lacks its value", self.refused("-n"))
        self.assertIn("a job has at most 4096 ranks", self.refused("-n", 4096, "true", ":", "true"))
        self.assertIn("'A=B' is no name of a variable", self.refused("-env", "A=B", "1", "true"))
        self.assertIn("-x NO_SUCH_NAME: there is no such variable", self.refused("-x", "NO_SUCH_NAME", "true"))
        self.assertIn("which program is to be started?", self.refused())
        self.assertIn("which program is to be started?", self.refused("-n", 1, ":", "true"))
        self.assertIn("which program is to be started after ':'?", self.refused("true", ":"))

    def test_a_program_that_cannot_be_started_is_named(self):
        result = run(NAMES / "mpirun", "-n", 2, "sleep", 100, ":", "./no-such-program")
        self.assertEqual(result.returncode, 127)
        self.assertEqual(result.stderr, "weft-run: rank 2 could not be started: ./no-such-program: No such file or directory\n")

    def test_it_has_help_and_a_version(self):
        for name in ("mpiexec", "mpirun"):
            self.assertRegex(self.succeeds(NAMES / name, "--version")[0], r"^mpiexec of Weft \d")
            self.assertIn("-genv NAME VALUE", run(NAMES / name, "-h").stdout)


class Wrapper(OutsideTest):
    def test_v_prints_the_versions_of_wrapper_and_compiler_and_links_nothing(self):
        for name, options in (("mpicc", ()), ("mpicxx", ()), ("mpicc", ("-O2", "-I", "/tmp"))):
            result = run(NAMES / name, "-v", *options)
            self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)
            self.assertRegex(result.stderr, rf"\Aweft-{name} of Weft \d+\.\d+\.\d+\n")
            self.assertRegex(result.stderr, r"(?m)^(gcc|.*clang) version \d")

    def test_v_beside_sources_shows_the_commands_that_it_runs(self):
        program = self.folder / "verbose"
        result = run(NAMES / "mpicc", "-v", PROGRAMS / "hello.c", "-o", program)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("-lmpi_abi", result.stderr)
        self.assertEqual(self.succeeds(program), hello(1))


class Others(OutsideTest):
    @unittest.skipUnless(HYDRA, "mpiexec.hydra is not installed")
    def test_the_launcher_of_mpich_starts_programs(self):
        self.assertEqual(self.succeeds(HYDRA, "-n", 3, self.compiled("hello.c")), hello(3))

    def test_under_a_launcher_of_another_protocol_no_rank_runs_alone(self):
        program = self.compiled("hello.c")
        for marks in ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, {"PMIX_RANK": "1"},
                      {"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, {"PMI_RANK": "0", "PMI_SIZE": "2"}):
            result = run(program, env=environment(**marks))
            self.assertEqual((result.returncode, result.stdout), (16, ""), marks)
            self.assertRegex(result.stderr, r"^MPI_Init: MPI_ERR_OTHER: started by [^\n]* speaks no protocol that Weft "
                             r"supports [^\n]*; to run this process alone on purpose, set WEFT_BOOT=single\n$")

    def test_a_job_of_one_rank_needs_no_protocol(self):
        marks = {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}
        self.assertEqual(self.succeeds(self.compiled("hello.c"), env=environment(**marks)), hello(1))


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi src/boot programs/weft-run programs/weft-mpicc tests/mpi/programs
# not under sanitizers, which a C compiler's programs would need, too
"""How programs of MPI are started: by Weft's mpiexec, by that of others, and in vain."""

import shutil
import socket
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from outside import LIBRARY, NAMES, PROGRAMS, WEFT_RUN, OutsideTest, environment, run  # noqa: E402

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
        # Hydra takes one word, too.
        self.assertEqual(self.mpiexec("-genv", "ALL=x=y", *show), ["0 of 1:   x=y"])
        # Open MPI's -x without a value passes on a variable, which ranks have here in any case.
        self.assertEqual(self.mpiexec("-x", "ONE", *show, env=environment(ONE="9")), ["0 of 1:  9 "])
        result = run(NAMES / "mpiexec", "-x", "NO_SUCH_NAME", "echo", "x")
        self.assertEqual((result.returncode, result.stdout), (0, "x\n"))
        self.assertEqual(result.stderr, "mpiexec: -x NO_SUCH_NAME: there is no such variable; skipped\n")

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

    def test_options_of_scripts_with_a_meaning_on_one_machine_are_obeyed(self):
        folder = self.folder / "elsewhere"
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        script = folder / "bin/here"
        script.write_text("#!/bin/sh\npwd\n")
        script.chmod(0o755)
        for launcher in ((NAMES / "mpiexec",), (WEFT_RUN, "-n", 1)):
            for option in ("-wdir", "--wdir", "-wd"):
                self.assertEqual(self.succeeds(*launcher, option, folder, "pwd"), [str(folder.resolve())])
            self.assertEqual(self.succeeds(*launcher, "-path", f"/no/such:{folder}/bin", "-wdir", "/", "here"), ["/"])
            self.assertEqual(self.succeeds(*launcher, "-wdir", folder, "-path", "bin", "here"), [str(folder.resolve())])
            for option in ("-l", "-prepend-rank", "--tag-output"):
                self.assertEqual(self.succeeds(*launcher, option, "echo", "x"), ["[0] x"])
            for options in (("--allow-run-as-root",), ("-host", "localhost"), ("--host", "127.0.0.1:3"), ("-genvall",),
                            ("-hosts", f"localhost,{socket.gethostname()}"), ("-H", "localhost"), ("-ppn", 1)):
                self.assertEqual(self.succeeds(*launcher, *options, "-np", 1, "echo", "x"), ["x"], options)
            result = run(*launcher, "-timeout", "0.2", "sleep", 1000)
            self.assertEqual((result.returncode, result.stderr), (124, "weft-run: the job took longer than 0.2 s; ending it\n"))
        result = run(NAMES / "mpiexec", "true", ":", "-wdir", "/no/such", "true")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "weft-run: rank 1 could not be started in the folder /no/such: No such file or directory\n")

    def test_without_n_there_are_as_many_ranks_as_fit_the_named_node(self):
        hosts = self.folder / "hosts"
        hosts.write_text("# this machine\n\nlocalhost slots=2  # twice\nlocalhost:1\n")
        for options, ranks in ((("-ppn", 3), 3), (("-npernode", 2), 2), (("-N", 2), 2), (("-host", "localhost:2,localhost"), 3),
                               (("-hostfile", hosts), 3), (("-machinefile", hosts, "-n", 1), 1), (("-pernode",), 1)):
            for launcher in (NAMES / "mpiexec", WEFT_RUN):
                self.assertEqual(self.succeeds(launcher, *options, "echo", "x"), ["x"] * ranks, options)
        self.assertEqual(self.mpiexec("-ppn", 2, "echo", "a", ":", "echo", "b"), ["a", "a", "b"])

    def test_another_machine_is_refused_with_how_to_start_there(self):
        hosts = self.folder / "other_hosts"
        hosts.write_text("localhost\nnode7\n")
        for launcher in (NAMES / "mpiexec", WEFT_RUN):
            for options in (("-host", "node7"), ("-hosts", "localhost,node7:2"), ("-hostfile", hosts), ("-H", "node7"),
                            ("--host=node7",), ("-host", "node7.example.org"), ("-host", "192.0.2.7"), ("-host", "2001:db8::7")):
                result = run(launcher, *options, "-n", 2, "echo", "x")
                self.assertEqual((result.returncode, result.stdout), (2, ""), options)
                self.assertRegex(result.stderr, r"\A[^\n]* is another machine, [^\n]*mpiexec\.hydra -hosts [^\n]*\n\Z")

    def test_options_about_networks_and_other_nodes_are_accepted_with_one_line(self):
        for launcher in (NAMES / "mpiexec", WEFT_RUN):
            result = run(launcher, "--mca", "btl", "self,tcp", "-n", 2, "--map-by", "ppr:1:core", "--report-bindings",
                         "--mca", "pml", "ob1", "--bind-to", "none", "echo", "x")
            self.assertEqual((result.returncode, result.stdout), (0, "x\nx\n"))
            self.assertEqual(result.stderr, f"{launcher.name}: no effect here: --mca btl self,tcp, --map-by ppr:1:core, "
                                            "--report-bindings, --mca pml ob1\n")
            result = run(launcher, "-q", "--map-by", "node", "-x", "NO_SUCH_NAME", "-n", 1, "echo", "x")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "x\n", ""))
            self.assertIn("--mca lacks its value", run(launcher, "--mca", "btl").stderr)

    def test_what_it_does_not_know_it_names_in_one_line(self):
        self.assertIn("--moon is not known", self.refused("-n", 2, "--moon", "a", "b", "true"))
        self.assertIn("--bind-to l3 is not known; ", self.refused("--bind-to", "l3", "true"))
        self.assertIn("-np 0 is no number of ranks from 1 to ", self.refused("-np", 0, "true"))
        self.assertIn("-n lacks its value", self.refused("-n"))
        self.assertIn("a job has at most 4096 ranks", self.refused("-n", 4096, "true", ":", "true"))
        self.assertIn("'=B' is no name of a variable", self.refused("-env", "=B", "1", "true"))
        self.assertIn("'=B' is no name of a variable", self.refused("-x", "=B", "true"))
        self.assertIn("--oversubscribe takes no value", self.refused("--oversubscribe=2", "true"))
        self.assertIn("-timeout soon is no number of seconds", self.refused("-timeout", "soon", "true"))
        self.assertIn("-hostfile /no/such/file: No such file or directory", self.refused("-hostfile", "/no/such/file", "true"))
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


COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@unittest.skipUnless(COMPILER, "there is no C compiler")
class OtherLibraries(OutsideTest):
    """Programs of an MPI library that speaks no protocol of Weft's launcher: each rank is a job of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.library = cls.folder / "libmpi.so.40"
        cls.program = cls.folder / "program"
        (cls.folder / "library.c").write_text("int MPI_Init(int* a, char*** b) { return a != 0 && b != 0; }\n")
        (cls.folder / "program.c").write_text("int MPI_Init(int*, char***);\n"
                                              "int main(int n, char** a) { MPI_Init(0, 0); return n > 1 ? a[1][0] - '0' : 0; }\n")
        for command in ((COMPILER, "-shared", "-fPIC", "-Wl,-soname,libmpi.so.40", "library.c", "-o", cls.library),
                        (COMPILER, "program.c", "-o", cls.program, cls.library, f"-Wl,-rpath,{cls.folder}")):
            result = run(*command, cwd=cls.folder)
            assert result.returncode == 0, result.stderr

    LINE = (r"weft-run: rank \d uses another MPI library \([^\n]*libmpi\.so\.40\), and no rank has joined this job: each rank is "
            r"a job of its own; start it with the launcher of that library, or compile it with weft-mpicc\n")

    def test_a_rank_that_uses_one_is_named_in_one_line_and_the_exit_code_stays(self):
        for launcher in ((NAMES / "mpiexec", "-n", 3), (WEFT_RUN, "-n", 1)):
            result = run(*launcher, self.program)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, rf"\A{self.LINE}\Z")
        result = run(WEFT_RUN, "-n", 2, self.program, 7)
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stderr, rf"\A{self.LINE}weft-run: rank \d failed: exit code 7\n\Z")
        result = run(WEFT_RUN, "-n", 2, self.program.name, env=environment(PATH=f"{self.folder}:/usr/bin:/bin"))
        self.assertRegex(result.stderr, rf"\A{self.LINE}\Z")
        result = run(WEFT_RUN, "-n", 2, "-wdir", self.folder, f"./{self.program.name}")
        self.assertRegex(result.stderr, rf"\A{self.LINE}\Z")
        self.assertEqual(run(WEFT_RUN, "-q", "-n", 2, self.program).stderr, "")

    def test_so_is_one_whose_interpreter_has_loaded_it(self):
        load = f"import ctypes, time; ctypes.CDLL('{self.library}'); time.sleep(1)"
        for program in ((sys.executable, "-c", load), ("sh", "-c", 'true; "$@"; true', "sh", sys.executable, "-c", load)):
            result = run(NAMES / "mpiexec", "-n", 2, *program)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, rf"\A{self.LINE}\Z")

    def test_nothing_is_said_of_other_programs_and_where_a_rank_has_joined(self):
        hello_program = self.compiled("hello.c")
        self.assertEqual(self.succeeds(NAMES / "mpiexec", "-n", 2, "sh", "-c", "sleep 0.1; echo x"), ["x", "x"])
        self.assertEqual(self.succeeds(NAMES / "mpiexec", "-n", 2, hello_program), hello(2))
        # Weft's own library, before MPI_Init.
        own = f"import ctypes, time; ctypes.CDLL('{LIBRARY}'); time.sleep(0.3)"
        self.assertEqual(self.succeeds(WEFT_RUN, "-n", 1, sys.executable, "-c", own), [])
        self.assertEqual(self.succeeds(WEFT_RUN, "-n", 2, "sh", "-c", 'test $PMI_RANK = 0 || exit 0; LD_PRELOAD="$1" sleep 0.3',
                                       "sh", LIBRARY), [])
        self.assertEqual(self.succeeds(WEFT_RUN, "-n", 1, "sh", "-c", '"$1" && exec "$2"', "sh", hello_program, self.program),
                         hello(1))


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

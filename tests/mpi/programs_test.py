# SPDX-License-Identifier: BSD-3-Clause
# subject: src/mpi programs/weft-mpicc tests/mpi/programs
# not under sanitizers, which a C compiler's programs would need, too
"""Programs that users write: compiled by weft-mpicc, run under weft-run and alone."""

import os
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

BUILD = Path(os.environ["TEST_BUILD_DIR"])
SOURCE = Path(os.environ["TEST_SOURCE_DIR"]) / "tests/mpi/programs"
WRAPPER = BUILD / "bin/weft-mpicc"
SECONDS_MAX = 300


def run(*command, **variables):
    return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=SECONDS_MAX, env={**os.environ, **variables})


def ends_alone(*command):
    """The process's standard input is a pipe into which nothing is written. It has to end long before others would end it."""
    process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    with process:
        # Not `communicate`, which closes standard input.
        outputs = {}
        readers = [threading.Thread(target=lambda name, stream: outputs.update({name: stream.read()}), args=each)
                   for each in (("stdout", process.stdout), ("stderr", process.stderr))]
        for reader in readers:
            reader.start()
        try:
            process.wait(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
        for reader in readers:
            reader.join()
        return subprocess.CompletedProcess(command, process.returncode, outputs["stdout"], outputs["stderr"])


class Programs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def made(self, name, wrapper=WRAPPER):
        output = Path(self.folder.name) / f"{name}-{wrapper.name}"
        if not output.exists():
            result = run(wrapper, "-O1", "-Wall", "-Werror", SOURCE / f"{name}.c", "-o", output)
            self.assertEqual(result.returncode, 0, result.stderr)
        return output

    def ends_well(self, ranks, program, *words, **variables):
        result = run(BUILD / "bin/weft-run", "-n", ranks, program, *words, **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        return sorted(result.stdout.splitlines())

    def test_hello_has_all_ranks(self):
        hello = self.made("hello")
        self.assertEqual(self.ends_well(3, hello), ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3", "sum 3"])

    def test_without_a_launcher_it_is_one_rank(self):
        result = run(self.made("hello"))
        self.assertEqual((result.returncode, result.stdout), (0, "rank 0 of 1\nsum 0\n"), result.stderr)

    def test_messages_go_around(self):
        for ranks in (1, 2, 5):
            self.ends_well(ranks, self.made("ring"))

    def test_threads_use_communicators_of_several_vcis(self):
        for vcis, ranks, line in (("1", 2, "world 0, dups 0 0 0 0; named 0, asked 0"),
                                  ("4", 1, "world 0, dups 0 1 2 3; named 1, asked 2"),
                                  ("4", 4, "world 0, dups 0 1 2 3; named 1, asked 2"),
                                  ("3", 2, "world 0, dups 2 0 1 2; named 1, asked 2")):
            for progress in ("1", "0"):
                with self.subTest(vcis=vcis, ranks=ranks, progress=progress):
                    self.assertEqual(self.ends_well(ranks, self.made("vcis"), WEFT_MPI_VCIS=vcis,
                                                    WEFT_MPI_GLOBAL_PROGRESS=progress), [line] * ranks)
        self.ends_well(2, self.made("vcis"), WEFT_MPI_VCIS="4", WEFT_TRANSPORT="sim:self,sim:shm", WEFT_SIM_SEED="7")

    def test_a_thread_makes_progress_while_the_program_computes(self):
        for ranks, vcis in ((2, "1"), (3, "2")):
            file = Path(self.folder.name) / f"sent-{ranks}"
            self.assertEqual(self.ends_well(ranks, self.made("progress_thread"), file, WEFT_MPI_PROGRESS_THREAD="1", WEFT_MPI_VCIS=vcis),
                             ["matched meanwhile"])
        for program in ("vcis", "ring"):
            self.ends_well(2, self.made(program), WEFT_MPI_PROGRESS_THREAD="1", WEFT_MPI_VCIS="3")

    def test_settings_of_vcis_that_contradict_each_other_are_refused(self):
        for variables, text in (
                ({"WEFT_MPI_VCIS": "5", "WEFT_DEVICES_MAX": "4"}, "WEFT_MPI_VCIS=5 contradicts WEFT_DEVICES_MAX=4"),
                ({"WEFT_MPI_GLOBAL_PROGRESS": "0", "WEFT_PROGRESS_POLICY": "all"},
                 "WEFT_MPI_GLOBAL_PROGRESS=0 contradicts WEFT_PROGRESS_POLICY=all")):
            result = run(self.made("vcis"), **variables)
            self.assertEqual((result.returncode, result.stdout), (16, ""))
            self.assertRegex(result.stderr, rf"\AMPI_Init_thread: MPI_ERR_OTHER: [^\n]*{text}[^\n]*\n\Z")

    def test_listings_of_the_paper_on_progress(self):
        """zhou2024, Listings 2 to 8."""
        for listing, line in (("2", "10 of 10 ended"), ("3", "10 latencies, none below zero"), ("4", "10 of 10 ended"), ("5", "10 threads"),
                              ("7", None), ("8", "0 wrong")):
            for ranks in (1, 2, 4):
                with self.subTest(listing=listing, ranks=ranks):
                    lines = [] if line is None else [line] * ranks
                    self.assertEqual(self.ends_well(ranks, self.made(f"listing{listing}")), lines)
        for ranks in (1, 2, 5):
            self.assertEqual(self.ends_well(ranks, self.made("listing6")), [f"{2 * ranks} of {2 * ranks}"] * ranks)
        for name in ("listing6", "listing8"):
            self.ends_well(2, self.made(name), WEFT_TRANSPORT="sim:self,sim:shm", WEFT_SIM_SEED="7")
            self.ends_well(2, self.made(name), WEFT_MPI_PROGRESS_THREAD="1")
            self.ends_well(2, self.made(name), WEFT_CHECK="1")

    def test_threads_have_streams(self):
        streams = self.made("streams")
        for ranks in (1, 2, 3, 4):
            self.assertEqual(self.ends_well(ranks, streams), ["0 wrong"] * ranks)
        for variables in ({"WEFT_TRANSPORT": "sim:self,sim:shm", "WEFT_SIM_SEED": "11"}, {"WEFT_CHECK": "1"},
                          {"WEFT_MPI_VCIS": "3"}, {"WEFT_MPI_VCIS": "2", "WEFT_MPI_GLOBAL_PROGRESS": "0"},
                          {"WEFT_MPI_PROGRESS_THREAD": "1"}):
            with self.subTest(variables=variables):
                self.assertEqual(self.ends_well(2, streams, **variables), ["0 wrong"] * 2)

    def test_finalize_ends_hooks(self):
        left = self.made("hooks_left")
        for ranks in (1, 2, 3):
            self.assertEqual(self.ends_well(ranks, left, "chain"), ["5 ended, message 0"] * ranks)
            self.assertEqual(self.ends_well(ranks, left, "message"),
                             ["0 ended, message 0"] * (ranks - 1) + ["1 ended, message 7"])

    def test_a_hook_that_never_ends_is_named(self):
        """The program is ended once the line is there."""
        with subprocess.Popen([BUILD / "bin/weft-run", "-n", "1", "--timeout", str(SECONDS_MAX), self.made("hooks_left"), "never"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, "WEFT_STUCK_AFTER": "1"}) as process:
            line = next((line for line in process.stderr if " has waited " in line), "")
            process.terminate()
        self.assertRegex(line, r"in MPI_Finalize for the end of 1 hook of MPIX_Async_start\n\Z")

    def test_extensions_outside_of_init_and_finalize_end_in_one_line(self):
        for time in ("before", "after"):
            for word, name in (("start", "MPIX_Async_start"), ("progress", "MPIX_Stream_progress"), ("query", "MPIX_Request_is_complete")):
                result = run(self.made("mpix_outside"), time, word)
                line = f"{name}: MPI_ERR_OTHER: it is called before MPI_Init or after MPI_Finalize\n"
                self.assertEqual((result.returncode, result.stderr), (16, line), (time, word))

    def test_continuations_that_are_used_wrongly_end_in_one_line(self):
        program = self.made("continuation_ends", BUILD / "bin/weft-mpicxx")
        for word, line in (("fails", "MPIX_Continue of rank 0 in MPI_COMM_SELF: MPI_ERR_TRUNCATE: the message of 8 bytes from rank 0 with tag 3 is "
                            "longer than its buffer"),
                           ("throws", "MPIX_Continue: a callback has thrown an exception, which no caller can catch"),
                           ("returns", "MPIX_Continue of rank 0: MPI_ERR_IO"), ("finalizes", "MPI_Finalize of rank 0: MPI_ERR_OTHER: "),
                           ("waits", "MPI_Barrier of rank 0 in MPI_COMM_WORLD: MPI_ERR_OTHER: "),
                           ("frees", "MPI_Request_free of rank 0: MPI_ERR_REQUEST: continuations that are registered in it have not run"),
                           ("tests", "MPI_Test of rank 0: MPI_ERR_REQUEST: a continuation is attached to the request")):
            with self.subTest(word=word):
                result = run(program, word)
                self.assertNotIn(result.returncode, (0, 3), result.stderr)
                self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                self.assertTrue(result.stderr.startswith(line), result.stderr)
        result = run(program, "left")
        self.assertEqual((result.returncode, result.stdout), (0, "1 called\n"), result.stderr)
        self.assertEqual(result.stderr, "MPI_Finalize of rank 0: warning: the program has not completed a receive from rank 0 with tag 3 in "
                         "MPI_COMM_SELF\n")

    def test_time_does_not_go_back(self):
        for threads in ("one", "threads"):
            self.assertEqual(self.ends_well(2, self.made("hands_times_on"), threads), ["0", "0"])

    def test_a_tool_can_interpose(self):
        self.ends_well(2, self.made("interposed"))

    def test_handles_and_statuses_of_fortran_go_there_and_back(self):
        handles = self.made("fortran_handles")
        for ranks in (1, 2):
            self.assertEqual(self.ends_well(ranks, handles), [f"of {ranks}"] * ranks)

    def test_types_of_fortran_have_the_sizes_that_were_set(self):
        types = self.made("fortran_types")
        for ranks in (1, 3):
            self.assertEqual(self.ends_well(ranks, types), [])
            for sizes in ((4, 4, 4, 8), (8, 8, 8, 16), (4, 8, 4, 8)):
                self.assertEqual(self.ends_well(ranks, types, *sizes), [], sizes)

    def test_the_environment_is_the_same_at_all_times_and_ranks_of_a_machine_are_together(self):
        program = self.made("environment")
        result = run(program)
        self.assertEqual((result.returncode, result.stdout), (0, "1 of 1\n"), result.stderr)
        self.assertEqual(self.ends_well(3, program), ["3 of 3"] * 3)
        result = run(BUILD / "bin/weft-run", "-n", 3, "-x", "WEFT_TRANSPORT=ofi", program)
        if "WEFT_TRANSPORT=ofi" not in result.stderr:  # the library has this transport, which shares no memory
            self.assertEqual((result.returncode, result.stdout), (0, "3 of 3\n" * 3), result.stderr)

    def test_the_wrapper_of_cxx_compiles_the_header_and_links(self):
        output = Path(self.folder.name) / "hello-of-cxx"
        result = run(BUILD / "bin/weft-mpicxx", "-x", "c++", SOURCE / "hello.c", "-o", output)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.ends_well(2, output)

    def test_cmake_finds_mpi_by_the_wrappers(self):
        work = Path(self.folder.name) / "found"
        for command in (["cmake", "-S", SOURCE, "-B", work, f"-DMPI_C_COMPILER={WRAPPER}", f"-DMPI_CXX_COMPILER={BUILD}/bin/weft-mpicxx"],
                        ["cmake", "--build", work]):
            result = run(*command)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        for name in ("found-hello", "found-hello-cxx"):
            self.assertIn("sum 1", self.ends_well(2, work / name))

    def test_wrong_programs_end_in_one_line_that_says_why(self):
        wrong = self.made("wrong")
        for how, code, line in (
                ("rank", 6, "MPI_Send of rank 0 in MPI_COMM_WORLD: MPI_ERR_RANK: destination 99 in a communicator of 1 rank"),
                ("unnamed", 6, "MPI_Send of rank 0 in a communicator of ranks 0: MPI_ERR_RANK: destination 99 in a communicator of 1 rank"),
                ("source", 6, "MPI_Recv of rank 0 in a communicator of ranks 0: MPI_ERR_RANK: source 0 where receives take any source, "
                              "by the communicator's hint weft_assert_any_source_by_tag"),
                ("null", 5, "MPI_Barrier of rank 0: MPI_ERR_COMM: it is no communicator"),
                ("file", 55, "MPI_File_open of rank 0: MPI_ERR_UNSUPPORTED_OPERATION: Weft's MPI does not have this function"),
                ("session", 55, "MPI_Session_init: MPI_ERR_UNSUPPORTED_OPERATION: Weft's MPI does not have this function"),
                ("absent", 55, "MPI_Comm_spawn of rank 0 in MPI_COMM_SELF: MPI_ERR_UNSUPPORTED_OPERATION: "
                               "Weft's MPI does not have this function"),
                ("abort", 7, "MPI_Abort of rank 0 in MPI_COMM_WORLD: error code 7"),
                ("exit", 1, "rank 0 exits before MPI_Finalize"),
                ("late", 16, "MPI_Barrier: MPI_ERR_OTHER: it is called before MPI_Init or after MPI_Finalize")):
            result = run(wrong, how)
            self.assertEqual((result.returncode, result.stderr), (code, line + "\n"), how)

    def test_threads_that_may_not_call_end_in_one_line_that_says_why(self):
        wrong = self.made("wrong")
        levels = {"0": "a second thread calls MPI, which the program has initialized with MPI_THREAD_SINGLE",
                  "1024": "another thread than the main one calls MPI, which the program has initialized with MPI_THREAD_FUNNELED",
                  "2048": "a thread calls MPI while another one is in MPI_Recv, and the program has initialized MPI with MPI_THREAD_SERIALIZED"}
        for words, code, line in (
                *((("thread", level), 16, f"MPI_Recv of rank 0: MPI_ERR_OTHER: {text}") for level, text in levels.items()),
                (("request",), 7, "MPI_Wait of rank 0: MPI_ERR_REQUEST: another call, of MPI_Wait, has the same request and has not returned")):
            result = run(wrong, *words, WEFT_CHECK="1")
            self.assertEqual(result.returncode, code, (words, result.stderr))
            # Two threads may be refused at the same time.
            self.assertEqual(set(result.stderr.splitlines()), {line}, words)

    def test_operations_that_are_open_at_the_end_are_named_and_ended(self):
        """Each rank sends to the next one, and receives from the last one."""
        leaves = self.made("leaves_open")
        world = "in MPI_COMM_WORLD"
        for how, lines in (
                ("receive", [f"a receive from rank 1 with tag 7 {world}"]), ("send", [f"a send to rank 1 with tag 5 {world}"]),
                ("receives", [f"a receive from any rank with any tag {world}, and 2 more like it"]),
                ("synchronous", [f"a send to rank 1 with tag 5 {world}"]),
                ("to_self", ["a send to rank 0 with tag 5 in MPI_COMM_SELF"]), ("many", [f"a send to rank 1 with tag 5 {world}, and "]),
                ("both", [f"a receive from rank 1 with tag 5 {world}", f"a send to rank 1 with tag 5 {world}"]),
                ("freed", []), ("buffered", []), ("inactive", []), ("late_receiver", []),
                ("persistent", [f"a receive from rank 1 with tag 6 {world}", f"a send to rank 1 with tag 5 {world}"]),
                ("matched", ["the receive of a message that a probe has matched, from rank 1 with tag 5"]),
                ("matched_long", ["the receive of a message that a probe has matched, from rank 1 with tag 5"]),
                ("matched_receive", [f"a receive from rank 1 with tag 5 {world}"]), ("generalized", ["a generalized request"]),
                ("freed_communicator", ["a receive from rank 1 with tag 7 in copy", "a send to rank 1 with tag 8 in copy"]),
                ("unordered", ["a send to rank 1 with tag 5 in a communicator of ranks 0, 1"]),
                ("collective", [f"a collective {world}"]), ("collectives", [f"a collective {world}, and "]),
                ("collective_of_all", [f"a collective {world}"]), ("idup", []),
                ("persistent_collective", [f"a collective {world}"]),
                ("collective_of_freed", ["a collective in a communicator of ranks 0, 1"])):
            for words in ((how,), (how, "threads")):  # the threads that have started them have ended
                result = run(BUILD / "bin/weft-run", "-n", 2, "--timeout", 60, leaves, *words)
                self.assertEqual(result.returncode, 0, (words, result.stderr))
                named = [line for line in result.stderr.splitlines() if line.startswith("MPI_Finalize of rank 0: warning: ")]
                for line in lines:
                    self.assertTrue(any(f"has not completed {line}" in each for each in named), (words, line, result.stderr))
                if not lines and how != "idup":
                    self.assertEqual(result.stderr, "", words)
                self.assertNotIn("weft ", result.stderr, words)
        for options in (("-n", 3, "--sim"), ("-n", 3)):
            for how in ("many", "both", "collectives", "matched_receive"):
                result = run(BUILD / "bin/weft-run", *options, "--timeout", 100, leaves, how, "threads")
                self.assertEqual(result.returncode, 0, (options, how, result.stderr))

    def test_a_process_may_finalize_in_its_last_functions(self):
        late = self.made("finalizes_late")
        library = Path(self.folder.name) / "libfinalizes_late.so"
        result = run(WRAPPER, "-DLIBRARY", "-shared", "-fPIC", SOURCE / "finalizes_late.c", "-o", library)
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in (("atexit",), ("destructor",), ("library", library), ("library", library, "closed")):
            self.assertEqual(self.ends_well(2, late, *words), ["rank 0 of 2", "rank 1 of 2"], words)

    def test_no_stream_that_is_in_the_way_holds_up_the_end(self):
        """Another thread has a stream, or its reader does not read."""
        aborts = self.made("aborts")
        line = "MPI_Abort of rank 0 in MPI_COMM_WORLD: error code 5\n"
        wrong = "MPI_Send of rank 0 in MPI_COMM_WORLD: MPI_ERR_RANK: destination 99 in a communicator of 1 rank\n"
        early = "rank 0 exits before MPI_Finalize\n"
        printed = "printed before"
        for words, code, output, errors in (
                (("stdin",), 5, printed, line), (("stdin", "wrong"), 6, printed, wrong), (("stdin", "exit"), 1, printed, early),
                (("file",), 5, printed, line), (("own",), 5, printed, line), (("held",), 5, "", line),
                (("held", "wrong"), 6, "", wrong), (("pipe",), 5, "", line), (("pipes",), 5, "", ""),
                (("pipes", "wrong"), 6, "", ""), (("large",), 5, printed + "x" * (1 << 19), line), (("closed",), 5, "", ""),
                (("again",), 5, None, line), (("handler",), 5, printed, line),
                (("atexit",), 5, printed, line), (("signal",), 5, printed, line), (("threads",), 5, printed, None)):
            result = ends_alone(aborts, *words)
            self.assertEqual(result.returncode, code, (words, result.stderr))
            if output is not None:
                self.assertEqual(result.stdout, output, words)
            if errors is not None:
                self.assertEqual(result.stderr, errors, words)

    def test_the_job_of_a_rank_that_aborts_ends_though_another_of_its_threads_reads(self):
        result = ends_alone(BUILD / "bin/weft-run", "-n", 2, self.made("aborts"), "stdin")
        self.assertEqual(result.returncode, 5, result.stderr)

    def test_a_rank_that_ends_ends_the_job_and_one_line_says_why(self):
        """Rank 1 ends while the others wait for it. weft-run adds a line of its own, and Weft may warn of lost messages."""
        dies = self.made("dies")
        of_world = "MPI_Send of rank 1 in MPI_COMM_WORLD: MPI_ERR_RANK: destination 99 in a communicator of 3 ranks"
        of_self = "MPI_Send of rank 1 in MPI_COMM_SELF: MPI_ERR_RANK: destination 99 in a communicator of 1 rank"
        for how, code, lines in (
                ("rank", 6, [of_world]), ("self", 6, [of_self]),
                ("users", 9, ["MPI_Abort of rank 1 in MPI_COMM_WORLD: error code 9"]),
                ("abort", 7, ["MPI_Abort of rank 1 in MPI_COMM_WORLD: error code 7"]),
                ("exit", 1, ["rank 1 exits before MPI_Finalize"]), ("killed", 137, [])):
            result = run(BUILD / "bin/weft-run", "-n", 3, dies, how)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertEqual([line for line in result.stderr.splitlines() if not line.startswith("weft")], lines, how)

    def test_the_end_of_a_rank_that_says_nothing_is_an_error_of_the_others(self):
        result = run(BUILD / "bin/weft-run", "-n", 3, self.made("dies"), "silent")
        self.assertEqual(result.returncode, 58, result.stderr)
        self.assertRegex(result.stderr, r"(?m)^MPI_Recv of rank [02] in MPI_COMM_WORLD: MPI_ERR_PROC_ABORTED: ")

    def test_a_collective_fails_as_a_process_has_ended_not_by_the_size_of_a_message(self):
        loses = self.made("loses_member")
        for ranks, call, *count in ((2, "barrier"), (2, "allreduce", "long"), (3, "barrier"), (5, "barrier"), (3, "bcast"),
                                    (3, "alltoall"), (3, "allgather", "long"), (5, "allreduce"), (5, "allreduce", "long"),
                                    (3, "split"), (3, "ibarrier"), (5, "iallreduce", "long"), (5, "persistent")):
            for check in ("0", "1") if call in ("barrier", "bcast", "iallreduce") else ("0",):
                result = run(BUILD / "bin/weft-run", "-n", ranks, "--timeout", 300, loses, call, *count, WEFT_CHECK=check)
                self.assertEqual(result.returncode, 0, (ranks, call, count, check, result.stderr))

    def test_a_process_that_a_rank_has_forked_may_end(self):
        self.assertEqual(self.ends_well(2, self.made("forks")), ["child of 0 ended with 0", "child of 1 ended with 0"])

    def test_the_wrapper_shows_what_it_would_do(self):
        flags = [run(WRAPPER, f"-showme:{part}").stdout.split() for part in ("compile", "link")]
        self.assertEqual(flags[0], [f"-I{BUILD}/include/weft-mpi"])
        self.assertEqual(flags[1], [f"-L{BUILD}/lib", f"-Wl,-rpath,{BUILD}/lib", "-Wl,--enable-new-dtags", "-lmpi_abi"])
        shown = run(WRAPPER, "-show", "a.c", "-o", "a").stdout.split()
        self.assertEqual(shown[1:], [*flags[0], "a.c", "-o", "a", *flags[1]])
        self.assertEqual(run(WRAPPER, "-showme:nothing").returncode, 1)


if __name__ == "__main__":
    unittest.main()

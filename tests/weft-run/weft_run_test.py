# SPDX-License-Identifier: BSD-3-Clause
# subject: programs/weft-run tests/process/boot_steps.cpp
# stages: release asan
"""weft-run with real processes: exit codes, output, signals, input, and nothing left behind."""

import collections
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_RUN = str(BUILD / "bin/weft-run")
STEPS = str(BUILD / "tests/process/boot_steps")
LIMIT = 240  # seconds for anything; never reached where all is well

# Many a test says what each rank does: $1 for rank 0, $2 for rank 1 ...
BY_RANK = 'shift $PMI_RANK; eval "$1"'


def environment(**more):
    return dict({k: v for k, v in os.environ.items() if not k.startswith(("PMI", "WEFT_", "TEST_"))}, **more)


def run(*arguments, stdin=subprocess.DEVNULL, env=None, **options):
    return subprocess.run([WEFT_RUN, *map(str, arguments)], stdin=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=LIMIT, env=env or environment(), text=True, **options)


def run_ranks(*what, options=(), **more):
    return run("-n", len(what), *options, "sh", "-c", BY_RANK, "sh", *what, **more)


def eventually(condition):
    until = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def living(mark):
    """Processes, zombies excepted, whose environment has the mark."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if mark.encode() in Path("/proc", entry, "environ").read_bytes():
                state = Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[0]
                if state not in "ZX":
                    found.append((entry, Path("/proc", entry, "cmdline").read_bytes()))
        except OSError:
            pass
    return found


class ExitCodes(unittest.TestCase):
    def test_all_ranks_that_succeed_are_a_success(self):
        result = run("-n", 3, "true")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_a_program_that_knows_nothing_of_pmi_may_be_run(self):
        result = run("-n", 2, "echo", "a  b", "")
        self.assertEqual((result.returncode, result.stdout), (0, "a  b \n" * 2))

    def test_the_first_rank_that_fails_ends_the_job_with_its_exit_code(self):
        result = run_ranks("sleep 1000", "exit 7", "sleep 1000")
        self.assertEqual(result.returncode, 7)
        self.assertEqual(result.stderr, "weft-run: rank 1 failed: exit code 7\n")

    def test_a_rank_killed_by_a_signal_is_named_with_it(self):
        result = run_ranks("sleep 1000", "sleep 1000", "kill -SEGV $$")
        self.assertEqual(result.returncode, 128 + signal.SIGSEGV)
        self.assertRegex(result.stderr, r"^weft-run: rank 2 was killed by signal 11 \(Segmentation fault\)")

    def test_ranks_that_ignore_the_end_are_killed_after_the_grace(self):
        result = run_ranks("trap '' TERM; echo >&2; while :; do sleep 1000; done", "read x < /dev/null; exit 3",
                           options=["--grace", "0.2"])
        self.assertEqual(result.returncode, 3)

    def test_quiet_says_nothing(self):
        result = run_ranks("exit 4", options=["-q"])
        self.assertEqual((result.returncode, result.stderr), (4, ""))

    def test_what_the_failing_rank_said_comes_before_the_line_about_it(self):
        result = run_ranks("echo my last words >&2; exit 5", "sleep 1000")
        self.assertEqual(result.stderr, "my last words\nweft-run: rank 0 failed: exit code 5\n")

    def test_a_missing_program_is_127_and_one_that_cannot_run_is_126(self):
        result = run("-n", 2, "/no/such/program")
        self.assertEqual(result.returncode, 127)
        self.assertEqual(result.stderr, "weft-run: rank 0 could not be started: /no/such/program: "
                                        "No such file or directory\n")
        self.assertEqual(run("-n", 2, "/etc/passwd").returncode, 126)

    def test_the_time_is_up_after_the_timeout(self):
        result = run("-n", 2, "--timeout", "0.2", "sleep", 1000)
        self.assertEqual(result.returncode, 124)
        self.assertIn("longer than 0.2 s", result.stderr)

    def test_ranks_that_run_on_after_anothers_success_are_told_of_once(self):
        job = subprocess.Popen([WEFT_RUN, "-n", "3", "--notice", "0.01", "--timeout", str(LIMIT), "sh", "-c", BY_RANK,
                                "sh", "read line", "exit 0", "exit 0"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment())
        line = job.stderr.readline()
        self.assertRegex(line, r"^weft-run: ranks? [12-]+ ha(s|ve) ended with exit code 0, and 0.01 s later ranks? "
                               r"0(, [12])? still runs?; --linger SECONDS ends such a job$")
        said = job.communicate("go on\n", timeout=LIMIT)[1]
        self.assertEqual((job.returncode, said), (0, ""))

    def test_ranks_that_linger_are_ended_and_named(self):
        result = run_ranks("sleep 1000", "exit 0", "sleep 1000", options=["--linger", "0.1", "--timeout", LIMIT])
        self.assertEqual(result.returncode, 124)
        self.assertEqual(result.stderr, "weft-run: rank 1 has ended with exit code 0, and 0.1 s later ranks 0, 2 "
                                        "still run; ending the job\n")

    def test_ranks_that_end_in_time_are_a_success_whatever_may_linger(self):
        result = run_ranks("exit 0", "exit 0", options=["--linger", LIMIT, "--notice", LIMIT])
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        result = run_ranks("sleep 0.2", "exit 0", options=["--notice", "0"])
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_wrong_command_lines_are_2_and_say_why(self):
        for arguments, words in [
                (["-n", 0, "true"], "1 to 4096"), (["-n", 4097, "true"], "1 to 4096"), (["-n", "x", "true"], "x"),
                (["-n", -1, "true"], "1 to 4096"), (["true"], "required"), (["-n", 2], "which program"),
                (["-n", 2, "--bogus", "true"], "unknown option --bogus"), (["-n", 2, "-x", "=A", "true"], "NAME=VALUE"),
                (["-n", 2, "--bind", "moon", "true"], "'moon'"), (["-n", 2, "--bind", "core:0", "true"], "core:0"),
                (["-n", 2, "--timeout", "soon", "true"], "soon"), (["-n", 2, "--linger", 0, "true"], "linger"),
                (["-n", 2, "--notice", -1, "true"], "notice"), (["-n", 2, "--timeout", "nan", "true"], "nan"),
                (["-n", 2, "--grace", " 1", "true"], "grace")]:
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn(words, result.stderr)

    def test_the_number_of_ranks_is_taken_as_other_launchers_take_it_or_answered_with_how_it_is_given_here(self):
        for arguments in (["-np", 2], ["-n=2"], ["-np=2"], ["--np", 2], ["--timeout", 9, "--np=2"], ["-N", 2], ["--n", 2]):
            self.assertEqual(run(*arguments, "echo", "x").stdout, "x\nx\n", arguments)
        for arguments in (["-np2", "true"], ["--prefix", "-np2", "true"], ["--timeout", 9, "-np2", "true"],
                          ["-ranks", 2, "true"], ["-nprocs", 2, "true"], ["--ntasks=2", "true"]):
            result = run(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
            self.assertIn("say -n 2", result.stderr, arguments)
        self.assertIn("say -n N", run("-nprocs", "true").stderr)
        self.assertIn("-np true is no number of ranks", run("-np", "true").stderr)
        for arguments in (["-n", 2, "--bogus", "-np", 2], ["-n", "x", "echo", "-np", 2]):
            self.assertNotIn("say -n", run(*arguments).stderr)

    def test_options_after_the_program_are_the_programs(self):
        result = run("-n", 1, "echo", "-n", "3", "--version", "--help", "--", "-x")
        self.assertEqual((result.returncode, result.stdout), (0, "3 --version --help -- -x"))
        self.assertEqual(run("-n", 1, "--", "echo", "--prefix").stdout, "--prefix\n")

    def test_help_and_version(self):
        said = run("--help").stdout
        self.assertIn("weft-run -n N [options] program", said)
        self.assertIn("--sim[=SEED]", said.replace("--sim [=", "--sim[="))
        self.assertNotIn("{", said)
        self.assertRegex(run("--version").stdout, r"^weft-run \d+\.\d+\.\d+\n$")

    def test_a_misspelt_variable_is_told_once(self):
        result = run("-n", 3, "true", env=environment(WEFT_PAKET_COUNT="3"))
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr.count("did you mean WEFT_PACKET_COUNT?"), 1)
        result = run("-n", 3, "-x", "WEFT_PAKET_COUNT=3", "true")
        self.assertEqual((result.returncode, result.stderr.count("did you mean WEFT_PACKET_COUNT?")), (2, 1))

    def test_a_variable_that_is_no_setting_is_told_once_and_stops_nothing(self):
        result = run("-n", 3, "-x", "WEFT_FLAVOUR=sweet", STEPS, "init", "fence", env=environment(WEFT_COLOUR="red"))
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stderr.count("WEFT_COLOUR is no setting"), 1)
        self.assertEqual(result.stderr.count("WEFT_FLAVOUR is no setting"), 1)

    def test_ranks_that_disagree_on_the_number_of_regions_say_so(self):
        result = run_ranks(*(f"WEFT_REGIONS_MAX={many} exec {BUILD}/tests/process/fabric" for many in (64, 128)))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("WEFT_REGIONS_MAX (runtime_options::regions_max) is 64 at rank 0, 128 at rank 1; give all ranks the "
                      "same", result.stderr)

    def test_a_simulated_network_has_every_transport_and_a_seed_that_is_told(self):
        show = ["sh", "-c", 'echo "$WEFT_TRANSPORT $WEFT_SIM_SEED"']
        result = run("-n", 2, "--sim=7", *show)
        self.assertEqual((result.returncode, result.stdout), (0, "sim:self,sim:shm 7\n" * 2))
        self.assertIn("--sim=7 replays it", result.stderr)
        result = run("-n", 1, "--sim", "-x", "WEFT_TRANSPORT=shm,sim:ofi", "-x", "WEFT_SIM_SEED=5", *show)
        self.assertRegex(result.stdout, r"^sim:shm,sim:ofi [1-9]\d*\n$")
        self.assertIn(f"--sim={result.stdout.split()[1]} replays it", result.stderr)
        self.assertEqual(run("-n", 1, "--sim=1", *show, env=environment(WEFT_TRANSPORT="self")).stdout, "sim:self 1\n")
        for seed in ("x", "0", "-1", "1x", "99999999999999999999999"):
            result = run("-n", 1, f"--sim={seed}", *show)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(f"--sim={seed} is no seed", result.stderr)
        result = run("-n", 2, "--sim", STEPS, "init", "fence")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_simulated_network_keeps_short_sends_waiting_unless_the_user_says_otherwise(self):
        show = ["sh", "-c", 'echo "$WEFT_UNEXPECTED_PACKETS_MAX"']
        self.assertEqual(run("-n", 1, "--sim", *show).stdout, "1\n")
        self.assertEqual(run("-n", 1, "--sim", "-x", "WEFT_UNEXPECTED_PACKETS_MAX=7", *show).stdout, "7\n")
        own = environment(WEFT_UNEXPECTED_PACKETS_MAX="9")
        self.assertEqual(run("-n", 1, "--sim", *show, env=own).stdout, "9\n")

    def test_a_simulated_network_compares_collectives_unless_the_user_says_otherwise(self):
        show = ["sh", "-c", 'echo "$WEFT_CHECK"']
        self.assertEqual(run("-n", 1, "--sim", *show).stdout, "1\n")
        self.assertEqual(run("-n", 1, "--sim", "-x", "WEFT_CHECK=0", *show).stdout, "0\n")
        self.assertEqual(run("-n", 1, "--sim", *show, env=environment(WEFT_CHECK="0")).stdout, "0\n")

    def test_settings_that_ranks_would_refuse_are_refused_before_there_are_ranks(self):
        for name, value, words in (
                ("WEFT_TRANSPORT", "ib", "names 'ib', which this Weft does not have"), ("WEFT_TRANSPORT", "", "empty"),
                ("WEFT_TRANSPORT", "shm,shm", "names 'shm' twice"), ("WEFT_PACKET_BYTES", "3", "WEFT_PACKET_BYTES='3'"),
                ("WEFT_COLL", "barrier:none", "WEFT_COLL='barrier:none'"), ("WEFT_CHECK", "yes", "WEFT_CHECK='yes'")):
            for arguments, variables in (([], {name: value}), (["-x", f"{name}={value}"], {})):
                result = run("-n", 3, *arguments, "echo", "started", env=environment(**variables))
                self.assertEqual((result.returncode, result.stdout), (2, ""), (name, value))
                self.assertRegex(result.stderr, rf"\Aweft-run: [^\n]*{re.escape(words)}[^\n]*\n\Z")
        result = run("-n", 1, "--sim", "-x", "WEFT_SIM_FAIL=moon:1", "echo", "started")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("WEFT_SIM_FAIL='moon:1'", result.stderr)

    def test_where_weft_is_installed_stops_nothing(self):
        result = run("-n", 2, STEPS, "init", "fence",
                     env=environment(WEFT_ROOT="/opt/weft", WEFT_HOME="/opt/weft", WEFT_DIR="/opt/weft", WEFT_VERSION="1"))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        alone = subprocess.run([STEPS, "init"], env=environment(WEFT_ROOT="/opt/weft", WEFT_COLOUR="red"), timeout=LIMIT,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(alone.returncode, 0)
        self.assertEqual(alone.stderr.count("WEFT_COLOUR is no setting"), 1)


@unittest.skipUnless(subprocess.run(["unshare", "-rn", "true"], stderr=subprocess.DEVNULL).returncode == 0,
                     "needs network namespaces")
class RanksThatSeeNoOther(unittest.TestCase):
    """Each rank is in a network namespace of its own: there is no socket by which they could share memory."""

    def test_they_are_told_that_one_namespace_would_do(self):
        fabric = f"{BUILD}/tests/process/fabric"
        for up in ("", "ip link set lo up; "):
            for transports in ("shm", "shm,ofi"):
                result = run("-n", 2, "unshare", "-rn", "sh", "-c", f"{up}exec {fabric}",
                             env=environment(WEFT_TRANSPORT=transports))
                self.assertNotEqual(result.returncode, 0)
                self.assertRegex(result.stderr, r"network namespace \(containers: --network=host\)", (up, transports))
                self.assertNotIn("WEFT_TRANSPORT=shm does without", result.stderr)


class Environment(unittest.TestCase):
    def test_ranks_learn_who_they_are_and_nothing_of_another_launcher(self):
        foreign = environment(PMI_PORT="x:1", PMIX_RANK="5", OMPI_COMM_WORLD_SIZE="9", WEFT_BOOT_DIR="/x",
                              WEFT_BOOT_KEY="k", WEFT_RANK="1", WEFT_SIZE="2", MPI_LOCALNRANKS="3", SLURM_PROCID="4",
                              SLURM_LOCALID="4", MV2_COMM_WORLD_LOCAL_RANK="4", PALS_LOCAL_RANKID="4", SLURM_JOB_ID="6",
                              FLUX_TASK_LOCAL_ID="4", OMPI_COMM_WORLD_LOCAL_RANK="8")
        result = run("-n", 2, "-x", "ADDED=a=b", "env", env=foreign)
        lines = collections.Counter(result.stdout.splitlines())
        for name in ["PMI_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK"]:
            self.assertEqual([lines[f"{name}={rank}"] for rank in range(2)], [1, 1])
        for line in ["PMI_SIZE=2", "ADDED=a=b", "MPI_LOCALNRANKS=2", "OMPI_COMM_WORLD_LOCAL_SIZE=2", "SLURM_JOB_ID=6"]:
            self.assertEqual(lines[line], 2)
        self.assertNotRegex(result.stdout, r"(?m)^(PMI_PORT|PMIX|OMPI_COMM_WORLD_(SIZE|RANK)|WEFT_BOOT|WEFT_RANK|WEFT_SIZE|"
                            r"SLURM_PROCID|SLURM_LOCALID|MV2_|PALS_|FLUX_)")

    def test_the_user_may_set_the_local_rank(self):
        result = run("-n", 2, "-x", "MPI_LOCALRANKID=0", "sh", "-c", 'echo "$MPI_LOCALRANKID $MPI_LOCALNRANKS"')
        self.assertEqual(result.stdout, "0 2\n" * 2)

    def test_a_rank_without_the_variables_of_pmi_is_told_that_weft_run_has_started_it(self):
        for ranks in 1, 2:
            result = run("-n", ranks, "env", "-u", "PMI_FD", "-u", "PMI_RANK", "-u", "PMI_SIZE", STEPS, "init")
            self.assertEqual(result.returncode, 1)
            self.assertIn("started by weft-run, whose PMI variables are missing", result.stderr)

    def test_no_descriptor_but_the_ranks_own_is_inherited(self):
        result = run("-n", 3, "sh", "-c", "ls /proc/self/fd | wc -l; echo $PMI_FD")
        self.assertEqual(result.returncode, 0)
        counts = [line for line in result.stdout.split()]
        # 0, 1, 2, PMI_FD, the one in WEFT_RUN_ASK_WORD, and the one that ls reads the folder with
        self.assertEqual(counts.count("6"), 3, result.stdout)


class Pmi(unittest.TestCase):
    def steps(self, *by_rank, **more):
        return run_ranks(*(f"exec {STEPS} {steps}" for steps in by_rank), **more)

    def test_ranks_meet(self):
        result = self.steps(*["init fence"] * 3)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} of 3 by pmi1" for rank in range(3)])

    def test_a_rank_that_ends_well_without_a_word_fails_those_who_wait_for_it(self):
        result = self.steps("init fence", "exit=0", "init fence")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "weft-run: rank 1 ended without ever making a Weft runtime.*wait for it")

    def test_two_programs_one_after_the_other_in_a_rank_are_told_what_to_do(self):
        result = run_ranks(f"{STEPS} init fence && {STEPS} init fence", f"exec {STEPS} init fence stay")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "weft-run: rank 0 started a second Weft program.*a weft-run of its own")

    def test_two_programs_at_once_in_a_rank_are_told_what_to_do(self):
        result = run_ranks(f"{STEPS} init stay & {STEPS} init stay & wait", f"exec {STEPS} init fence")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "weft-run: rank 0 started a second Weft program.*a weft-run of its own")

    def test_a_rank_that_takes_its_leave_early_fails_those_who_wait_for_it(self):
        result = self.steps("init fence", "init exit=0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("rank 1 took its leave", result.stderr)

    def test_a_rank_that_ends_without_leave_fails_those_who_wait_for_it(self):
        result = self.steps("init fence", "init quit=0")
        self.assertEqual(result.returncode, 1)
        self.assertIn("rank 1 ended without taking its leave", result.stderr)

    def test_ending_without_leave_is_fine_where_nobody_waits(self):
        self.assertEqual(self.steps("init fence quit=0", "init fence").returncode, 0)

    def test_a_rank_that_crashes_is_what_is_told_though_others_notice(self):
        result = self.steps("init fence fence", "init fence crash", "init fence fence")
        self.assertEqual(result.returncode, 128 + signal.SIGKILL)
        self.assertIn("rank 1 was killed by signal 9", result.stderr)

    def test_a_fence_names_a_living_rank_that_does_not_come(self):
        result = self.steps("init fence", "init stay", "init fence", env=environment(WEFT_BOOT_TIMEOUT_S="10"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("missing are ranks 1 ", result.stderr)

    def test_a_program_that_talks_nonsense_ends_the_job_and_is_named(self):
        write = "import os, time; os.write(int(os.environ['PMI_FD']), b'nonsense\\n'); time.sleep(1000)"
        result = run_ranks("sleep 1000", f'exec {sys.executable} -c "{write}"')
        self.assertEqual(result.returncode, 1)
        self.assertIn("rank 1 sent 'nonsense', which is no line of PMI-1", result.stderr)

    def test_a_rank_that_has_lost_its_connection_is_an_error_and_no_job_of_one(self):
        result = run("-n", 2, "env", "-u", "PMI_FD", STEPS, "init")
        self.assertEqual(result.returncode, 1)
        self.assertIn("PMI_SIZE=2", result.stderr)
        result = run("-n", 2, "sh", "-c", f"PMI_FD=99 exec {STEPS} init")
        self.assertEqual(result.returncode, 1)
        self.assertIn("PMI_FD=99 is not an open socket", result.stderr)

    def test_a_rank_behind_a_wrapper_that_closes_descriptors_is_told_so(self):
        call = "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:], close_fds={}))"
        for wrapper in ([sys.executable, "-c", call.format(True)],
                        ["bash", "-c", 'eval "exec $PMI_FD<&-"; exec "$@"', "bash"],
                        ["bash", "-c", 'eval "exec $PMI_FD</dev/null"; exec "$@"', "bash"]):
            result = run("-n", 2, *wrapper, STEPS, "init", "fence")
            self.assertEqual(result.returncode, 1, wrapper)
            self.assertRegex(result.stderr, r"rank \d of 2: PMI_FD=\d+ is not an open socket: a program between the launcher "
                             r"and this one, such as a wrapper script, has closed descriptor \d+; let it pass that on")
        self.assertEqual(run("-n", 2, sys.executable, "-c", call.format(False), STEPS, "init", "fence").returncode, 0)

    def test_a_launcher_of_another_kind_is_an_error(self):
        result = subprocess.run([STEPS, "init"], stderr=subprocess.PIPE, text=True, timeout=LIMIT,
                                env=environment(OMPI_COMM_WORLD_SIZE="4", OMPI_COMM_WORLD_RANK="1", PMIX_RANK="1"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("OMPI_COMM_WORLD_SIZE=4", result.stderr)

    def test_the_file_boot_needs_no_launcher(self):
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([STEPS, "init", "fence"], stdout=subprocess.PIPE, text=True,
                                      env=environment(WEFT_BOOT_DIR=f"{folder}/job", WEFT_RANK=str(r), WEFT_SIZE="3"))
                     for r in range(3)]
            for r, rank in enumerate(ranks):
                self.assertEqual(rank.communicate(timeout=LIMIT)[0], f"rank {r} of 3 by file\n")
            self.assertEqual(os.listdir(folder), [])


class Signals(unittest.TestCase):
    def start(self, script, ranks=2, options=()):
        job = subprocess.Popen([WEFT_RUN, "-n", str(ranks), *options, "sh", "-c", script], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment(), stdin=subprocess.DEVNULL)
        for _ in range(ranks):
            self.assertEqual(job.stdout.readline(), "ready\n")
        return job

    def test_signals_are_passed_on(self):
        for name in ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2"]:
            with self.subTest(name):
                job = self.start(f"trap 'echo got; exit 0' {name}; echo ready; while :; do sleep 0.05; done")
                job.send_signal(getattr(signal, "SIG" + name))
                output, _ = job.communicate(timeout=LIMIT)
                self.assertEqual((job.returncode, output), (0, "got\ngot\n"))

    def test_ranks_that_a_passed_on_signal_kills_give_its_exit_code(self):
        for name in ["INT", "TERM", "HUP", "QUIT"]:
            with self.subTest(name):
                number = getattr(signal, "SIG" + name)
                job = self.start("echo ready; exec sleep 1000")
                job.send_signal(number)
                _, errors = job.communicate(timeout=LIMIT)
                self.assertEqual(job.returncode, 128 + number)
                self.assertRegex(errors, rf"^weft-run: rank \d was killed by signal {int(number)}")

    def test_a_second_interrupt_kills(self):
        job = self.start("trap 'echo got' INT; echo ready; while :; do sleep 0.05; done")
        job.send_signal(signal.SIGINT)
        self.assertEqual([job.stdout.readline(), job.stdout.readline()], ["got\n"] * 2)
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=LIMIT)
        self.assertEqual(job.returncode, 130)


class FirstFailure(unittest.TestCase):
    """The rank that failed first is named, and not its victim. AddressSanitizer leaves the signals used here alone."""

    def start(self, *by_rank, stops=True):
        """The job and its guardian are stopped once each rank has printed `ready`. Returns the processes of ranks, too."""
        job = subprocess.Popen([WEFT_RUN, "-n", str(len(by_rank)), "sh", "-c", "ulimit -c 0; echo $PMI_RANK $$; " + BY_RANK, "sh", *by_rank],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
                               stdin=subprocess.DEVNULL)
        self.addCleanup(self.end, job)
        lines = [job.stdout.readline() for _ in range(2 * len(by_rank))]
        ranks = dict(map(int, line.split()) for line in lines if line != "ready\n")
        guardian = int(Path(f"/proc/{ranks[0]}/stat").read_text().rpartition(")")[2].split()[1])
        for process in (job.pid, guardian) if stops else ():
            os.kill(process, signal.SIGSTOP)
        return job, guardian, [ranks[rank] for rank in range(len(by_rank))]

    def end(self, job):
        if job.poll() is None:
            job.kill()
            job.send_signal(signal.SIGCONT)
        job.communicate(timeout=LIMIT)

    def kill(self, process, number):
        os.kill(process, number)
        state = Path(f"/proc/{process}/stat")
        self.assertTrue(eventually(lambda: state.read_text().rpartition(")")[2].split()[0] == "Z"))

    def go_on(self, job, *processes):
        for process in processes:
            os.kill(process, signal.SIGCONT)
        return job.communicate(timeout=LIMIT)[1]

    def test_of_ranks_that_are_found_dead_together(self):
        steps = f"exec {STEPS} init fence ready stay"
        for first in 0, 1, 2:
            with self.subTest(first):
                job, guardian, ranks = self.start(steps, steps, steps)
                victims = [rank for rank in range(3) if rank != first]
                self.kill(ranks[first], signal.SIGKILL)
                for rank in reversed(victims):
                    self.kill(ranks[rank], signal.SIGABRT)
                said = self.go_on(job, guardian, job.pid)
                self.assertRegex(said, rf"\Aweft-run: rank {first} was killed by signal 9 [^\n]*\n\Z")
                self.assertEqual(job.returncode, 128 + signal.SIGKILL)

    def test_where_it_ended_with_a_code_and_its_victim_by_a_signal(self):
        # No programs of Weft: the guardian, which runs on, finds them dead in their order.
        job, guardian, ranks = self.start("trap 'exit 3' USR1; echo ready; while :; do sleep 0.01; done",
                                          "echo ready; exec sleep 1000")
        os.kill(guardian, signal.SIGCONT)
        os.kill(ranks[0], signal.SIGUSR1)
        self.assertTrue(eventually(lambda: not os.path.exists(f"/proc/{ranks[0]}")))
        os.kill(ranks[1], signal.SIGABRT)
        self.assertTrue(eventually(lambda: not os.path.exists(f"/proc/{ranks[1]}")))
        self.assertEqual(self.go_on(job, job.pid), "weft-run: rank 0 failed: exit code 3\n")
        self.assertEqual(job.returncode, 3)

    def test_a_rank_that_a_signal_kills_after_the_first_failure_is_no_cause(self):
        job, guardian, ranks = self.start("trap 'exit 3' USR1; echo ready; while :; do sleep 0.01; done",
                                          "trap 'kill -ABRT $$' TERM; echo ready; while :; do sleep 0.01; done")
        os.kill(ranks[0], signal.SIGUSR1)
        said = self.go_on(job, guardian, job.pid)
        self.assertEqual((job.returncode, said.splitlines()[0]), (3, "weft-run: rank 0 failed: exit code 3"))
        self.assertNotIn("cause", said)

    def test_a_rank_that_left_before_the_one_that_was_found_first_may_be_the_cause(self):
        # Rank 0 is a wrapper, which ends when the job does; the connection of its program has hung up before.
        wrapper = (f'trap "exit 5" TERM; {STEPS} init fence ready stay & eval "exec $PMI_FD>&-"; '
                   "while :; do sleep 0.01; done")
        job, _, ranks = self.start(f"exec bash -c '{wrapper}'", f"exec {STEPS} init fence ready stay", stops=False)
        (program,) = [int(child) for child in Path(f"/proc/{ranks[0]}/task/{ranks[0]}/children").read_text().split()
                      if Path(f"/proc/{child}/comm").read_text() == "boot_steps\n"]
        os.kill(program, signal.SIGKILL)
        self.assertTrue(eventually(lambda: not os.path.exists(f"/proc/{program}")))
        os.kill(ranks[1], signal.SIGABRT)
        said = re.findall("(?m)^weft-run: .*$", job.communicate(timeout=LIMIT)[1])
        self.assertEqual(said, ["weft-run: rank 1 was killed by signal 6 (Aborted)",
                                "weft-run: rank 0 failed: exit code 5, which may be the cause"])
        self.assertEqual(job.returncode, 128 + signal.SIGABRT)


class NothingIsLeft(unittest.TestCase):
    # Children, a child in a session of its own, and one whose parent has gone.
    FAMILY = 'sleep 1000 & setsid sleep 1000 & (setsid sh -c "sleep 1000 & exit 0" &); echo ready; '

    def setUp(self):
        self.mark = "MARK=" + uuid.uuid4().hex

    def start(self, script, *options, stdin=subprocess.DEVNULL):
        name, value = self.mark.split("=")
        return subprocess.Popen([WEFT_RUN, "-n", "2", *options, "sh", "-c", script], stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, stdin=stdin, text=True,
                                env=environment(**{name: value}))

    def started(self, script, *options, **more):
        job = self.start(script, *options, **more)
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), "ready\n")
        return job

    def assert_nothing_is_left(self):
        self.assertTrue(eventually(lambda: not living(self.mark)), living(self.mark))

    def test_after_a_success(self):
        with self.started(self.FAMILY + "exit 0") as job:
            self.assertEqual(job.wait(LIMIT), 0)
            self.assertEqual(living(self.mark), [], "gone already when weft-run ends")

    def test_after_a_failure(self):
        script = self.FAMILY + "test $PMI_RANK = 0 && read x && exit 3; wait"
        with self.started(script, stdin=subprocess.PIPE) as job:
            job.stdin.write("now\n")
            job.stdin.flush()
            self.assertEqual(job.wait(LIMIT), 3)
            self.assertEqual(living(self.mark), [])

    def test_after_the_timeout(self):
        with self.started(self.FAMILY + "wait", "--timeout", "5") as job:
            self.assertEqual(job.wait(LIMIT), 124)
            self.assertEqual(living(self.mark), [])

    def test_after_kill_9_of_weft_run(self):
        with self.started(self.FAMILY + "trap '' TERM INT HUP; while :; do sleep 1; done") as job:
            job.kill()
            job.wait(LIMIT)
            self.assert_nothing_is_left()

    def test_after_kill_9_of_weft_run_at_any_moment(self):
        for step in range(25):
            job = self.start(self.FAMILY + "wait")
            time.sleep(step * 0.001)
            job.kill()
            job.wait(LIMIT)
            job.stdout.close()
        self.assert_nothing_is_left()

    def test_after_kill_9_of_the_guardian(self):
        with self.started(self.FAMILY + "wait") as job:
            guardian = [int(pid) for pid, command in living(self.mark) if command.startswith(b"weft-guardian")]
            self.assertEqual(len(guardian), 1)
            os.kill(guardian[0], signal.SIGKILL)
            self.assertEqual(job.wait(LIMIT), 1)
            self.assert_nothing_is_left()

    def test_after_a_program_that_cannot_be_started(self):
        name, value = self.mark.split("=")
        self.assertEqual(run("-n", 3, "/no/such/program", env=environment(**{name: value})).returncode, 127)
        self.assertEqual(living(self.mark), [])

    def test_when_weft_run_is_stopped_and_killed(self):
        with self.started(self.FAMILY + "wait") as job:
            job.send_signal(signal.SIGSTOP)
            job.kill()
            job.wait(LIMIT)
            self.assert_nothing_is_left()


class ManyRanks(unittest.TestCase):
    def test_more_ranks_than_there_are_descriptors_by_default(self):
        result = run("-n", 300, "echo", "x")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.count("x"), 300)

    def test_so_many_ranks_that_the_limit_is_met_are_refused_clearly(self):
        result = subprocess.run(["sh", "-c", f"ulimit -n 64; exec {WEFT_RUN} -n 100 true"], stderr=subprocess.PIPE,
                                text=True, timeout=LIMIT, env=environment())
        self.assertEqual(result.returncode, 1)
        self.assertIn("ulimit -n", result.stderr)


@unittest.skipUnless(shutil.which("mpiexec.hydra"), "no mpiexec.hydra")
class Hydra(unittest.TestCase):
    def test_ranks_meet(self):
        result = subprocess.run(["mpiexec.hydra", "-n", "3", STEPS, "init", "fence"], stdout=subprocess.PIPE, text=True,
                                timeout=LIMIT, env=environment())
        self.assertEqual(result.returncode, 0)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} of 3 by pmi1" for rank in range(3)])

    def test_weft_run_inside_hydra_is_a_job_of_its_own(self):
        result = subprocess.run(["mpiexec.hydra", "-n", "2", WEFT_RUN, "-n", "2", STEPS, "init", "fence"],
                                stdout=subprocess.PIPE, text=True, timeout=LIMIT, env=environment())
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(re.findall("of 2 by pmi1", result.stdout)), 4)


if __name__ == "__main__":
    unittest.main()

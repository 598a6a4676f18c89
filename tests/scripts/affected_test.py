# SPDX-License-Identifier: BSD-3-Clause
# subject: tools/affected.py scripts/test tests
"""scripts/test --affected: which tests a change reaches."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tools"))
sys.dont_write_bytecode = True
import affected  # noqa: E402

ROOM = "weft_test_room(STAGES release asan)\n"
TEXTS = {
    "include/weft/device.hpp": "class device {\n", "include/weft/fiber.hpp": "class fiber_ref;\nstruct fiber_options {\n",
    "include/weft/weft.hpp": '#include "weft/device.hpp"\n#include "weft/fiber.hpp"\n',
    "src/core/api/device.cpp": '#include "weft/device.hpp"\n',
    "src/core/matching/table.hpp": "", "src/core/protocol/receive.cpp": '#include "core/matching/table.hpp"\n',
    "src/fiber/worker.hpp": '#include "weft/fiber.hpp"\n#include "weft/device.hpp"\n',
    "src/fiber/worker.cpp": '#include "fiber/worker.hpp"\n',
    "tests/fiber/CMakeLists.txt": "# subject: src/fiber\n" + ROOM, "tests/fiber/fiber_test.cpp": "",
    "tests/core/api/CMakeLists.txt": "# subject: src/core/api\nweft_test_room(STAGES release general)\n",
    "tests/core/api/device_test.cpp": '#include <weft/weft.hpp>\nweft::device d;\n',
    "tests/core/matching/CMakeLists.txt": "# subject: src/core/matching\nweft_test_room(STAGES release general)\n",
    "tests/core/protocol/CMakeLists.txt": "# subject: src/core/protocol\nweft_test_room(STAGES release general)\n",
    "tests/coro/CMakeLists.txt": "# subject: src/coro\n" + ROOM,
    "tests/coro/await_test.cpp": '#include "support/all.hpp"\nweft::fiber_options o;\n',
    "tests/support/all.hpp": '#include "weft/weft.hpp"\n', "tests/support/all.cpp": "",
    "tests/model/CMakeLists.txt": ROOM, "tests/model/table_test.cpp": '#include "core/matching/table.hpp"\n',
    "tests/process/waits.cpp": "// subject: src/fiber\n", "tests/process/am.cpp": "", "tests/process/trial.cpp": "// by script\n",
    "examples/ring.cpp": "#include <weft/weft.hpp>\nweft::fiber_options o;\n", "examples/hello.cpp": "#include <weft/weft.hpp>\n",
    "tests/uts/known_test.py": "# subject: apps/uts\n", "tests/uts/tree.py": "", "tests/docs/pages_test.py": "# subject: docs README.md\n",
    "tests/scripts/trials_test.py": '# subject: src/boot\nBUILD / "tests/process/trial"\n',
    "apps/uts/main.cpp": '#include <weft/weft.hpp>\n',
}


class Choice(unittest.TestCase):
    def reached(self, *files):
        """The names of tests that are run after a change of these files."""
        patterns, self.targets, self.everything = affected.choose(TEXTS, files)
        names = ["fiber.fiber", "core.api.device", "core.matching.table", "core.protocol.send", "general.core.matching.table",
                 "coro.each/await", "model.table.a", "process-waits.weft-run.2", "process-am.hydra.2", "general-am.weft-run.2",
                 "example.ring", "example.hello", "script.uts.known_test", "script.docs.pages_test", "script.scripts.trials_test"]
        return [name for name in names if any(re.search(each, name) for each in patterns)]

    def test_a_source_of_a_layer_above_core_reaches_what_uses_the_layer(self):
        self.assertEqual(self.reached("src/fiber/worker.cpp"),
                         ["fiber.fiber", "coro.each/await", "process-waits.weft-run.2", "example.ring"])
        self.assertEqual(self.targets, {"weft-fiber-tests", "weft-coro-tests", "process-waits", "weft-run", "example-ring"})

    def test_fast_paths_and_their_twins_are_both_tested(self):
        self.assertEqual(self.reached("src/core/matching/table.hpp"),
                         ["core.matching.table", "core.protocol.send", "general.core.matching.table", "model.table.a",
                          "process-am.hydra.2", "general-am.weft-run.2"])
        self.assertIn("weft-core-matching-tests-general", self.targets)

    def test_a_public_header_reaches_files_that_include_everything_if_they_mention_its_classes(self):
        self.assertEqual(self.reached("include/weft/device.hpp"),
                         ["fiber.fiber", "core.api.device", "process-waits.weft-run.2", "process-am.hydra.2"])

    def test_a_changed_test_is_run_and_what_shares_a_helper(self):
        self.assertEqual(self.reached("tests/fiber/fiber_test.cpp"), ["fiber.fiber"])
        self.assertEqual(self.reached("tests/support/all.cpp"), ["coro.each/await"])
        self.assertEqual(self.reached("tests/process/am.cpp"), ["process-am.hydra.2"])
        self.assertEqual(self.reached("tests/coro/CMakeLists.txt"), ["coro.each/await"])

    def test_a_script_is_run_if_its_subject_or_a_helper_changes(self):
        self.assertEqual(self.reached("apps/uts/main.cpp"), ["script.uts.known_test"])
        self.assertEqual(self.reached("tests/uts/tree.py"), ["script.uts.known_test"])
        self.assertEqual(self.reached("docs/rules.md"), ["script.docs.pages_test"])
        self.assertEqual(self.reached("src/boot/file.cpp"), ["process-am.hydra.2", "script.scripts.trials_test"])
        self.assertIn("process-trial", self.targets)

    def test_what_lies_below_all_reaches_everything(self):
        for file in ("CMakeLists.txt", "src/base/log.cpp", "cmake/tests.cmake", "tests/CMakeLists.txt"):
            self.reached(file)
            self.assertEqual(self.everything, file)
        self.reached("src/net/shm/peer.cpp", "src/base/README.md")
        self.assertIsNone(self.everything)


# A change in each room of the library, and patterns of tests that it must choose at the least.
OF_PROCESSES = ("am", "all_operations", "collectives_by_seeds", "kinds", "lists")
MUST_CHOOSE = {
    "blocking": ["^blocking[.]"], "graph": ["^graph[.]", "^coll[.]", "^coro[.]", "process-collectives_allocate"],
    "boot": ["^boot[.]", "process-boot", "process-am"], "coro": ["^coro[.]", "^stress[.]coro[.]", "^misuse[.]coro[.]"],
    "coll": ["^coll[.]", "^mpi[.]", "process-collectives_by_seeds", "process-collectives_allocate", "process-deaths"],
    **{f"coll/{room}": ["^coll[.]", "^mpi[.]", "process-collectives_by_seeds"] for room in (
        "args", "schedule", "algorithms", "algorithms/short", "choose", "levels", "group", "run", "termination")},
    "fiber": ["^fiber[.]", "^misuse[.]fiber[.]", "process-forked"],
    "core/api": ["core[.]api[.]", *OF_PROCESSES], "core/device": ["core[.]device[.]", *OF_PROCESSES],
    "core/door": ["^fiber[.]", "^graph[.]", "^blocking[.]", *OF_PROCESSES],
    "core/fast": ["core[.]api[.]", "core[.]protocol[.]", "^fiber[.]", "^coll[.]", "^mpi[.]", *OF_PROCESSES],
    "core/matching": ["core[.]matching[.]", "stress[.]core[.]", *OF_PROCESSES],
    "core/memory": ["core[.]memory[.]", *OF_PROCESSES], "core/message": ["core[.]protocol[.]", *OF_PROCESSES],
    "core/operation": ["core[.]protocol[.]", "stress[.]core[.]", *OF_PROCESSES],
    "core/progress": ["core[.]progress[.]", "stress[.]core[.]", *OF_PROCESSES],
    "core/protocol": ["core[.]protocol[.]", "stress[.]core[.]", "^fiber[.]", "^coll[.]", "^mpi[.]", *OF_PROCESSES],
    "core/runtime": ["core[.]runtime[.]", "process-deaths", "process-left_early", *OF_PROCESSES],
    "core/wait": ["core[.]wait[.]", "^schedulers[.]", *OF_PROCESSES],
    "net": ["^net[.]", "^contract[.]", *OF_PROCESSES], "net/ring": ["^net[.]", "^contract[.]", *OF_PROCESSES],
    "net/ofi": ["^net[.]", "^contract[.]", "provider_test", "two_nodes_test"], "net/self": ["^contract[.]", *OF_PROCESSES],
    "net/shm": ["^contract[.]", "leftovers_test", *OF_PROCESSES], "net/template": ["^contract[.]"],
    "net/sim": ["^contract[.]", "seeds_test", "process-sim_failure", *OF_PROCESSES],
    **{room: ["^mpi[.]", "differential_test", "programs_test"] for room in (
        "mpi", "mpi/api", "mpi/api/extensions", "mpi/check", "mpi/collective", "mpi/communicator", "mpi/environment",
        "mpi/error", "mpi/extensions", "mpi/group", "mpi/handle", "mpi/info", "mpi/message", "mpi/objects", "mpi/rank", "mpi/tool", "mpi/topology", "mpi/type")},
    "mpi/clock": ["^mpi[.]clock[.]", "^mpi[.]", "programs_test"],
    "mpi/datatype": ["^mpi[.]datatype[.]", "^mpi[.]", "differential_test"],
}


class Tree(unittest.TestCase):
    texts = affected.tree(SOURCE)

    def test_a_change_in_each_room_chooses_the_tests_of_its_kind(self):
        rooms = {str(file.parent.relative_to(SOURCE / "src")) for file in (SOURCE / "src").rglob("README.md")}
        self.assertEqual(rooms - {".", "core", "base", "test"}, set(MUST_CHOOSE))
        for room, wanted in MUST_CHOOSE.items():
            found, _, _ = affected.choose(self.texts, [f"src/{room}/made_up.cpp"])
            patterns = [re.sub(r"\(process(\|general)?\)", "process", each.replace("(general[.])?", "")) for each in found]
            for part in wanted:
                self.assertTrue(any(part in pattern for pattern in patterns),
                                f"a change of src/{room} chooses no test {part}, but {sorted(patterns)}")

    def test_every_room_and_every_script_names_a_subject_that_is_there(self):
        for file, text in self.texts.items():
            is_room = file.startswith("tests/") and file.endswith("CMakeLists.txt") and "weft_test_room(" in text
            if is_room or file.endswith("_test.py"):
                subject = affected.subject_of("\n".join(text.split("\n")[:4]))
                self.assertTrue(subject or file == "tests/model/CMakeLists.txt", f"{file} names no subject")
            for path in affected.subject_of(text) if file.startswith("tests/") and "affected_test" not in file else ():
                self.assertTrue((SOURCE / path).exists(), f"{file}: there is no {path}")

    def test_fibers_reach_their_rooms_and_not_those_of_core_alone(self):
        patterns, targets, everything = affected.choose(self.texts, ["src/fiber/worker.cpp"])
        self.assertTrue({"weft-fiber-tests", "weft-misuse-fiber-tests", "example-fiber_ring"} <= targets, targets)
        self.assertFalse({"weft-core-matching-tests", "weft-graph-tests", "build_tests"} & targets, targets)
        self.assertTrue({r"^fiber[.]", r"^script[.]scripts[.]gdb_test$"} <= patterns, patterns)
        self.assertIsNone(everything)

    def test_a_base_that_git_does_not_know_is_an_error(self):
        run = subprocess.run([sys.executable, "-B", SOURCE / "tools/affected.py", "no-such-commit"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("git knows no no-such-commit", run.stderr)


if __name__ == "__main__":
    unittest.main()

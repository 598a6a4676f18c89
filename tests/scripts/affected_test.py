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

TEXTS = {
    "src/fiber/worker.hpp": "", "src/fiber/worker.cpp": '#include "fiber/worker.hpp"\n',
    "src/core/matching/table.hpp": "", "src/coro/run_loop.cpp": '#include "weft/a.hpp"\n',
    "include/weft/a.hpp": "", "include/weft/weft.hpp": '#include "weft/a.hpp"\n',
    "tests/unit/fiber/fiber_test.cpp": "TEST(fiber, a) {}\nTEST_P(fiber_more, a) {}\n",
    "tests/unit/coro/await_test.cpp": "TEST_F(run_loop, a) {}\n",
    "tests/unit/matching/table_test.cpp": '#include "core/matching/table.hpp"\nTEST(table, a) {}\n',
    "tests/unit/api/queue_test.cpp": '#include <weft/weft.hpp>\nTEST(queue, a) {}\n',
    "tests/unit/device/outstanding_test.cpp": "TEST(outstanding, a) {}\n",
    "tests/programs/uts_credit_test.cpp": "TEST(credit, a) {}\n",
    "tests/process/fiber_ends.cpp": "int main() {}\n",
}


class Choice(unittest.TestCase):
    def reached(self, *files):
        """Of these names of tests the ones that are run."""
        patterns, self.targets, self.everything = affected.choose(TEXTS, files)
        names = ["unit.fiber", "unit.each/fiber_more", "general.unit.fiber", "unit.run_loop", "unit.table", "unit.queue",
                 "general.unit.table", "unit.outstanding", "programs.credit.a", "process-fiber_ends.weft-run.2",
                 "script.docs.pages_test", "script.uts.known_test", "script.tidy.tidy_test", "example.fiber_ring",
                 "example.hello"]
        return [name for name in names if any(re.search(each, name) for each in patterns)]

    def test_a_source_of_a_layer_reaches_the_tests_of_its_name(self):
        self.assertEqual(self.reached("src/fiber/worker.cpp"),
                         ["unit.fiber", "unit.each/fiber_more", "process-fiber_ends.weft-run.2", "example.fiber_ring"])
        self.assertIn("weft-unit-tests", self.targets)
        self.assertNotIn("weft-unit-tests-general", self.targets)

    def test_fast_paths_and_their_twins_are_both_tested(self):
        self.assertEqual(self.reached("src/core/matching/table.hpp"), ["unit.table", "general.unit.table"])
        self.assertIn("weft-unit-tests-general", self.targets)

    def test_a_header_reaches_the_rooms_of_its_includers_but_not_through_the_one_that_has_all(self):
        self.assertEqual(self.reached("include/weft/a.hpp"), ["unit.run_loop", "script.docs.pages_test"])

    def test_pages_programs_and_tools_reach_the_scripts_of_their_name(self):
        self.assertEqual(self.reached("docs/rules.md"), ["script.docs.pages_test"])
        self.assertEqual(self.reached("apps/uts/main.cpp"), ["programs.credit.a", "script.uts.known_test"])
        self.assertEqual(self.reached("tools/tidy.py"), ["script.tidy.tidy_test"])

    def test_a_changed_test_is_run(self):
        self.assertEqual(self.reached("tests/unit/api/queue_test.cpp"), ["unit.queue"])

    def test_what_lies_below_all_reaches_everything(self):
        for file in ("CMakeLists.txt", "src/base/log.cpp", "tests/support/waiting.hpp", "src/net/transport.hpp"):
            self.reached(file)
            self.assertEqual(self.everything, file)
        self.reached("src/net/shm/peer.cpp")
        self.assertIsNone(self.everything)

    def test_every_room_of_the_library_is_known_or_reaches_everything(self):
        for readme in (SOURCE / "src").rglob("README.md"):
            room = str(readme.parent.relative_to(SOURCE))
            if room not in ("src", "src/core", "src/net"):
                self.assertTrue(room in affected.ROOMS or room.startswith(affected.EVERYTHING), room)

    def test_a_base_that_git_does_not_know_is_an_error(self):
        run = subprocess.run([sys.executable, "-B", SOURCE / "tools/affected.py", "no-such-commit"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 1)
        self.assertIn("git knows no no-such-commit", run.stderr)


if __name__ == "__main__":
    unittest.main()

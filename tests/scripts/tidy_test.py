# SPDX-License-Identifier: BSD-3-Clause
# subject: tools/tidy.py tools/checks
"""Each check of tools/tidy.py finds what it is for, and leaves alone what is right."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(SOURCE / "tools"))
sys.dont_write_bytecode = True
import tidy  # noqa: E402
from checks import files  # noqa: E402

PUBLISH = """#include <atomic>
// [ring.publish] release -> [ring.poll]: carries the payload.
slot.sequence.store(1, std::memory_order_release);
"""
POLL = """#include <atomic>
// [ring.poll] acquire <- [ring.publish]: nothing may be read before.
auto seen = slot.sequence.load(std::memory_order_acquire);
"""


class Checks(unittest.TestCase):
    def findings(self, **files):
        """Runs all checks over `files`, whose names have `__` for `/` and end in `_hpp` or `_cpp`."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            names = []
            for name, text in files.items():
                file = name.replace("__", "/")[:-4] + "." + name[-3:]
                path = root / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                (path.parent / "README.md").write_text("# here\n")
                names += [file, str(Path(file).parent / "README.md")]
            return [str(finding) for finding in tidy.check(root, names)]

    def assert_one(self, expected, **files):
        found = self.findings(**files)
        self.assertEqual(len(found), 1, found)
        self.assertIn(expected, found[0])


class Mentions(Checks):
    def test_a_file_that_a_comment_names_is_there(self):
        self.assertEqual(self.findings(src__base__a_hpp="// As in base/b.hpp and b.hpp.\n", src__base__b_hpp=""), [])
        self.assert_one("src/base/a.hpp:2: there is no c.hpp", src__base__a_hpp="\n// As in c.hpp.\n")

    def test_a_name_that_a_comment_or_a_page_mentions_is_there(self):
        code = "namespace weft::base { struct a { void b(); }; }\n"
        self.assertEqual(self.findings(src__base__a_hpp=code + "// `a::b`, `weft::base::a`, `std::vector`, c::d.\n"), [])
        self.assert_one("src/base/a.hpp:2: there is no a::c: nothing is called c",
                        src__base__a_hpp=code + "// As `a::c` does; auto c.\n")
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "page.md").write_text("See `weft::gone`.\n")
            self.assertEqual([str(each) for each in tidy.check(root, ["page.md"])],
                             ["page.md:1: there is no weft::gone: nothing is called gone"])

    def test_a_source_names_its_license(self):
        line = f"{files.LICENSE}\n"
        right = {"a.cpp": f"// {line}", "b/CMakeLists.txt": f"# {line}", "run": f"#!/bin/sh\n# {line}", "c.json": "1", "examples/d.cpp": "int d;\n"}
        wrong = {"e.hpp": f"#pragma once\n// {line}", "f.py": "", "stop": "#!/bin/sh\n"}
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**right, **wrong}.items():
                path = Path(folder) / name
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            found = files.licenses(Path(folder), [*right, *wrong])
        self.assertEqual([str(finding).partition(":")[0] for finding in found], [*wrong])

    def test_the_contract_is_short(self):
        line = "int a;\n"
        self.assertEqual(self.findings(src__net__sink_hpp=180 * line + "// a comment\n"), [])
        self.assert_one("the contract has 181 lines", src__net__sink_hpp=100 * line, src__net__message_hpp=81 * line)


class Names(Checks):
    def test_the_last_part_of_a_namespace_is_the_file_or_its_folder(self):
        right = "namespace weft::base { class x; }\nnamespace weft::core::a {\n}\nnamespace weft::core {\n}\nnamespace weft {\n}\nnamespace {\n}\n"
        self.assertEqual(self.findings(src__core__protocol__a_hpp=right), [])
        self.assert_one("src/core/protocol/a.hpp:2: namespace weft::core::b: its last part is the file's name or folder",
                        src__core__protocol__a_hpp="\nnamespace weft::core::b {\nint c;\n}\n")

    def test_a_message_is_handled_by_its_name_and_a_step_done_by_it(self):
        right = ("case wire::fin: return rendezvous::on_fin(a);\ncase wire::put_signal:\n"
                 "case wire::get_signal: return one_sided::on_signal(a);\ncase step::fetch: return x::fetch(a);\n"
                 "case wire::rtr: return continue_it(a);\ncase step::free: return true;\n")
        self.assertEqual(self.findings(src__core__protocol__a_cpp=right), [])
        for wrong, expected in [("case wire::fin: return rendezvous::on_end(a);", "wire::fin is handled by on_fin"),
                                ("case wire::put_signal:\ncase wire::get_signal: return on_put(a);",
                                 "wire::put_signal is handled by on_put_signal"),
                                ("case step::fetch: return x::get(a);", "step::fetch is done by a function fetch")]:
            self.assert_one(f"src/core/protocol/a.cpp:2: {expected}", src__core__protocol__a_cpp="\n" + wrong + "\n")


class RiddleWords(Checks):
    RIDDLES = "// Who looks sees what was said.\n"  # three in six words

    def test_a_file_with_more_than_its_bound_is_found_with_the_lines(self):
        self.assert_one("500 riddle words in 1000, 12 allowed: say who does what (1: who, what, said)",
                        src__base__a_cpp=self.RIDDLES)
        self.assert_one("20 allowed", tests__unit__a_cpp=self.RIDDLES)
        with tempfile.TemporaryDirectory() as folder:
            texts = {"docs/rules.md": self.RIDDLES}
            self.assertIn("15 allowed", str(tidy.plainness.findings(folder, texts)[0]))

    def test_code_and_two_words_in_a_short_file_are_left_alone(self):
        self.assertEqual(self.findings(src__base__a_cpp="int who, said; // Who `what said` sees what.\n"), [])
        page = "```\nwho what said\n```\n`who what said` <!-- who what said -->\n"
        self.assertEqual(tidy.plainness.count("docs/a.md", page)[0], 0)

    def test_kept_numbers_only_fall(self):
        with tempfile.TemporaryDirectory() as folder:
            kept = Path(folder, tidy.plainness.KEPT)
            kept.parent.mkdir(parents=True)
            better = self.RIDDLES + "// One two three four five six.\n"  # 250
            for number, count in [(600, 1), (250, 0), (249, 1)]:
                kept.write_text(f'{{"src/base/a.cpp": {number}}}')
                self.assertEqual(len(tidy.plainness.findings(folder, {"src/base/a.cpp": better})), count, number)
                tidy.plainness.lower(folder, {"src/base/a.cpp": better})
                self.assertEqual(tidy.plainness.kept.load(folder, tidy.plainness.KEPT), {"src/base/a.cpp": min(number, 250)})
            tidy.plainness.lower(folder, {"src/base/a.cpp": "// Plain.\n"})
            self.assertEqual(tidy.plainness.kept.load(folder, tidy.plainness.KEPT), {})


class Prepositions(Checks):
    def test_names_that_are_prepositions_are_found_with_their_lines(self):
        for name in ("of", "in_", "by", "at", "with", "on", "through", "how", "who", "one", "than", "as"):
            self.assert_one("include/weft/a.hpp:2: 1000 prepositions in 1000 names, 0 allowed: a name is a noun "
                            f"(2: {name})", include__weft__a_hpp=f"\nint {name};\n")

    def test_the_library_may_have_a_few(self):
        others = "".join(f"int a{i};\n" for i in range(297))
        self.assertEqual(self.findings(src__base__a_cpp="int of, by, in;\n" + others), [])
        self.assertEqual(len(self.findings(src__base__a_cpp="int of, by, in, at;\n" + others)), 2)
        self.assertEqual(self.findings(src__base__a_cpp="int of, by;\n"), [])
        self.assert_one("src/base/:1: 1000 prepositions in 1000 names, 10 allowed: a name is a noun (src/base/a.cpp: of, by; "
                        "src/base/b.cpp: in)", src__base__a_cpp="int of, by;\n", src__base__b_cpp="int in;\n")
        self.assertEqual(self.findings(tests__unit__a_cpp="int of, by, in;\n"), [])

    def test_prose_longer_names_and_elements_are_left_alone(self):
        text = ('#define of in\n// of in\n/* by\n at */\nauto a = "of in by", b = R"(of "in by)", c = \'"\'; int size_of, income;\n'
                "int d = e.at(1) + f->at (2) + g.as<int>(); [[nodiscard]] h as() const; h at(std::uint64_t offset) const;\n"
                '[[deprecated("say device")]] int& through() noexcept; enum { in [[deprecated("say i")]] = i };\n')
        self.assertEqual(tidy.prepositions.names(text).lines, {})
        self.assertEqual(tidy.prepositions.names("// a\n/* b\n*/ int at; int c = at(3);\n").lines, {3: ["at", "at"]})

    def test_comments_that_begin_with_a_preposition_are_found(self):
        text = "int a;  // In it.\n// By the sender, of\n// of a message.\nint b;  ///< the same\n// Inside.\nint c;  // informs\n"
        count = tidy.prepositions.fragments(text)
        self.assertEqual((count.lines, count.total), ({1: ["In it."], 2: ["By the sender, of"], 4: ["the same"]}, 5))
        self.assertIn("src/base/a.cpp:1: 60 % of the comments begin with a preposition, 3 allowed",
                      self.findings(src__base__a_cpp=text)[0])

    def test_kept_numbers_only_fall_and_move_with_their_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file, entry = tidy.prepositions.KEPT + "src-coll.json", "src/coll/a.hpp names"
            Path(folder, tidy.prepositions.KEPT).mkdir(parents=True)
            texts = {"src/coll/a.hpp": "int of, in, by;\n", "src/coll/b.hpp": "int a;\n" * 300}
            for number, count in [(1001, 0), (1000, 0), (999, 1)]:
                tidy.prepositions.kept.store(folder, file, {entry: number, "src/coll/ names": 999})
                self.assertEqual(len(tidy.prepositions.findings(folder, texts)), count, number)
                tidy.prepositions.lower(folder, texts)
                self.assertEqual(tidy.prepositions.kept.load(folder, file), {entry: min(number, 1000)})
            tidy.prepositions.kept.store(folder, file, {entry: 1000})
            moved = {"src/coll/group/a.hpp": texts["src/coll/a.hpp"], "src/coll/b.hpp": texts["src/coll/b.hpp"]}
            self.assertEqual(tidy.prepositions.findings(folder, moved), [])
            tidy.prepositions.lower(folder, moved)
            self.assertEqual(tidy.prepositions.kept.load(folder, file), {"src/coll/group/a.hpp names": 1000})


class Members(Checks):
    def test_a_class_of_more_members_or_a_struct_of_more_fields_is_found(self):
        fields = "".join(f"  int a{i}{{0}};\n" for i in range(16))
        functions = "".join(f"  [[nodiscard]] int f{i}(int (*g)(int)) const noexcept {{ return {{}}; }}\n" for i in range(24))
        inner = "  struct b { int c, d; };\n  static constexpr int limit = 3;\n  using e = int;\n  friend class x;\n"
        self.assertEqual(self.findings(src__base__a_hpp=f"class a {{\n public:\n{fields}{functions}{inner}}};\n"), [])
        self.assert_one("src/base/a.hpp:1: a has 41 members, 40 allowed",
                        src__base__a_hpp=f"class a {{\n{fields}{functions}{inner}  ~a();\n}};\n")
        refusal = "  template <class C = int>\n  int f(int, ...) = delete;  // says what to write\n"
        self.assertEqual(self.findings(src__base__a_hpp=f"class a {{\n{fields}{functions}{inner}{refusal}}};\n"), [])
        deprecated = '  [[deprecated("say f1")]] int f() const { return f1(); }\n  [[deprecated("say f1")]] int g() const;\n'
        self.assertEqual(self.findings(src__base__a_hpp=f"class a {{\n{fields}{functions}{inner}{deprecated}}};\n"), [])
        self.assertEqual(self.findings(src__base__a_hpp=f"struct a {{\n{fields}}};\n"), [])
        self.assert_one("a has 17 fields, 16 allowed", src__base__a_hpp=f"struct a {{\n{fields}  std::map<int, int> m;\n}};\n")
        many = "".join(f"  int a{i}{{0}};\n" for i in range(40))
        self.assertEqual(self.findings(src__base__a_hpp=f"struct a_options {{\n{many}}};\n"), [])
        findings = self.findings(src__base__a_hpp=f"struct a_options {{\n{many}  int b;\n}};\n")
        self.assertEqual(len(findings), 2, findings)  # members, and fields among them


class Words(Checks):
    def test_a_name_of_a_word_that_says_several_things_is_found(self):
        for name, instead in [("post_otherwise", "_slow"), ("take_at_once", "fast_"), ("known_way", "route"),
                              ("is_plain", "inline"), ("bed_", "sleep"), ("what", "header"), ("place_of", "index"),
                              ("copy_share", "piece"), ("next_turn", "round"), ("stir", "wake"), ("hand_max", "cache")]:
            elsewhere = () if name in ("take_at_once", "stir") else ("programs__a_cpp", "tests__unit__a_cpp")
            for file in ("src__base__a_cpp", "include__weft__a_hpp", *elsewhere):
                with self.subTest(f"{name} in {file}"):
                    self.assert_one(f":2: name '{name}': say", **{file: f"\nint {name};\n"})
                    self.assertIn(instead, self.findings(**{file: f"\nint {name};\n"})[0])

    def test_prose_and_texts_and_sentences_are_left_alone(self):
        text = '// known_way, what\nauto a = "is_plain what"; // bed\nvoid does_what_its_own_name_says();\n'
        self.assertEqual(self.findings(src__base__a_cpp=text), [])

    def test_ordinary_words_are_left_alone(self):
        text = "int always, away, embedded, replace, shared, somewhat, handle; auto b = std::in_place;\n"
        self.assertEqual(self.findings(src__base__a_cpp=text + "auto text = problem.what();\n"), [])

    def test_a_riddle_in_a_comment_is_found(self):
        for riddle in ("whoever", "In vain", "as above", "that which", "gone wild", "those that", "Somebody"):
            self.assert_one(f"src/base/a.cpp:2: '{riddle}'", src__base__a_cpp=f"\nint a;  // It is {riddle}.\n")
        self.assertEqual(self.findings(src__base__a_cpp='auto a = "whoever";  // The sender.\n'), [])


class Helpers(Checks):
    def test_what_one_file_does_is_found_elsewhere(self):
        for code, instead in [("auto a = std::chrono::steady_clock::now();", "base::clock"),
                              ("::clock_gettime(1, &b);", "base::clock"), ("std::random_device a;", "random_word"),
                              ("::getrandom(a, b, 0);", "random_word"), ("::close(fd);", "base::descriptor"),
                              ("std::abort();", "base::misuse"), ("assert(a == b);", "WEFT_ASSERT"),
                              ("by->suspend();", "suspend_by")]:
            with self.subTest(code):
                self.assert_one(f"src/net/a.cpp:2: ", src__net__a_cpp=f"\n{code}\n")
                self.assertIn(instead, self.findings(src__net__a_cpp=f"\n{code}\n")[0])
                self.assertEqual(self.findings(programs__a_cpp=f"\n{code}\n"), [])

    def test_a_variable_of_a_thread_says_whether_it_means_the_fiber(self):
        self.assert_one("src/base/a.cpp:1: say", src__base__a_cpp="thread_local int a = 0;\n")
        self.assertEqual(self.findings(src__base__a_cpp="thread_local int a = 0;  // of the thread\n"
                                                        "// Of the fiber.\nstatic thread_local int b;\n"
                                                        "int c;\nint d;\nthread_local int one::e = 0;\n"), [])

    def test_the_file_itself_and_names_of_functions_are_left_alone(self):
        self.assertEqual(self.findings(src__base__clock_hpp="auto a = std::chrono::steady_clock::now();\n",
                                       src__base__descriptor_hpp="::close(fd);\n",
                                       src__net__a_cpp="void ring::close(int a) {}\nstatic_assert(a);\n"), [])


class Algorithms(unittest.TestCase):
    ROW = '    {operation::scan, "two-step", two_step_scan, can_two_step_scan},\n'
    MADE = "// Made of the table by tools/tidy.py --fix:\n%s// End of what is made.\n"
    RIGHT = {
        tidy.algorithms.TABLE: ROW, "src/coll/algorithms/two_step_scan.cpp": "",
        tidy.algorithms.DECLARATIONS: MADE % ("void two_step_scan(schedule& out, const collective_args& args);\n"
                                              "bool can_two_step_scan(const collective_args& args);\n"),
        tidy.algorithms.NAMES: MADE % '    collective_name{"scan", "two-step"},\n    ',
        tidy.algorithms.PAGE: "| barrier | `tree` | 1 |\n| scan | `linear` | 1 |\n| | `two-step` | 2 |\n"}

    def test_a_row_has_a_file_a_declaration_a_name_and_a_row_of_the_page(self):
        def found(**changed):
            return [str(each) for each in tidy.algorithms.findings({**self.RIGHT, **changed})]
        self.assertEqual(found(), [])
        for file in (tidy.algorithms.DECLARATIONS, tidy.algorithms.NAMES):
            self.assertEqual(found(**{file: self.MADE % ""}),
                             [f"{file}:1: is not what the table of algorithms says; tools/tidy.py --fix makes it"])
        self.assertIn("has no row for two-step of scan", found(**{tidy.algorithms.PAGE: "| scan | `linear` |\n"})[0])
        self.assertIn("rows are not", found(**{tidy.algorithms.TABLE: self.ROW + "    {operation::scan, odd},\n"})[0])
        named = self.ROW.replace('"two-step"', '"three-step"')
        self.assertIn("the function of three-step of scan is three_step_scan", found(**{tidy.algorithms.TABLE: named})[0])
        files = {file: text for file, text in self.RIGHT.items() if "two_step" not in file}
        self.assertIn("there is no two_step_scan.cpp", str(tidy.algorithms.findings(files)[0]))
        body = "void short_two_step_scan(int);\n"
        self.assertEqual(found(**{f"{tidy.algorithms.SHORT}two_step_scan.hpp": body}), [])
        self.assertIn("have the name", found(**{f"{tidy.algorithms.SHORT}scan.hpp": body})[0])
        self.assertIn("have the name", found(**{f"{tidy.algorithms.SHORT}tree_scan.hpp": "void short_tree_scan(int);\n"})[0])

    def test_fix_makes_what_the_table_says(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in (tidy.algorithms.DECLARATIONS, tidy.algorithms.NAMES):
                path = Path(folder) / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self.MADE % "")
                tidy.algorithms.make(Path(folder), {**self.RIGHT, file: self.MADE % ""})
                self.assertEqual(path.read_text(), self.RIGHT[file])


class Layers(Checks):
    def test_a_layer_may_use_those_before_it_and_public_headers(self):
        text = '#include "weft/error.hpp"\n#include "boot/a.hpp"\n#include "net/link.hpp"\n#include <vector>\n'
        self.assertEqual(self.findings(src__core__api__a_cpp=text), [])

    def test_a_layer_may_not_use_those_after_it(self):
        self.assert_one("src/boot/a.cpp:2: includes net/link.hpp", src__boot__a_cpp='\n#include "net/link.hpp"\n')

    def test_an_unknown_layer_is_named(self):
        self.assert_one("unknown layer 'rpc'", src__rpc__a_cpp='#include "net/link.hpp"\n')

    def test_headers_of_a_room_of_core_use_those_before_it_and_sources_all(self):
        self.assertEqual(self.findings(src__core__wait__a_hpp='#include "core/device/a.hpp"\n'), [])
        self.assert_one("room 'wait' of core stands below 'api'", src__core__wait__a_cpp='#include "core/api/a.hpp"\n')
        listed = '#include "core/runtime/runtime_state.hpp"\n'
        self.assertEqual(self.findings(src__core__wait__parking_cpp=listed), [])
        self.assert_one("room 'wait' of core stands below 'api'", src__core__wait__a_hpp='#include "core/api/a.hpp"\n')
        self.assert_one("above core only core/door/ may be included",
                        src__coro__a_cpp='#include "core/runtime/runtime_state.hpp"\n')
        self.assertEqual(self.findings(src__coro__a_cpp='#include "core/door/door.hpp"\n'), [])
        self.assert_one("src/core/door/a.hpp:1: shows core/device/device_state.hpp to the layers above core",
                        src__core__door__a_hpp='#include "core/wait/b.hpp"\n',
                        src__core__wait__b_hpp='#include "core/device/device_state.hpp"\n',
                        src__core__device__device_state_hpp="")
        self.assert_one("unknown room 'attic' of core", src__core__attic__a_hpp='#include "core/api/a.hpp"\n')

    def test_a_room_of_collectives_uses_those_before_it(self):
        self.assertEqual(self.findings(src__coll__run__a_cpp='#include "coll/group/a.hpp"\n'), [])
        self.assert_one("room 'group' of coll stands below 'run'", src__coll__group__a_cpp='#include "coll/run/a.hpp"\n')
        self.assert_one("unknown room 'attic' of coll", src__coll__attic__a_hpp='#include "coll/run/a.hpp"\n')
        self.assert_one("above core only core/door/ may be included",
                        src__coll__run__a_cpp='#include "core/wait/a.hpp"\n')

    def test_a_room_of_the_mpi_library_uses_those_before_it(self):
        self.assertEqual(self.findings(src__mpi__message__a_cpp='#include "mpi/rank/a.hpp"\n'), [])
        self.assert_one("room 'objects' of mpi stands below 'rank'", src__mpi__objects__a_cpp='#include "mpi/rank/a.hpp"\n')
        self.assert_one("unknown room 'attic' of mpi", src__mpi__attic__a_hpp='#include "mpi/rank/a.hpp"\n')

    def test_the_build_makes_the_layers_and_rooms_that_are_known(self):
        below = {"src__base__a_hpp": "", "src__boot__a_hpp": ""}
        in_order = "add_subdirectory(base)\nadd_subdirectory(boot)\nadd_subdirectory(test)\n"
        self.assertEqual(self.findings(src__CMakeLists_txt=in_order, **below), [])
        self.assert_one("makes boot base; tools/checks/layers.py has base boot",
                        src__CMakeLists_txt="add_subdirectory(boot)\nadd_subdirectory(base)\n", **below)
        self.assert_one("src/core/CMakeLists.txt:1: makes memory; tools/checks/layers.py has memory wait",
                        src__core__CMakeLists_txt="weft_layer(core LINKS base\n  ROOMS memory\n  ALSO net/a.cpp)\n",
                        src__core__memory__a_hpp="", src__core__wait__a_hpp="")

    def test_folders_of_a_program_use_those_before_them(self):
        below = '#include "weft-perf/report/a.hpp"\n#include "weft-perf/options.hpp"\n#include "weft/error.hpp"\n'
        self.assertEqual(self.findings(**{"programs__weft-perf__limits__a_cpp": below}), [])
        above = '#include "weft-perf/compare/a.hpp"\n'
        for folder, name in {"": "", "measure__": "measure"}.items():
            self.assert_one(f"folder '{name}' of weft-perf stands below 'compare'",
                            **{f"programs__weft-perf__{folder}a_cpp": above})
        self.assert_one("folder 'report' of weft-perf stands below ''", **{"programs__weft-perf__report__a_hpp": below})
        self.assert_one("unknown folder 'attic' of weft-perf",
                        **{"programs__weft-perf__a_cpp": '#include "weft-perf/attic/a.hpp"\n'})
        self.assertEqual(self.findings(programs__other__a_cpp=above), [])

    def test_a_transport_may_not_use_another(self):
        self.assert_one("'shm' may not use transport 'ofi'", src__net__shm__a_cpp='#include "net/ofi/a.hpp"\n')

    def test_a_transport_uses_itself_and_the_contract(self):
        self.assertEqual(self.findings(src__net__shm__a_cpp='#include "net/shm/a.hpp"\n#include "net/link.hpp"\n'), [])

    def test_what_transports_share_is_used_by_all_and_uses_none_of_them(self):
        self.assertEqual(self.findings(src__net__a_hpp='#include "net/ring/b.hpp"\n', src__net__ring__b_hpp="",
                                       src__net__shm__a_hpp='#include "net/ring/b.hpp"\n',
                                       src__core__device__a_hpp='#include "net/ring/b.hpp"\n'), [])
        self.assert_one("transport 'ring' may not use transport 'shm'", src__net__ring__b_hpp='#include "net/shm/a.hpp"\n')

    def test_only_the_table_names_transports(self):
        self.assertEqual(self.findings(src__net__transports_hpp='#include "net/shm/a.hpp"\n'), [])
        self.assert_one("only src/net/transports.hpp", src__net__other_cpp='#include "net/shm/a.hpp"\n')
        self.assert_one("nothing above net/ names a transport", src__core__api__a_cpp='#include "net/shm/a.hpp"\n')

    def test_a_public_header_includes_neither_private_headers_nor_private_libraries(self):
        self.assert_one("a public header may include only", include__weft__a_hpp='#include "boot/a.hpp"\n')
        self.assert_one("library that its user need not have", include__weft__a_hpp='#include <fmt/core.h>\n')

    def test_support_for_tests_may_use_everything_and_is_used_by_nothing(self):
        self.assertEqual(self.findings(src__test__a_cpp='#include "net/shm/a.hpp"\n#include "core/a.hpp"\n'), [])
        self.assert_one("only tests may use", src__core__api__a_cpp='#include "weft/test/local_job.hpp"\n')

    def test_a_header_that_no_user_reaches_is_found(self):
        reached = {"include__weft__a_hpp": "#include <weft/detail/b.hpp>\n",
                   "include__weft__detail__b_hpp": '#include "weft/detail/c.hpp"\n'}
        self.assertEqual(self.findings(**reached, include__weft__detail__c_hpp=""), [])
        self.assert_one("include/weft/detail/d.hpp:1: no public header includes it",
                        **reached, include__weft__detail__c_hpp="", include__weft__detail__d_hpp="")

    def test_going_up_by_dots_is_found(self):
        self.assert_one("not through '../'", src__core__api__a_cpp='#include "../base/a.hpp"\n')


class Atomics(Checks):
    def test_partners_that_name_each_other_are_right(self):
        self.assertEqual(self.findings(src__base__a_cpp=PUBLISH, src__core__b_cpp=POLL), [])

    def test_a_label_without_its_partner_is_found(self):
        self.assert_one("[ring.publish] names [ring.poll], which no comment defines", src__base__a_cpp=PUBLISH)

    def test_a_partner_that_does_not_name_back_is_found(self):
        peek = POLL.replace("ring.poll", "ring.peek")
        self.assert_one("[ring.peek] names [ring.publish], but src/base/a.cpp:2 does not name it",
                        src__base__a_cpp=PUBLISH + POLL + peek)

    def test_several_partners_are_separated_by_commas(self):
        text = PUBLISH.replace("-> [ring.poll]", "-> [ring.poll], [ring.peek]")
        text += POLL + POLL.replace("ring.poll", "ring.peek")
        self.assertEqual(self.findings(src__base__a_cpp=text), [])

    def test_two_partners_that_point_the_same_way_are_found(self):
        found = self.findings(src__base__a_cpp=PUBLISH + POLL.replace("<-", "->"))
        self.assertEqual(len(found), 2, found)
        self.assertIn("same direction", found[0])

    def test_a_label_of_two_files_is_found(self):
        self.assert_one("is a label of src/base/a.cpp:2 already",
                        src__base__a_cpp=PUBLISH + POLL, src__base__b_cpp=PUBLISH)

    def test_an_access_without_comment_is_found(self):
        text = "#include <atomic>\n\nint c;\nauto a = b.load(std::memory_order_acquire);\n"
        self.assert_one("src/base/a.cpp:4: acquire access without", src__base__a_cpp=text)

    def test_tests_are_checked_as_well(self):
        self.assert_one("tests/unit/a.cpp:1: store(1) without its memory order",
                        tests__unit__a_cpp="std::atomic<int> a; a.store(1);\n")

    def test_an_access_of_another_order_than_its_comment_is_found(self):
        text = PUBLISH + POLL.replace("memory_order_acquire", "memory_order_seq_cst")
        self.assert_one("seq_cst access without", src__base__a_cpp=text)

    def test_one_comment_does_not_serve_two_accesses(self):
        text = PUBLISH + "slot.other.store(1, std::memory_order_release);\n" + POLL
        self.assert_one("src/base/a.cpp:4: release access without", src__base__a_cpp=text)

    def test_an_access_over_several_lines_has_its_comment_above(self):
        text = PUBLISH.replace("store(1, ", "store(\n    value_of(\n        position),\n    ") + POLL
        self.assertEqual(self.findings(src__base__a_cpp=text), [])

    def test_relaxed_accesses_say_why_or_that_they_count(self):
        text = "#include <atomic>\n// relaxed: a hint.\na.load(std::memory_order_relaxed);\n"
        text += "b.load(std::memory_order_relaxed);\n"
        self.assertEqual(self.findings(src__base__a_cpp=text), [])
        text = "#include <atomic>\na.load(std::memory_order_relaxed);\n"
        self.assert_one("relaxed access without", src__base__a_cpp=text)

    def test_a_mark_stands_for_a_relaxed_order(self):
        for mark in ("stat", "own", "locked", "hint"):
            text = f"#include <atomic>\na.load(std::memory_order_relaxed);  // [{mark}]\n"
            self.assertEqual(self.findings(src__base__a_cpp=text), [])
            text = f"#include <atomic>\n// [{mark}] why.\na.load(std::memory_order_relaxed);\n"
            self.assertEqual(self.findings(src__base__a_cpp=text), [])

    def test_a_mark_of_another_order_is_found(self):
        for mark in ("stat", "own", "locked", "hint"):
            text = PUBLISH.replace("_release);", f"_release);  // [{mark}]") + POLL
            self.assert_one(f"src/base/a.cpp:3: [{mark}] marks relaxed accesses only", src__base__a_cpp=text)
            text = f"#include <atomic>\na.load(std::memory_order_acquire);  // [{mark}]\n"
            found = self.findings(src__base__a_cpp=text)
            self.assertEqual(len(found), 2, found)
            self.assertIn("acquire access without", found[0])

    def test_another_mark_is_found(self):
        text = "#include <atomic>\na.load(std::memory_order_relaxed);  // [mine]\n"
        found = self.findings(src__base__a_cpp=text)
        self.assertEqual(len(found), 2, found)
        self.assertIn("relaxed access without", found[0])
        self.assertIn("[mine] is no label", found[1])
        text = "#include <atomic>\n// [guess] relaxed it is.\n// [mine] and so on\na.load(std::memory_order_relaxed);\n"
        self.assert_one("src/base/a.cpp:3: [mine] is no label", src__base__a_cpp=text)

    def test_a_mark_amid_a_comment_marks_nothing(self):
        text = "#include <atomic>\na.load(std::memory_order_relaxed);  // no [hint]\n"
        self.assert_one("relaxed access without", src__base__a_cpp=text)

    def test_a_mark_is_no_label(self):
        text = "#include <atomic>\n// [own] relaxed: why.\na.load(std::memory_order_relaxed);\n"
        self.assert_one("[own] is a mark", src__base__a_cpp=text)

    def test_programs_are_checked_like_the_library(self):
        for folder in ("programs/a", "apps/a", "perf", "examples"):
            with self.subTest(folder):
                file = folder.replace("/", "__") + "__a_cpp"
                self.assert_one("a.cpp:2: load() without", **{file: "#include <atomic>\nint b = a.load();\n"})
                self.assert_one("[ring.publish] names [ring.poll], which no comment defines", **{file: PUBLISH})

    def test_calls_without_their_order_are_found(self):
        for call in ("a.load()", "a->store(1)", "a.fetch_add(\n  1)", "a.compare_exchange_weak(b, c)", "a.exchange(1)"):
            with self.subTest(call):
                self.assert_one("without its memory order", src__base__a_cpp=f"#include <atomic>\nint b = {call};\n")

    def test_calls_of_other_things_are_left_alone(self):
        text = "#include <atomic>\nconfig.load(path);\nreturn peers.store();\n"
        self.assertEqual(self.findings(src__base__a_cpp=text), [])
        self.assertEqual(self.findings(src__boot__a_cpp="#include <atomic>\nboot.exchange(bytes);\n"), [])

    def test_operators_on_atomics_are_found(self):
        for use in ("++count_;", "count_ += 2;", "count_ = 1;", "other.count_--;"):
            with self.subTest(use):
                text = f"#include <atomic>\nstd::atomic<int> count_{{0}};\nvoid f() {{\n{use}\n}}\n"
                self.assert_one("src/base/a.cpp:4: operator on the atomic count_", src__base__a_cpp=text)

    def test_comparing_is_no_assignment(self):
        text = "#include <atomic>\nstd::atomic<int> count_;\nbool b = copy_of(count_) == 1;\n"
        self.assertEqual(self.findings(src__base__a_cpp=text), [])


SAID = "/// Looks. **Blocking**: never. **Threads**: any. **Errors**: none."


class Docs(Checks):
    def header(self, *lines):
        return "namespace weft {\n" + "\n".join(lines) + "\n}  // namespace weft\n"

    def test_a_function_that_says_all_is_right(self):
        self.assertEqual(self.findings(include__weft__a_hpp=self.header(SAID, "int look(int index);")), [])

    def test_each_topic_that_is_not_said_is_found(self):
        for topic in ("Blocking", "Threads", "Errors"):
            with self.subTest(topic):
                text = self.header(SAID.replace(f"**{topic}**", topic), "int look(int index);")
                self.assert_one(f"a.hpp:3: look: neither its comment nor its class's says **{topic}**",
                                include__weft__a_hpp=text)

    def test_a_function_without_any_comment_is_found(self):
        self.assert_one("says **Blocking**, **Threads**, **Errors**", include__weft__a_hpp=self.header("int look();"))

    def test_a_buffer_needs_its_word(self):
        for kind in ("buffer_ref", "const_buffer_ref", "buffer_list", "const buffer_list&", "const_buffer_list",
                     "std::span<std::byte>", "std::span<const std::byte>"):
            with self.subTest(kind):
                function = f"void look(int index,\n          {kind} buffer);"
                self.assert_one("look: neither its comment nor its class's says **Buffer**",
                                include__weft__a_hpp=self.header(SAID, function))
                self.assertEqual(self.findings(include__weft__a_hpp=self.header(
                    SAID, "/// **Buffer**: the caller's.", function)), [])

    def test_a_buffer_that_is_given_back_needs_none(self):
        text = self.header(SAID, "std::span<std::byte> look();")
        self.assertEqual(self.findings(include__weft__a_hpp=text), [])

    def test_a_class_speaks_for_its_functions_and_for_classes_inside(self):
        text = self.header(SAID, "class [[nodiscard]] a final : public b {", " public:", "  a(int x) : x_{x} {}",
                           "  int look() const { return x_; }", "  class inner {", "   public:", "    void look();",
                           "  };", " private:", "  int x_ = 0;", "};")
        self.assertEqual(self.findings(include__weft__a_hpp=text), [])

    def test_a_class_does_not_speak_for_what_comes_after_it(self):
        text = self.header(SAID, "struct a {", "  int x = 0;", "};", "void look();")
        self.assert_one("a.hpp:6: look: neither", include__weft__a_hpp=text)

    def test_a_comment_is_of_the_next_declaration_alone(self):
        text = self.header(SAID, "int see();", "int look();", SAID, "", "int find();")
        found = self.findings(include__weft__a_hpp=text)
        self.assertEqual([finding.split(": ")[1] for finding in found], ["look", "find"])

    def test_templates_operators_and_constructors_are_functions(self):
        for name, function in {
                "look": "template <class T>\nrequires(is_good<T> && !is_bad<T>)\nint look(const T& index) noexcept {\n"
                        "  return index > 0 ? {1} : 2;\n}",
                "a::a": "struct a {\n  explicit a(int x) noexcept : x_{x}, y_{f(x)} {}\n  int x_, y_ = 0;\n};",
                "a::~a": "struct a {\n  ~a();\n};",
                "a::operator co_await": "struct a {\n  [[nodiscard]] b operator co_await() && noexcept;\n};",
                "a::operator==": "struct a {\n  bool operator==(const a& other) const;\n};",
                "a::operator->": "struct a {\n  b* operator->() { return &b_; }\n  b b_{};\n};"}.items():
            with self.subTest(name):
                self.assert_one(f": {name}: neither", include__weft__a_hpp=self.header(function))

    def test_what_users_do_not_call_and_what_is_said_elsewhere_is_left_alone(self):
        for text in ("class a {\n  void look();\n public:\n  int x = 0;\n protected:\n  void see();\n};",
                     "namespace detail {\nint look();\n}", "struct a {\n  void look() override;\n};",
                     "struct a {\n  a() = default;\n  a(const a&) = delete;\n  ~a() noexcept = default;\n};",
                     "struct a {\n  friend void look(int x);\n  std::function<void()> call;\n};",
                     "using look = int (*)(int) noexcept;", "inline constexpr int x = look(1);",
                     "static_assert(sizeof(int) == 4);", "enum class a { b = size(1) };",
                     "template <class T>\nconcept a = requires(T t) { t.look(); };"):
            with self.subTest(text):
                self.assertEqual(self.findings(include__weft__a_hpp=self.header(text)), [])

    def test_only_public_headers_are_read(self):
        for file in ("include__weft__detail__a_hpp", "include__weft__test__a_hpp", "src__base__a_hpp"):
            with self.subTest(file):
                user = "#include <weft/detail/a.hpp>\n"
                found = self.findings(include__weft__b_hpp=user, **{file: self.header("int look();")})
                self.assertEqual(found, [])


class Files(Checks):
    def test_a_long_file_is_found(self):
        self.assert_one("601 lines", src__base__a_cpp="\n" * 601)

    def test_a_folder_without_readme_and_a_long_readme_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "perf").mkdir()
            (root / "perf/a.cpp").write_text("")
            self.assertIn("perf/README.md:1: missing", str(tidy.check(root, ["perf/a.cpp"])[0]))
            (root / "perf/README.md").write_text("\n" * 11)
            self.assertIn("perf/README.md:11: 11 lines", str(tidy.check(root, ["perf/README.md", "perf/a.cpp"])[0]))

    def test_an_unformatted_file_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / ".clang-format").write_text((SOURCE / ".clang-format").read_text())
            (root / "a.cpp").write_text("int a;\nint   b;\n")
            found = tidy.format_findings(root, ["a.cpp"], fix=False)
            self.assertEqual([str(finding)[:8] for finding in found], ["a.cpp:2:"])
            tidy.format_findings(root, ["a.cpp"], fix=True)
            self.assertEqual((root / "a.cpp").read_text(), "int a;\nint b;\n")


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: BSD-3-Clause
# subject: include
"""What the compiler refuses, and the words that it says; beside each, what is right and compiles."""

import concurrent.futures
import os
import re
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
COMPILER = os.environ.get("TEST_CXX", "c++")
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused", "-Wno-unused-parameter", "-Wno-unused-result",
         "-I", SOURCE / "include"]
FIRST_LINES = 16  # of what the compiler says: there stands what to write
LINES_MAX = 32  # of all that it says of an option
LIMIT = 600  # seconds for anything; never reached where all is well
PROGRAM = """#include <array>
#include <string>
#include <string_view>
#include <vector>
#include <weft/weft.hpp>
using namespace weft;
std::string make();
const std::vector<int> make_const();
std::vector<const_buffer_ref> make_list();
struct pair { int first, second; };
struct adds_to {
  int to;
  int operator()(int a, int b) const { return to + a + b; }
};
struct packs {
  std::size_t pack(const void*, std::uint64_t, std::byte*, std::size_t bytes) const { return bytes; }
};
struct unpacks : packs {
  std::size_t unpack(void*, std::uint64_t, const std::byte*, std::size_t bytes) { return bytes; }
};
struct rows : packs {
  std::size_t unpack(void*, std::uint64_t, const std::byte*, std::size_t bytes) const { return bytes; }
};
void use(device& dev, blocking_device& io, run_loop& loop, counter& local, remote_buffer at) {
  std::uint64_t word = 0;
  pair both{};
  std::array<int, 3> numbers{};
  std::vector<pair> pairs;
  const adds_to state{5};
  std::vector<const_buffer_ref> parts;
  std::vector<buffer_ref> holes;
  std::string text;
  const rows shape;
  const packs half;
  unpacks changing;
  const layout scattered{shape};
"""
TEMPORARY = "the buffer is a temporary"
LIST = "the list of buffers is a temporary"
VALUE = re.escape("std::span{&value, 1}")
LITERAL = r'std::string_view\{\\?"text'
DELETED = "deleted (member |copy )?(function|constructor)"
NONE_MATCHES = "no matching (function|constructor)"
ELEMENTS = "input and output have elements of different types"
CALLABLE = "the callable does not combine two elements into one"
REFUSED = {
    "dev.post_am(1, {1}, make(), local);": TEMPORARY,
    "dev.post_am(1, {1}, make_const(), local);": TEMPORARY,
    "dev.post_am(1, {1}, std::array{1, 2}, local, {.tag = 5});": TEMPORARY,
    "dev.post_send(1, text + 'x', local);": TEMPORARY,
    "dev.post_send(1, std::move(text), local);": TEMPORARY,
    "dev.post_recv(1, std::vector<int>(5), local);": TEMPORARY,
    "dev.post_put(1, make(), at, local);": TEMPORARY,
    "dev.post_get(1, std::string(5, ' '), at, local);": TEMPORARY,
    "dev.post_comm(direction::outgoing, 1, make_const(), local);": TEMPORARY,
    "dev.post_am(1, {1}, make_list(), local);": LIST,
    "dev.post_recv(1, std::array{buffer_ref{&word, 8}}, local);": LIST,
    "const const_buffer_list kept{std::array{const_buffer_ref{&word, 8}}};": LIST,
    "dev.post_send(1, word, local);": VALUE,
    "dev.post_am(1, {1}, both, local);": VALUE,
    "dev.post_am(1, {1}, &word, local);": VALUE,
    'dev.post_am(1, {1}, "hello", local);': LITERAL,
    "dev.until_accepted([&] { dev.post_send(1, numbers, local); });": "returns the status of a post",
    "dev.post_send(1, {&both, 8, layout{shape}}, local);": DELETED,
    "dev.post_recv(1, {&both, 8, layout{shape}}, local);": DELETED,
    "const layout of_temporary{rows{}};": DELETED,
    "const layout of_half{half};": NONE_MATCHES,
    "const layout of_changing{changing};": NONE_MATCHES,
    "const layout of_address{&shape};": NONE_MATCHES,
    "const layout copied{scattered};": DELETED,
    "collective::allreduce(std::vector<int>(3), numbers);": TEMPORARY,
    "collective::allreduce(numbers, std::array<int, 3>{});": TEMPORARY,
    "collective::allreduce(numbers, numbers, adds_to{5});": "the callable has state and is a temporary",
    "static_cast<void>(reduction::callable_ref<int>(adds_to{5}));": DELETED,
    "collective::allreduce(numbers, text);": ELEMENTS,
    "collective::scan({}, pairs, std::plus<>{});": CALLABLE,
    "collective::reduce(pairs, pairs);": CALLABLE,
    "collective::allreduce(numbers, numbers, 5);": CALLABLE,
    "collective::allreduce(word, word);": VALUE,
    "collective::allreduce({}, word);": VALUE,
    "collective::allreduce(both, both);": VALUE,
    "collective::allreduce(&word, &word);": VALUE,
    "collective::reduce(word, word, std::plus<>{}, 1);": VALUE,
    "collective::scan(word, word);": VALUE,
    "collective::broadcast(word, 0);": VALUE,
    "collective::scatter(numbers, word);": VALUE,
    "dev.post_recv(1, word, local);": VALUE,
    "collective::alltoall(make_const(), numbers);": TEMPORARY,
    "collective::scatter(numbers, std::vector<int>(3));": TEMPORARY,
    "collective::allgather(word, numbers);": VALUE,
    "collective::allgather({&word, 8, layout{shape}}, numbers);": DELETED,
    "dev.post_am(1, {1}, numbers, local, {.tga = 5});": "weft::post_am_options",
    "dev.post_am(1, {1}, numbers, local, {.tag = text});": "weft::post_am_options",
    "dev.post_send(1, numbers, local, {.tga = 5});": "weft::post_send_options",
    "dev.post_recv(1, numbers, local, {.engin = 5});": "weft::post_recv_options",
    "dev.post_put(1, numbers, at, local, {.sginal = {5}});": "weft::post_put_options",
    "dev.wait(local, 1, {.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "dev.wait_all(local, {.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "io.send(1, numbers, {.tga = 5});": "weft::post_send_options",
    "io.recv(1, numbers, {.tga = 5});": "weft::post_recv_options",
    "loop.post_send(1, numbers, {.tga = 5});": "weft::post_send_options",
    "loop.post_recv(1, numbers, {.tga = 5});": "weft::post_recv_options",
    "const device other{dev.runtime(), {.shard = true}};": "weft::device_options",
    "const matching_engine other{dev.runtime(), {.orderd = true}};": "weft::matching_engine_options",
    "const completion_queue other{dev.runtime(), {.capcity = 8}};": "weft::completion_queue_options",
    "dev.post_am(1, {.idd = 1}, numbers, local);": "weft::remote_completion",
    "dev.post_am(1, {.id = text}, numbers, local, {.tag = 5});": "weft::remote_completion",
    "dev.post_am(1, {.idd = 1}, parts, local);": "weft::remote_completion",
    "io.am(1, {.idd = 1}, numbers);": "weft::remote_completion",
    "loop.post_am(1, {.idd = 1}, numbers);": "weft::remote_completion",
    "const runtime other{{.packet_byts = 5}};": "weft::runtime_options",
    "const runtime other({.packet_bytes = text});": "weft::runtime_options",
    "const fiber_scheduler other{{.wokers = 2}};": "weft::fiber_scheduler_options",
    "const graph other{dev, {.after_failur = after_failure::skip}};": "weft::graph_options",
    "const progress_thread other{dev, {.tiemout = std::chrono::seconds{1}}};": "weft::wait_options",
    "dev.flush(1, {.tiemout = std::chrono::seconds{1}});": "weft::flush_options",
    "dev.flush({.tiemout = std::chrono::seconds{1}});": "weft::flush_options",
    "dev.post_flush(local, {.allow_don = true});": "weft::post_flush_options",
}
RIGHT = """
  dev.post_am(1, {1}, text, local);
  dev.post_am(1, {1}, std::string_view{"hello"}, local);
  dev.post_am(1, {1}, std::as_bytes(std::span{&word, 1}), local);
  dev.post_am(1, {1}, {&word, sizeof word}, local);
  dev.post_am(1, {1}, {}, local);
  dev.post_am(1, {1}, parts, local);
  dev.post_send(1, const_buffer_list{parts}, local);
  dev.post_send(1, std::span{&both, 1}, local);
  dev.post_recv(1, numbers, local);
  dev.post_recv(1, std::span{numbers}.first(2), local);
  dev.post_recv(1, holes, local);
  dev.post_send(1, {&both, 8, scattered}, local);
  dev.post_recv(1, {nullptr, 8, scattered}, local);
  parts.emplace_back(&both, 8, scattered);
  const layout side_by_side{layout::contiguous{}};
  dev.post_put(1, numbers, at, local, {.signal = {5}});
  dev.post_put(1, numbers, at, local, {.signal = {{5}}});
  dev.post_get(1, numbers, at, local, {.signal = remote_completion{.id = 5}});
  dev.post_comm(direction::incoming, 1, buffer_ref{numbers}, local);
  dev.until_accepted([&] { return dev.post_send(1, numbers, local); });
  dev.wait(local, 1, {.timeout = std::chrono::seconds{1}});
  dev.wait(local, [] { return true; });
  dev.wait_all({&local}, {.spins = 1});
  io.send(1, numbers, {.tag = 5});
  static_cast<void>(collective::allreduce(numbers, numbers));
  static_cast<void>(collective::allreduce({}, std::span{numbers}.first(2), state));
  static_cast<void>(collective::allreduce(numbers, numbers, reduction::callable<int>()));
  static_cast<void>(collective::scan({&word, 8}, {&word, 8}, reduction::callable_ref<int>(state)));
  static_cast<void>(collective::allreduce(numbers, pairs, reduction::callable<int>()));
  static_cast<void>(collective::allreduce(std::span{&word, 1}, std::span{&word, 1}));
  static_cast<void>(collective::reduce(pairs, pairs, [](pair a, pair) { return a; }, 1));
  static_cast<void>(collective::reduce_scatter(numbers, std::span{numbers}.first(1)));
  static_cast<void>(collective::broadcast(pairs, 1));
  static_cast<void>(collective::allgather({}, pairs));
  static_cast<void>(collective::allgather({&word, 8}, numbers));
  static_cast<void>(collective::allgather(buffer_ref{&word, 8, scattered}, numbers));
  static_cast<void>(collective::allgather({&both, 8, scattered}, numbers));
  static_cast<void>(collective::alltoall(collective_input::inplace(), numbers, {}, {}));
  static_cast<void>(collective::scatter(numbers, text.empty() ? collective_output{} : numbers));
  static_cast<void>(loop.post_send(1, make()));
  static_cast<void>(loop.post_recv(1, std::vector<int>(5)));
  dev.flush();
  dev.flush(1, {.timeout = std::chrono::seconds{1}});
  dev.flush({.timeout = std::chrono::seconds{1}});
  dev.post_flush(local);
  dev.post_flush(1, local, {.allow_done = false});
  dev.post_am(1, {.id = 1}, numbers, local, {.tag = 5});
  io.am(1, {.id = 1}, numbers);
  const graph empty{dev};
  const fiber_scheduler one;
  const runtime other{{.packet_bytes = 4096}};
  group_options of_group;
  of_group.name = 5;
  group_options other_of_group = of_group;
  other_of_group = of_group;
  termination_options of_termination;
  termination_options other_of_termination = of_termination;
  other_of_termination = of_termination;
  device_counters counted;
  counted = dev.counters();
  const device_counters other_counted = counted;
"""

# Names of the last version: they compile, and the compiler says what to write.
OLD = {
    "static_cast<void>(loop.through());": r"use device\(\)",
    "static_cast<void>(io.through());": r"use device\(\)",
    "static_cast<void>(poller.through());": r"use device\(\)",
    "static_cast<void>(all.through());": r"use device\(\)",
    "static_cast<void>(all.is_one());": r"use is_valid\(\)",
    "static_cast<void>(all.dup({.through = &dev, .name = 5}));": "",  # GCC says nothing
    "const termination counts{all, {.through = &dev}};": "",
    "static_cast<void>(reduction::by<int>(std::plus<>{}, false));": "use callable[^_]",
    "static_cast<void>(reduction::by_ref<int>(state));": "use callable_ref",
    "dev.post_comm(direction::out, 1, const_buffer_ref{numbers}, local);": "use outgoing",
    "dev.post_comm(direction::in, 1, buffer_ref{numbers}, local);": "use incoming",
    "word += dev.counters().active_messages.bytes;": r"use posts\.active_messages",
    "word += dev.counters().retries[0];": r"use posts\.retries\W",
    "word += dev.counters().retries_for(shortage::ring);": r"use posts\.retries_for\(\)",
    "word += dev.counters().messages_arrived;": r"use arrivals\.messages",
    "word += dev.counters().progress_calls;": r"use progress\.calls",
    "word += dev.counters().backlog;": r"use backlog\.operations\W",
    "word += dev.counters().backlog_max;": r"use backlog\.operations_max",
}


def compile_one(line):
    return subprocess.run([COMPILER, *FLAGS, "-x", "c++", "-"], input=f"{PROGRAM}{line}\n}}\n", stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT)


class Compiler(unittest.TestCase):
    def test_what_is_wrong_is_refused_with_words(self):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for line, answer in zip(REFUSED, pool.map(compile_one, REFUSED)):
                with self.subTest(line):
                    self.assertNotEqual(answer.returncode, 0)
                    found = [index for index, said in enumerate(answer.stdout.splitlines()) if re.search(REFUSED[line], said)]
                    self.assertTrue(found and found[0] < FIRST_LINES, answer.stdout)
                    if REFUSED[line].startswith("weft::"):
                        self.assertLessEqual(len(answer.stdout.splitlines()), LINES_MAX, answer.stdout)

    def test_what_is_right_compiles(self):
        answer = compile_one(RIGHT)
        self.assertEqual(answer.returncode, 0, answer.stdout)
        self.assertNotIn("deprecated", answer.stdout)

    def test_old_names_compile_and_name_the_new_ones(self):
        answer = compile_one("progress_thread poller{dev};\ngroup all = dev.runtime().world();\n" + "\n".join(OLD))
        self.assertEqual(answer.returncode, 0, answer.stdout)
        for line, words in OLD.items():
            with self.subTest(line):
                self.assertTrue(re.search(words, answer.stdout), answer.stdout)
        self.assertGreaterEqual(answer.stdout.count("use device()"), 4)


if __name__ == "__main__":
    unittest.main()

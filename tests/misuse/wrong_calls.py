# SPDX-License-Identifier: BSD-3-Clause
"""Calls that the compiler refuses, with the words that it says (regular expressions), and what is right and compiles."""

import re

PRELUDE = """#include <array>
#include <string>
#include <string_view>
#include <vector>
#include <weft/test/guarded_memory.hpp>
#include <weft/test/local_job.hpp>
#include <weft/weft.hpp>
using namespace weft;
std::string make();
const std::vector<int> make_const();
std::vector<const_buffer_ref> make_list();
task<int> make_task();
void begin();
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
"""
FUNCTION = """
void use(device& dev, blocking_device& io, run_loop& loop, counter& local, remote_buffer at, completion_record& request,
         packet& filled, matched_message& message, synchronizer& all_sent, completion_queue& arrived, memory_region& region,
         fiber_scheduler& fibers, group& everybody, graph& nodes) {
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
  const std::array<int, 3> fixed{};
  std::vector<std::string> names;
  std::array<std::uint32_t, 2> ranks{0, 1};
  fiber begun;
  fiber_mutex mutex;
  std::unique_lock lock{mutex};
  fiber_condition condition;
  fiber_barrier both_here{2};
  fiber_event happened;
  fiber_promise<int> promise;
"""
TEMPORARY = "the buffer is a temporary"
LIST = "the list of buffers is a temporary"
VALUE = re.escape("std::span{&value, 1}")
LITERAL = r'std::string_view\{\\?"text'
DELETED = "deleted (member |copy )?(function|constructor)"
UNWRITABLE = "the output is a container that can be written"
SHAPE = "write an object with const pack and unpack, or members of layout_functions"
REGION = "write a runtime, and a size in bytes or a span of writable bytes"
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
    "dev.until_accepted([&] { dev.post_send(1, numbers, local); });": r"WriteFunctionThatReturnsAPost = weft::status ?\(\)",
    "dev.post_send(1, {&both, 8, layout{shape}}, local);": DELETED,
    "dev.post_recv(1, {&both, 8, layout{shape}}, local);": DELETED,
    "const layout of_temporary{rows{}};": DELETED,
    "const layout of_half{half};": SHAPE,
    "const layout of_changing{changing};": SHAPE,
    "const layout of_address{&shape};": SHAPE,
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
    "const layout misspelt{{.pakc = nullptr}};": SHAPE,
    'const memory_kind kind{dev.runtime(), "mine", {.copy_otu = nullptr}};': "weft::memory_functions",
    "const memory_region open{dev.runtime(), numbers};": "std::as_writable_bytes",
    "const memory_region open{dev.runtime(), fixed};": "std::as_writable_bytes",
    "const memory_region open{dev.runtime(), {.bytes = 5}};": REGION,
    "const memory_region open{dev, 4096};": REGION,
    "dev.post_am(1, {1}, parts, local, {.tga = 5});": "WriteBufferCompletionAndMembersInOrderOf = weft::post_am_options",
    "dev.post_am(1, {1}, filled, 5, {.tga = 5});": "WriteBufferCompletionAndMembersInOrderOf = weft::post_am_options",
    "dev.post_am(1, {1}, names, local);": "WriteBufferCompletionAndMembersInOrderOf = weft::post_am_options",
    "dev.reply(request, {1}, numbers, {.tga = 5});": "WriteMembersInOrderOf = weft::reply_options",
    "dev.reply(1, {1}, numbers, {.copy_log = true});": "WriteMembersInOrderOf = weft::reply_options",
    "dev.reply(request, {.idd = 1}, numbers);": "RemoteCompletionBufferAndMembersInOrderOf = weft::reply_options",
    "dev.post_send(1, parts, local, {.tga = 5});": "WriteRankBufferCompletionAndMembersInOrderOf = weft::post_send_options",
    "dev.post_send(numbers, 1, local);": "WriteRankBufferCompletionAndMembersInOrderOf = weft::post_send_options",
    "dev.post_recv(1, holes, local, {.tga = 5});": "weft::post_recv_options",
    "dev.post_recv(1, fixed, local);": "WriteRankBufferCompletionAndMembersInOrderOf = weft::post_recv_options",
    "dev.probe(1, {.tga = 5});": "weft::probe_options",
    "dev.post_put(1, filled, 5, at, {.tga = 5});": "weft::post_put_options",
    "dev.post_put(1, numbers, region, local);": "RemoteBufferCompletionAndMembersInOrderOf = weft::post_put_options",
    "dev.post_get(1, numbers, at, local, {.tga = 5});": "weft::post_get_options",
    "dev.post_get(1, holes, at, local, {.tga = 5});": "weft::post_get_options",
    "dev.post_atomic(1, atomic_op::swap, word, at, local, {.reslut = &word});": "weft::post_atomic_options",
    "dev.post_atomic(1, atomic_op::swap, 1.5, at, local);": "weft::post_atomic_options",
    "dev.post_comm(direction::outgoing, 1, const_buffer_ref{numbers}, local, {.remot = at});": "weft::post_comm_options",
    "dev.post_comm(direction::incoming, 1, buffer_ref{numbers}, local, {.remot = at});": "weft::post_comm_options",
    "dev.post_comm(direction::incoming, 1, numbers, local);": "WriteBufferRefOrConstBufferRefOf",
    "dev.wait(local, [] { return true; }, {.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "dev.wait({&local}, [&] { return word > 0; }, {.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "dev.wait(local, [] { return true; }, {.timeout = 5});": "weft::wait_options",
    "dev.wait(local);": "WriteObjectConditionOrCountAndMembersInOrderOf = weft::wait_options",
    "dev.wait(local, [] {});": "WriteObjectConditionOrCountAndMembersInOrderOf = weft::wait_options",
    "dev.wait(arrived, {.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "dev.wait(all_sent, {.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "dev.wait_all({&local}, {.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "dev.add_hook([] {}).detach();": r"WriteFunctionOf = weft::hook_answer ?\(weft::device ?&\)",
    "dev.until_accepted(dev.post_am(1, {1}, numbers, local));": r"WriteFunctionThatReturnsAPost = weft::status ?\(\)",
    "io.send(1, parts, {.tga = 5});": "weft::post_send_options",
    "io.recv(1, holes, {.tga = 5});": "weft::post_recv_options",
    "io.recv_within({.tiemout = std::chrono::seconds{1}}, 1, numbers);": "weft::wait_limits",
    "io.probe(1, {.tga = 5});": "weft::probe_options",
    "io.am(1, {1}, parts, {.tga = 5});": "weft::post_am_options",
    "io.put(1, numbers, at, {.tga = 5});": "weft::post_put_options",
    "io.put(1, numbers, region);": "weft::post_put_options",
    "io.get(1, holes, at, {.tga = 5});": "weft::post_get_options",
    "io.atomic(1, atomic_op::swap, 1.5, at);": "weft::post_atomic_options",
    "loop.post_am(1, {1}, parts, {.tga = 5});": "weft::post_am_options",
    "loop.post_am(1, {1}, make(), {.tga = 5});": "weft::post_am_options",
    "loop.post_send(1, parts, {.tga = 5});": "weft::post_send_options",
    "loop.post_send(1, numbers, {.tga = 5}, std::stop_token{});": "weft::post_send_options",
    "loop.post_recv(1, std::vector<int>(5), {.tga = 5});": "weft::post_recv_options",
    "loop.post_put(1, numbers, region);": "weft::post_put_options",
    "loop.post_get(1, numbers, at, {.tga = 5});": "weft::post_get_options",
    "loop.post_atomic(1, atomic_op::swap, 1.5, at);": "weft::post_atomic_options",
    "loop.receive(message, names);": "WriteMatchedMessageAnd = weft::buffer_ref",
    "loop.wait(local, [] { return true; }, {.timeout = std::chrono::seconds{1}});": "ConditionOrCountAndA = std::stop_token",
    "loop.run({.tiemout = std::chrono::seconds{1}});": "WriteTaskOrMembersInOrderOf = weft::wait_options",
    "loop.run_ready([] {});": r"WriteFunctionOf = void ?\(std::.*coroutine_handle<",
    "loop.spawn(make_task());": "WriteTaskOrFunctionReturning = weft::task<",
    "loop.post([] { return status::done(); });": r"WriteFunctionOf = weft::status ?\(weft::completion ?&, void ?\*\)",
    "loop.end(local);": "WriteHookRegistrationMatchingEngineOr = weft::device",
    "when_all(make_task(), 5);": r"WriteMovedTasksOrOneVectorOf = (weft::)?task<",
    'const auto wrong = []() -> task<int> { co_return "text"; };': "co_return has a value of which",
    "handler on{dev.runtime(), [](int) {}}; on.signal({});": "a handler's function takes a record",
    "message.receive(numbers, local, {.contxt = nullptr});": "weft::receive_options",
    "nodes.add([](int) {});": r"WriteFunctionOf = void ?\(\)",
    "nodes.add_post([&] { return dev.post_send(1, numbers, local); });": r"WriteFunctionOf = weft::status ?\(weft::comp",
    "const graph other{dev.runtime()};": "write a device, and members of graph_options",
    "const progress_thread other{dev.runtime()};": "write a device, and members of wait_options",
    "const termination counts{dev};": "write a group, and members of termination_options",
    "termination counts{everybody}; counts.wait({.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "const test::local_job job{2, {.packet_byts = 4096}};": "weft::runtime_options",
    "const test::guarded_memory guarded{dev.runtime(), 5, {.knows = false}};": "weft::test::guarded_memory_options",
    "test::local_job{2}.run([] {});": r"WriteFunctionOf = void ?\(weft::runtime ?&\)",
    "const counter other{dev};": "// write a runtime$",
    "const event other{dev};": "// write a run_loop$",
    "const run_loop other{dev.runtime()};": "// write a device$",
    "const blocking_device other{dev.runtime()};": "// write a device$",
    "const wait_descriptor other{dev.runtime()};": "// write a device$",
    "dev.runtime().wait({&dev}, {&local}, [] { return true; }, {.tiemout = std::chrono::seconds{1}});": "weft::wait_options",
    "dev.runtime().wait({&dev}, {&local});": "WriteDevicesObjectsConditionAndMembersInOrderOf = weft::wait_options",
    "dev.runtime().barrier({.tiemout = std::chrono::seconds{1}});": "weft::barrier_options",
    "dev.runtime().post_barrier(local, {.contxt = nullptr});": "weft::post_barrier_options",
    "dev.runtime().register_completion(local, {.idd = 5}).id();": "weft::register_completion_options",
    "everybody.split(1, 0, {.devic = &dev});": "weft::group_options",
    "everybody.dup({.devic = &dev});": "weft::group_options",
    "everybody.include({1, 2});": "WriteSpanOfRanksTagAndMembersInOrderOf = weft::group_options",
    "make_group(dev.runtime(), ranks, 0, {.devic = &dev});": "(weft::)?group_options",
    "make_group(dev.runtime(), numbers);": "WriteRuntimeSpanOfRanksTagAndMembersInOrderOf = (weft::)?group_options",
    'collective::barrier().run(everybody, {.algoritm = "ring"});': "weft::collective_options",
    'collective::barrier().post(everybody, local, {.algoritm = "ring"});': "weft::collective_options",
    'collective::barrier().keep(everybody, {.algoritm = "ring"});': "weft::collective_options",
    'collective::barrier().await(loop, everybody, {.algoritm = "ring"});': "weft::collective_options",
    "collective::broadcast(fixed);": "WriteWritableBufferAndRoot = weft::buffer_ref",
    "collective::broadcast(numbers, {.root = 5});": "WriteWritableBufferAndRoot = weft::buffer_ref",
    "collective::gather(names, numbers);": "WriteInputWritableOutputRootAndMembersInOrderOf = weft::blocks",
    "collective::scatter(numbers, numbers, 0, {.byts = {}});": "weft::blocks",
    "collective::allgather(numbers, numbers, {.byts = {}});": "weft::blocks",
    "collective::alltoall(numbers, numbers, {.byts = {}});": "weft::blocks",
    "collective::allreduce(numbers, fixed);": UNWRITABLE,
    "collective::allreduce(names, names);": UNWRITABLE,
    "collective::allreduce(numbers);": "WriteInputWritableOutputAndCallableOr = weft::reduction",
    "collective::reduce(numbers, numbers, std::plus<>{}, {.root = 1});": "OutputCallableAndRoot = weft::reduction",
    "collective::reduce_scatter(numbers, numbers, std::plus<>{}, {.byts = {}});": "weft::blocks",
    "reduction::callable<int>(state);": "WriteCallableWithoutStateOrUseCallableRef",
    "reduction::callable_ref<pair>(state);": "WriteCallableThatCombinesTwoElements",
    "fibers.spawn([] {}, {.wroker = 1}).detach();": "weft::fiber_options",
    "fibers.spawn([text, &local] {}, {.wroker = 1}).detach();": "weft::fiber_options",
    "fibers.spawn(begin, {.wroker = 1}).detach();": "weft::fiber_options",
    "fibers.spawn([](int) {}).detach();": "WriteFunctionWithoutArgumentsAndMembersInOrderOf = weft::fiber_options",
    "begun.join({.tiemout = std::chrono::seconds{1}});": "weft::wait_limits",
    "mutex.try_lock({.tiemout = std::chrono::seconds{1}});": "weft::wait_limits",
    "condition.wait(lock, [] { return true; }, {.tiemout = std::chrono::seconds{1}});": "weft::wait_limits",
    "both_here.arrive_and_wait({.tiemout = std::chrono::seconds{1}});": "weft::wait_limits",
    "happened.wait({.tiemout = std::chrono::seconds{1}});": "weft::wait_limits",
    "promise.future().wait({.tiemout = std::chrono::seconds{1}});": "weft::wait_limits",
    'promise.set_value("text");': "the result is made of the arguments",
    "this_fiber::wait({.tiemout = std::chrono::seconds{1}});": "weft::wait_limits",
    "this_fiber::sleep_for(5);": "WriteTimeWithUnitAs = std::",
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
  dev.runtime().wait({&dev, &io.device()}, {&local, &all_sent}, [] { return true; }, {.spins = 1});
  std::vector<device*> served{&dev};
  dev.runtime().wait(served, {&local}, [] { return true; });
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
  device_counters device_counted;
  device_counted = dev.counters();
  const device_counters other_counted = device_counted;
  dev.reply(request, {.id = 1}, numbers);
  dev.reply(request, {1}, text, {.tag = 5, .copy_long = true});
  dev.reply(1, {1}, std::span{&word, 1}, {.local = &local});
  dev.reply(1, {1}, {});
  dev.post_atomic(1, atomic_op::fetch_add, word, at, local);
  dev.post_atomic(1, atomic_op::fetch_add, 5, at, local, {.result = &numbers[0]});
  io.atomic(1, atomic_op::fetch_add, word, at, {.complete_at = completion_level::delivered});
  static_cast<void>(loop.post_atomic(1, atomic_op::fetch_add, word, at));
  dev.post_comm(direction::outgoing, 1, fixed, local, {.tag = 5});
  dev.post_comm(direction::incoming, 1, buffer_ref{numbers}, local, {.any_tag = true});
  dev.wait(local, [&] { return local.value() > word; }, {.timeout = std::chrono::seconds{1}, .spins = 5});
  const auto has_come = [&]() -> bool { return local.value() > word; };
  dev.wait(local, has_come, wait_options{});
  dev.wait({&local, &all_sent}, has_come, {.mode = wait_mode::spin});
  dev.wait(local, 5);
  dev.wait(all_sent);
  static_cast<void>(dev.wait(arrived, {.spins = 1}));
  dev.add_hook([] { return hook_answer::done; }).detach();
  dev.add_hook([](device&) { return hook_answer::done; }).detach();
  static_cast<void>(loop.wait(local, 5, std::stop_token{}));
  static_cast<void>(loop.wait(local, has_come));
  static_cast<void>(loop.post([](completion&, void*) { return status::done(); }));
  static_cast<void>(loop.receive(message, numbers));
  loop.spawn([](int) -> task<> { co_return; }, 5);
  loop.run();
  loop.run(make_task());
  loop.run_ready();
  loop.run_ready([](std::coroutine_handle<> each) { each.resume(); });
  static_cast<void>(when_all());
  static_cast<void>(when_all(make_task(), make_task()));
  static_cast<void>(when_all(std::vector<task<int>>{}));
  message.receive(numbers, local, {.context = nullptr});
  nodes.add([] {});
  nodes.add(begin);
  nodes.add_post([&](completion& sent) { return dev.post_send(1, numbers, sent); });
  static_cast<void>(everybody.include(ranks, 5, {.device = &dev}));
  static_cast<void>(make_group(dev.runtime(), std::span{ranks}.first(1)));
  const memory_region allocated{dev.runtime(), 4096};
  const memory_region open{dev.runtime(), std::as_writable_bytes(std::span{numbers})};
  std::array<std::byte, 8> own{};
  const memory_region bytes{dev.runtime(), own};
  const memory_kind kind{dev.runtime(), "mine", {.processor_may_touch = true}};
  const memory mine{kind};
  fibers.spawn([] {}).detach();
  fibers.spawn(begin).detach();
  fibers.spawn(has_come, {.worker = 1}).detach();
  fibers.spawn([text] {}, {.worker = 0}).detach();
  begun.join();
  static_cast<void>(begun.join({.timeout = std::chrono::seconds{1}}));
  static_cast<void>(mutex.try_lock());
  static_cast<void>(mutex.try_lock({.timeout = std::chrono::seconds{1}}));
  condition.wait(lock, has_come);
  static_cast<void>(condition.wait(lock, {.timeout = std::chrono::seconds{1}}));
  static_cast<void>(condition.wait(lock, [&] { return word != 0; }, {.timeout = std::chrono::seconds{1}}));
  both_here.arrive_and_wait();
  static_cast<void>(happened.wait({}));
  promise.set_value(5);
  this_fiber::wait();
  this_fiber::sleep_for(std::chrono::milliseconds{1});
  const test::local_job job{2, {.packet_bytes = 4096}};
  const test::local_job by_rank{2, [](std::uint32_t) { return runtime_options{}; }};
  job.run([](runtime&) {});
  const test::guarded_memory guarded{dev.runtime(), 4096};
  const counter counted{dev.runtime()};
  const event also_happened{loop};
  const run_loop second{dev};
  static_cast<void>(collective::barrier().await(loop, everybody, {.algorithm = "ring"}));
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

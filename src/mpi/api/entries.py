# SPDX-License-Identifier: BSD-3-Clause
"""Writes the entry points of a chapter, its checked calls, and the list of names that the library exports."""

from fnmatch import fnmatch

# Functions that start or complete communication, by their chapters or names: they end a wait by tests
# (message/tests.hpp). Others, such as MPI_Wtime in a loop of tests, do not.
COMMUNICATING = ("message", "buffered", "collective", "MPI_Start*", "MPI_Wait*", "MPI_Probe", "MPI_Mprobe", "MPI_Mrecv*",
                 "MPI_Imrecv*", "MPIX_Stream_send*", "MPIX_Stream_recv*", "MPIX_Stream_i*")

# Functions that may wait, by their names; collectives are in `waits`. Inside a callback they are refused. Those that only
# complete requests refuse to wait there when they would have to.
WAITING = ("MPI_Send", "MPI_Send_c", "MPI_[RS]send", "MPI_[RS]send_c", "MPI_Recv", "MPI_Recv_c", "MPI_Sendrecv*", "MPI_Probe",
           "MPI_Mprobe", "MPI_Mrecv", "MPI_Mrecv_c", "MPI_Comm_create", "MPI_Comm_create_group", "MPI_Comm_dup*", "MPI_Comm_split*", "MPI_Cart_create",
           "MPI_Cart_sub", "MPIX_St*_progress_thread", "MPIX_Stream_create", "MPIX_Stream_free", "MPIX_Stream_comm_create*",
           "MPIX_Stream_send*", "MPIX_Stream_recv*")

# Functions that use the stream of their communicator, by their chapters or names. Any thread may call others, such as MPI_Comm_rank.
IN_STREAM = ("message", "collective", "probe", "MPIX_Stream_send*", "MPIX_Stream_recv*", "MPIX_Stream_i*")

# Functions that complete requests or free them: no two of them may have one request at the same time (MPI 5.0, 11.6.2).
COMPLETING = ("MPI_Wait*", "MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome", "MPI_Request_free", "MPIX_Continue",
              "MPIX_Continueall")

OPEN = """// {content} of the chapter `{chapter}`. Made by the build from src/mpi/api.
{includes}
using namespace weft::mpi;
#pragma GCC diagnostic ignored "-Wunused-parameter"

extern "C" {{
"""
ALWAYS = "  rank_state* const here = current_rank();\n"
BETWEEN = ALWAYS + '  if (here == nullptr) [[unlikely]] return raise_outside("{name}", fail_outside());\n'
# The entry point of a function whose calls can be checked (WEFT_CHECK=1). A rank that checks them is hidden from it, so that the
# others pay nothing: the look for a rank that is missing finds both.
ENTRY = """[[gnu::cold, gnu::visibility("hidden")]] {returns} checked_{name}({prototype});
{head}({prototype}) {{
  rank_state* const here = unchecked_rank();
  if (here == nullptr) [[unlikely]] return checked_{name}({arguments});
  return body_{name}({passed});
}}
"""
# A checked call: the same body again, with the fast path before it. It is compiled apart from the entry point, as the compiler
# would inline less into that one if the fast path stood twice.
CHECKED = """[[gnu::cold, gnu::visibility("hidden")]] {returns} checked_{name}({prototype}) {{
  rank_state* const here = current_rank();
  if (here == nullptr) return raise_outside("{name}", fail_outside());
  checked_call call{{*here, "{name}"}};
{requests}  if (call.failure() != MPI_SUCCESS) return raise(*here, nullptr, call.failure(), "{name}");
{fast}  return body_{name}({passed});
}}
"""
# Of functions that return no error class.
VALUE = """{returns} P{name}({prototype}) {{
{asserted}  return {body};
}}
"""
# Of functions that may be called before MPI_Init and after MPI_Finalize.
ANYWHERE = "  [[maybe_unused]] rank_state* const here = current_rank();\n"
# Of functions that have a fast path: the paths that follow it are functions of their own, so that the fast one saves few registers.
FAST_PATH = """    end_tests();
    static_assert(noexcept({fast}));
    const int failure = {fast};
    if (failure == MPI_SUCCESS) [[likely]] return MPI_SUCCESS;
    if (failure != not_fast) [[unlikely]] return raise(*here, find_communicator(*here, comm), failure, "{name}");
  }}
"""
FAST = """
{head}({prototype}) {{
  rank_state* const here = unchecked_rank();
  if (here != nullptr{outside}) [[likely]] {{
""" + FAST_PATH + """  return {rest};
}}
"""
# Of absent functions with a parameter that is their error handler.
ABSENT_BY_HANDLER = """{returns} P{name}({prototype}) {{
  return raise_by({handler}, fail_unsupported(), "{name}");
}}
"""
ALIAS = """{returns} {name}({prototype}) __attribute__((weak, alias("P{name}")));

"""


def ends_tests(function):
    return any(part in (function.chapter, function.name) or fnmatch(function.name, part) for part in COMMUNICATING)


def waits(function):
    return any(fnmatch(function.name, part) for part in WAITING) or (
        function.chapter == "collective" and not function.name.startswith("MPI_I"))


def can_be_checked(function):
    """Not where any thread may call the function at any level, nor where it can't hand its arguments on."""
    return (function.is_supported and not function.runs_always and not function.runs_anywhere
            and "threads" not in function.lines and all(one.name for one in function.parameters))


def request_lines(function):
    """What a checked call notes of its requests: it completes them, or starts one."""
    found = next((one for one in function.parameters if one.type in ("MPI_Request *", "const MPI_Request *")), None)
    if found is None:
        return ""
    if any(fnmatch(function.name, part) for part in COMPLETING):
        count = next((one.name for one in function.parameters if one.name in ("count", "incount")), "1")
        return f"  call.complete({found.name}, {count});\n"
    is_start = function.chapter != "request" or function.name.endswith("_Grequest_start")
    return f"  call.start({found.name});\n" if is_start else ""


def stream_lines(function):
    """What a checked call notes of streams that its thread is in then."""
    if function.name == "MPIX_Stream_progress":
        return "  call.use_stream(stream);\n"
    names = [one.name for one in function.parameters]
    lines = ""
    if "comm" in names and any(part == function.chapter or fnmatch(function.name, part) for part in IN_STREAM):
        # Of a send its source's stream, of a receive the other one.
        own = "source_stream_index" if "dest" in names else "dest_stream_index"
        lines += f"  call.use_communicator(comm{', ' + own if own in names else ''});\n"
    found = next((one for one in function.parameters if one.type in ("MPI_Request *", "const MPI_Request *")), None)
    if found and any(fnmatch(function.name, part) for part in COMPLETING + ("MPI_Start", "MPI_Startall", "MPI_Cancel")):
        count = next((name for name in names if name in ("count", "incount")), "1")
        lines += f"  call.use_requests({found.name}, {count});\n"
    return lines


def owner_of(function, objects):
    """The first parameter that is a handle of an object with an error handler."""
    types = [row["type"] for row in objects if row["owner"]]
    return next((one for one in function.parameters if one.type in types), None)


def object_of(function, objects):
    """The object whose error handler is called: of `owner_of`, MPI_FILE_NULL, or none, which stands for MPI_COMM_SELF."""
    if function.chapter == "io":
        return "&here->files"
    found = owner_of(function, objects)
    return f"{found.name}_object" if found else "nullptr"


def raised_by(function, objects, error):
    """The call of the error handler."""
    if function.runs_anywhere:
        return f'raise_anywhere(here, {error}, "{function.name}")'
    return f'raise(*here, {object_of(function, objects)}, {error}, "{function.name}")'


def finds(objects, parameters, used):
    """Lines that find the objects of these parameters' handles. Of an argument that `used` does not name, nothing is
    known: it may be a handle of nothing where it is not significant."""
    rows = {row["type"]: row for row in objects}
    return [f"  [[maybe_unused]] {row['class']}* const {one.name}_object = {row['find'].replace('{}', one.name)};"
            for one in parameters if (row := rows.get(one.type)) and f"{one.name}_object" in used]


def asserted(function):
    """A body catches its exceptions, but for those of functions of the program that are to pass out of it."""
    return "" if "throws" in function.lines else f"  static_assert(noexcept({function.lines['body']}));\n"


def outside_of(function):
    """The condition on which a function takes its fast path."""
    return " && !weft::detail::is_in_callback()" if waits(function) else ""


def second_of(function):
    """Condition and call of a function's second path."""
    condition, _, second = function.lines["second"].partition(" -> ")
    return condition, second


def fast_paths(function, values):
    """The entry point of a function that has a fast path, and before it its second one. The entry point calls the second one on its
    condition, if it has done nothing; the last is the general path."""
    general = f"any_{function.name}({values['arguments']})"
    values = dict(values, outside=outside_of(function))
    fast = function.lines["fast"]
    if "second" not in function.lines:
        return FAST.format(**values, head=f"{function.returns} P{function.name}", fast=fast, rest=general)
    condition, second = second_of(function)
    head = f"[[gnu::noinline]] static {function.returns} second_{function.name}"
    return (FAST.format(**values, head=head, fast=second, rest=general) +
            FAST.format(**values, head=f"{function.returns} P{function.name}", fast=fast,
                        rest=f"{condition} ? second_{function.name}({values['arguments']}) : {general}"))


def checked(function, values):
    """A checked call tries the paths that an unchecked one would."""
    fast = ""
    if "fast" in function.lines:
        outside = outside_of(function)
        fast = f"  if (true{outside}) {{\n" + FAST_PATH.format(**values, fast=function.lines["fast"])
        if "second" in function.lines:
            condition, second = second_of(function)
            fast += f"  if (({condition}){outside}) {{\n" + FAST_PATH.format(**values, fast=second)
    return CHECKED.format(**values, requests=stream_lines(function) + request_lines(function), fast=fast)


def body_of(function, objects, checks, raised):
    """Finds the objects of handles, checks arguments one after the other, then runs the body. `raised` is the call of the
    error handler."""
    used = " ".join([raised, function.lines["body"], function.lines.get("early", ""), *(check for _, check in checks)])
    lines = finds(objects, function.parameters, used)
    lines.append("  int failure = weft::detail::is_in_callback() ? fail_in_callback() : MPI_SUCCESS;" if waits(function)
                 else "  int failure = MPI_SUCCESS;")
    for _, check in checks:
        lines.append(f"  if (failure == MPI_SUCCESS) [[likely]] failure = static_cast<int>(check::{check});")
    lines.append("  if (failure == MPI_SUCCESS) [[likely]] {")
    if "early" in function.lines:
        condition, _, action = function.lines["early"].partition(" -> ")
        lines.append(f"    if ({condition}) [[unlikely]] return {action or 'MPI_SUCCESS'};")
    body = function.lines["body"]
    lines += ["  " + line for line in asserted(function).splitlines()]
    lines.append(f"    failure = {body};")
    lines.append("  }")
    lines.append("  if (failure == MPI_SUCCESS) [[likely]] return MPI_SUCCESS;")
    lines.append(f"  return {raised};")
    return "\n".join(lines) + "\n"


def values_of(function):
    return dict(name=function.name, returns=function.returns, prototype=function.prototype,
                body=function.lines.get("body"), handler=function.lines.get("handler"),
                arguments=", ".join(one.name for one in function.parameters),
                passed=", ".join(["here", *(one.name for one in function.parameters)]))


def inlined_body(function, objects, checks):
    """The body as a function, which is inlined into the entry point, and elsewhere into the checked call."""
    ends = "  end_tests();\n" if "fast" not in function.lines and ends_tests(function) else ""
    body = body_of(function, objects, checks, raised_by(function, objects, "failure"))
    prototype = ", ".join(["rank_state* const here", *(one.text for one in function.parameters)])
    return f"[[gnu::always_inline]] static inline {function.returns} body_{function.name}({prototype}) {{\n{ends}{body}}}\n"


def checkable_definition(function, objects, checks, values):
    fast = "fast" in function.lines
    head = f"[[gnu::noinline]] static {function.returns} any_{function.name}" if fast else f"{function.returns} P{function.name}"
    return (inlined_body(function, objects, checks) + ENTRY.format(**values, head=head) +
            (fast_paths(function, values) if fast else ""))


def definition(function, objects, checks):
    values = values_of(function)
    if function.is_supported and function.runs_always:
        return VALUE.format(**values, asserted=asserted(function))
    if function.lines.get("handler"):
        return ABSENT_BY_HANDLER.format(**values)
    if not function.is_supported and function.returns != "int":
        raise SystemExit(f"{function.name} returns {function.returns}: it needs a body and `when: always`")
    if can_be_checked(function):
        return checkable_definition(function, objects, checks, values)
    head = f"{function.returns} P{function.name}({function.prototype}) {{\n"
    head += ANYWHERE if function.runs_anywhere else BETWEEN.format(**values)
    if function.is_supported:
        return head + body_of(function, objects, checks, raised_by(function, objects, "failure")) + "}\n"
    owner = owner_of(function, objects)
    found = finds(objects, [owner] if owner else [], object_of(function, objects))
    return head + "".join(line + "\n" for line in found) + f"  return {raised_by(function, objects, 'fail_unsupported()')};\n}}\n"


def entries(tables, chapter, includes):
    out = OPEN.format(content="Entry points", chapter=chapter, includes="\n".join(f'#include "{name}"' for name in includes))
    for function in tables.chapters[chapter]:
        out += definition(function, tables.objects, tables.checks_of(function))
        out += ALIAS.format(name=function.name, returns=function.returns, prototype=function.prototype)
    return out + '}  // extern "C"\n'


def checked_calls(tables, chapter, includes):
    out = OPEN.format(content="Checked calls", chapter=chapter, includes="\n".join(f'#include "{name}"' for name in includes))
    for function in filter(can_be_checked, tables.chapters[chapter]):
        out += inlined_body(function, tables.objects, tables.checks_of(function)) + checked(function, values_of(function)) + "\n"
    return out + '}  // extern "C"\n'


def exports(*tables):
    """A version script. The names have no version, as programs of other libraries of the ABI ask for none."""
    names = "".join(f"    {prefix}{one.name};\n" for each in tables for one in each.functions for prefix in ("", "P"))
    return f"{{\n  global:\n{names}  local:\n    *;\n}};\n"

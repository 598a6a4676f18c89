# SPDX-License-Identifier: BSD-3-Clause
"""Writes a table of functions that can be called with any arguments, for the fuzzer of arguments."""

OPEN = """// All functions that return an error class. Made by the build from src/mpi/api.
#include "mpi/call_table.hpp"

#include "mpi.h"

namespace weft::test {
namespace {

"""
CLOSE = """}};

}}  // namespace

std::span<const mpi_call> all_mpi_calls() noexcept {{ return calls; }}

}}  // namespace weft::test
"""


def can_be_called(function):
    """Handles as numbers have no errors; `...` has no type."""
    return (function.is_supported and function.returns == "int" and not function.name.endswith("toint")
            and all(one.name for one in function.parameters))


def calls(tables):
    found = [one for one in tables.functions if can_be_called(one)]
    lists = [f"constexpr mpi_parameter parameters_of_{one.name}[] = {{"
             + ", ".join(f'{{"{each.type}", "{each.name}"}}' for each in one.parameters) + "};\n"
             for one in found if one.parameters]
    rows = [f'    {{"{one.name}", "{one.chapter}", {f"parameters_of_{one.name}" if one.parameters else "{}"}, '
            f"[](const std::uintptr_t* values) {{ return call_with(&{one.name}, values); }}}},\n" for one in found]
    return OPEN + "".join(lists) + "\nconstexpr mpi_call calls[] = {\n" + "".join(rows) + CLOSE.format()

# SPDX-License-Identifier: BSD-3-Clause
"""Writes mpi.h: handles, constants, types of callbacks, prototypes. It is C89 in all that it uses, for all of C and C++."""

GUARD = "WEFT_MPI_H_INCLUDED"
OPEN = """/* mpi.h of Weft: the standard ABI of MPI 5. Made by the build from src/mpi/api. */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif
"""
CLOSE = """
#ifdef __cplusplus
}
#endif

#endif
"""
# Types of constants that are lists of their own, and no handles.
ENUMERATIONS = ("MPI_T_cb_safety", "MPI_T_source_order")


def handles_of(tables):
    prefix = "pointer to incomplete "
    return {row["name"]: row["what"].removeprefix(prefix) for row in tables.types if row["what"].startswith(prefix)}


def value_of(row):
    """A constant as an expression; the values of handles and addresses are small numbers."""
    if row["type"] == "same as":
        return row["value"]
    if row["type"] == "int":
        return f"({row['value']})" if row["value"].startswith("-") else row["value"]
    return f"(({row['type']}) {row['value']})"


def of_types(tables):
    lines = [f"typedef {tag} *{name};" for name, tag in handles_of(tables).items()]
    for name in ENUMERATIONS:
        values = [f"  {row['name']} = {row['value']}" for row in tables.constants if row["type"] == name]
        lines += ["", f"typedef enum {name} {{", ",\n".join(values), f"}} {name};"]
    lines.append("")
    callbacks = []
    for row in tables.types:
        kind, _, returns = row["what"].partition(" returning ")
        if row["what"].startswith("struct"):
            fields = "\n".join(f"  {part.strip()};" for part in row["parameters"].split(";"))
            lines += [f"typedef struct {row['name']} {{", fields, f"}} {row['name']};"]
        elif kind == "function":
            callbacks.append(f"typedef {returns} ({row['name']})({row['parameters']});")
        elif row["what"].endswith("_t"):
            lines.append(f"typedef {row['what']} {row['name']};")
    return lines + [""] + callbacks


def of_constants(tables):
    return [f"#define {row['name']} {value_of(row)}" for row in tables.constants if row["type"] not in ENUMERATIONS]


def of_functions(tables):
    return [f"{one.returns} {prefix}{one.name}({one.prototype});"
            for prefix in ("", "P") for one in tables.functions]


def header(tables):
    parts = [of_types(tables), of_constants(tables), of_functions(tables)]
    return OPEN.format(guard=GUARD) + "\n" + "\n\n".join("\n".join(part) for part in parts) + "\n" + CLOSE

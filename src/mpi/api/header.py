# SPDX-License-Identifier: BSD-3-Clause
"""Writes mpi.h: handles, constants, types of callbacks, prototypes, and for handles of Fortran functions of the program's
own. It is C89 in all that it uses but `__inline__`, for all of C and C++. Writes mpix.h, the header of the extensions."""

OPEN = """/* {title}. Made by the build from src/mpi/api. */
#ifndef {guard}
#define {guard}

#include {included}

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
# What the standard has for C and its ABI leaves out. All of it is compiled into the program.
FORTRAN = """#ifndef WEFT_MPI_ABI_ONLY
/* Handles and statuses of Fortran, by functions of the ABI: such programs run on any library of the ABI. */
typedef int MPI_Fint;

{functions}
#endif"""
STATUS = """static __inline__ int {prefix}MPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status) {{
  int i;
  f_status[MPI_F_SOURCE] = c_status->MPI_SOURCE;
  f_status[MPI_F_TAG] = c_status->MPI_TAG;
  f_status[MPI_F_ERROR] = c_status->MPI_ERROR;
  for (i = 3; i < MPI_F_STATUS_SIZE; ++i) f_status[i] = c_status->MPI_internal[i - 3];
  return MPI_SUCCESS;
}}
static __inline__ int {prefix}MPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status) {{
  int i;
  c_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
  c_status->MPI_TAG = f_status[MPI_F_TAG];
  c_status->MPI_ERROR = f_status[MPI_F_ERROR];
  for (i = 3; i < MPI_F_STATUS_SIZE; ++i) c_status->MPI_internal[i - 3] = f_status[i];
  return MPI_SUCCESS;
}}"""
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
        if values:
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


def of_fortran(tables):
    lines = []
    for prefix in ("", "P"):
        for one in tables.functions:
            if one.name.endswith("_fromint"):
                name, handle = prefix + one.name.removesuffix("_fromint"), one.parameters[0].name
                lines.append(f"static __inline__ {one.returns} {name}_f2c(MPI_Fint {handle}) {{ return {name}_fromint({handle}); }}")
                lines.append(f"static __inline__ MPI_Fint {name}_c2f({one.returns} {handle}) {{ return {name}_toint({handle}); }}")
        lines.append(STATUS.format(prefix=prefix))
    return [FORTRAN.format(functions="\n".join(lines))]


def joined(parts, **values):
    return OPEN.format(**values) + "\n" + "\n\n".join("\n".join(part) for part in parts if part) + "\n" + CLOSE


def header(tables):
    return joined([of_types(tables), of_constants(tables), of_functions(tables), of_fortran(tables)],
                  title="mpi.h of Weft: the standard ABI of MPI 5", guard="WEFT_MPI_H_INCLUDED", included="<stdint.h>")


def extension_header(extensions):
    return joined([of_types(extensions), of_constants(extensions), of_functions(extensions)],
                  title="mpix.h of Weft: extensions, which are no part of the standard ABI", guard="WEFT_MPIX_H_INCLUDED",
                  included='"mpi.h"')

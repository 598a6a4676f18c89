#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Makes the headers and the entry points of the MPI library from the tables beside it, and from those in `extensions`.

generate.py header FILE                      mpi.h
generate.py extension-header FILE            mpix.h
generate.py entries CHAPTER FILE             the functions of CHAPTER.table
generate.py extension-entries CHAPTER FILE   the functions of extensions/CHAPTER.table
generate.py checked CHAPTER FILE             their checked calls (WEFT_CHECK=1)
generate.py extension-checked CHAPTER FILE   likewise
generate.py exports FILE                     the version script of the library
generate.py absent FILE                      a page that lists the functions that are absent
generate.py calls FILE                       a table of functions for tests, which call them with any arguments
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True
FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
from calls import calls  # noqa: E402
from entries import checked_calls, entries, exports  # noqa: E402
from header import extension_header, header  # noqa: E402
from tables import TableError, Tables  # noqa: E402


def absent(tables):
    """By chapters: how many functions there are, and the absent ones."""
    lines = ["# MPI functions that are absent", "",
             "They return `MPI_ERR_UNSUPPORTED_OPERATION` through the error handler.", ""]
    for chapter, functions in tables.chapters.items():
        missing = [one.name for one in functions if not one.is_supported]
        lines.append(f"**{chapter}**: {len(functions) - len(missing)} of {len(functions)} are there."
                     + (" Absent: " + ", ".join(f"`{name}`" for name in missing) + "." if missing else ""))
        lines.append("")
    return "\n".join(lines)


MADE = {
    "header": lambda abi, extensions: header(abi),
    "extension-header": lambda abi, extensions: extension_header(extensions),
    "entries": lambda abi, extensions, chapter: entries(abi, chapter, ["mpi/api/bodies.hpp"]),
    "extension-entries": lambda abi, extensions, chapter: entries(extensions, chapter, ["mpi/api/extension_bodies.hpp"]),
    "checked": lambda abi, extensions, chapter: checked_calls(abi, chapter, ["mpi/api/bodies.hpp"]),
    "extension-checked": lambda abi, extensions, chapter: checked_calls(extensions, chapter, ["mpi/api/extension_bodies.hpp"]),
    "exports": exports,
    "absent": lambda abi, extensions: absent(abi),
    "calls": lambda abi, extensions: calls(abi),
}


def main(arguments):
    if not arguments or arguments[0] not in MADE:
        raise SystemExit(__doc__)
    made, *middle, output = arguments
    try:
        abi = Tables(FOLDER)
        extensions = Tables(FOLDER / "extensions", abi)
    except TableError as error:
        raise SystemExit(f"generate.py: {error}") from None
    text = MADE[made](abi, extensions, *middle)
    Path(output).parent.mkdir(parents=True, exist_ok=True)
    Path(output).write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])

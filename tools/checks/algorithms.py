# SPDX-License-Identifier: BSD-3-Clause
"""What is made of the table of algorithms of collectives: their declarations, their names for WEFT_COLL, and rows of the page.

A new algorithm is a file, a row of the table and a row of the page; `tools/tidy.py --fix` makes the rest of the row. A file of
`short/` has the name of its algorithm.
"""

import re
from itertools import groupby
from pathlib import Path

from checks.finding import Finding

TABLE = "src/coll/algorithms/table.cpp"
DECLARATIONS = "src/coll/algorithms/algorithms.hpp"
NAMES = "src/base/collective_names.hpp"
PAGE = "docs/collectives.md"
SHORT = "src/coll/algorithms/short/"
SHORT_BODY = re.compile(r"^void short_(\w+)\(", re.MULTILINE)

ROW = re.compile(r'^    \{operation::(\w+), "([\w-]+)",\s+(\w+)(?:,\s+(\w+))?\},$', re.MULTILINE)
# What stands between the lines that say so is made of the table.
MADE = re.compile(r"(?<=// Made of the table by tools/tidy\.py --fix:\n).*?(?=// End of what is made\.\n)", re.DOTALL)
PAGE_ROW = re.compile(r"^\| ?([\w-]*) \| (?:`([\w-]+)`)?", re.MULTILINE)


def rows(text):
    """[(operation, name, function, restriction)] of the table, in its order."""
    return ROW.findall(text)


def _declared(table, header):
    by_hand = MADE.sub("", header)
    seen, out = set(), []
    for _, group in groupby(table, key=lambda row: row[0]):
        lines = []
        for _, _, function, restriction in group:
            lines.append(f"void {function}(schedule& out, const collective_args& args);\n")
            if restriction.startswith("can_") and f"{restriction}(" not in by_hand and restriction not in seen:
                lines.append(f"bool {restriction}(const collective_args& args);\n")
                seen.add(restriction)
        out.append("".join(lines))
    return "\n".join(out)


def _named(table, _):
    return "".join(f'    collective_name{{"{operation}", "{name}"}},\n' for operation, name, _, _ in table)


MADE_FILES = {DECLARATIONS: _declared, NAMES: _named}


def _indented(text, file):
    return text + ("    " if file == NAMES else "")


def make(root, texts):
    """Writes what is made of the table."""
    for file, made in MADE_FILES.items():
        if TABLE in texts and file in texts and MADE.search(texts[file]):
            text = MADE.sub(lambda _: _indented(made(rows(texts[TABLE]), texts[file]), file), texts[file])
            if text != texts[file]:
                Path(root / file).write_text(text)


def findings(texts):
    if TABLE not in texts:
        return []
    table, out = rows(texts[TABLE]), []
    count = texts[TABLE].count("    {operation::")
    if count != len(table):
        out.append(Finding(TABLE, 1, f"{count - len(table)} rows are not `{{operation::x, \"name\", function, restriction}},`"))
    files = {file.rsplit("/", 1)[-1] for file in texts if file.startswith("src/coll/")}
    for operation, name, function, _ in table:
        expected = f"{name.replace('-', '_')}_{operation}"
        if function != expected:
            out.append(Finding(TABLE, 1, f"{function}: the function of {name} of {operation} is {expected}"))
        if f"{function}.cpp" not in files:
            out.append(Finding(TABLE, 1, f"there is no {function}.cpp in src/coll"))
    functions = {function for _, _, function, _ in table}
    for file in (each for each in texts if each.startswith(SHORT)):
        stem = file[len(SHORT):].removesuffix(".hpp")
        for found in SHORT_BODY.findall(texts[file]):
            if found != stem or found not in functions:
                out.append(Finding(file, 1, f"short_{found}: a short body and its file have the name of its algorithm's function"))
    for file, made in MADE_FILES.items():
        found = MADE.search(texts.get(file, ""))
        if file in texts and (not found or found[0] != _indented(made(table, texts[file]), file)):
            out.append(Finding(file, 1, "is not what the table of algorithms says; tools/tidy.py --fix makes it"))
    if PAGE in texts:
        shown, operation = set(), ""
        for new_operation, name in PAGE_ROW.findall(texts[PAGE]):
            operation = new_operation or operation
            shown.add((operation.replace("-", "_"), name or "two-level"))
        out += [Finding(PAGE, 1, f"has no row for {name} of {operation}")
                for operation, name, _, _ in table if (operation, name) not in shown]
    return out

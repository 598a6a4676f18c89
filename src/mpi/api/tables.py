# SPDX-License-Identifier: BSD-3-Clause
"""Reads the tables of the standard ABI: constants, types, functions by chapters, and checks of arguments."""

import fnmatch
import re
from dataclasses import dataclass, field
from pathlib import Path

KEYS = ("when", "threads", "unchecked", "early", "fast", "second", "throws", "handler", "body")


class TableError(Exception):
    """A line that cannot be read: file, line, and why."""


@dataclass(frozen=True)
class Parameter:
    text: str   # as in the prototype: `const int displs[]`
    type: str   # without the name: `const int *`; of an array, a pointer to its elements
    name: str   # empty for `...`


@dataclass
class Function:
    name: str
    returns: str
    parameters: list
    chapter: str
    lines: dict = field(default_factory=dict)  # by the words of KEYS

    @property
    def prototype(self):
        return ", ".join(parameter.text for parameter in self.parameters) or "void"

    @property
    def is_supported(self):
        return "body" in self.lines

    @property
    def runs_always(self):
        """Whether it may be called before MPI_Init and after MPI_Finalize, and its body gives the result."""
        return self.lines.get("when") == "always"

    @property
    def runs_anywhere(self):
        """The same, but it is checked, and its errors go to the error handler of MPI_COMM_SELF where there is one."""
        return self.lines.get("when") == "anywhere"

    def first_of(self, type):
        return next((parameter.name for parameter in self.parameters if parameter.type == type), None)


def read_parameter(text):
    text = text.strip()
    if text == "...":
        return Parameter(text, text, "")
    found = re.fullmatch(r"(.*?)(\w+)((?:\[\d*\])*)", text)
    if not found:
        raise TableError(f"no parameter: {text}")
    type, name, arrays = found.groups()
    return Parameter(text, type.strip() + (" *" if arrays else ""), name)


def read_prototype(line, chapter):
    found = re.fullmatch(r"(?:(\w+ \*|\w+ ))?(MPI\w*)\((.*)\)", line)
    if not found:
        raise TableError(f"no prototype: {line}")
    returns, name, parameters = found.groups()
    listed = [] if parameters == "void" else [read_parameter(text) for text in parameters.split(",")]
    return Function(name, (returns or "int").strip(), listed, chapter)


def read_chapter(path):
    """Paragraphs: prototypes, then indented lines `key: text` that hold for all of them."""
    functions, paragraph, last = [], [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        try:
            if not line.strip():
                paragraph, last = [], None
            elif line.startswith("#"):
                continue
            elif not line.startswith(" "):
                paragraph.append(read_prototype(line, path.stem))
                functions.append(paragraph[-1])
            elif not paragraph:
                raise TableError("a line of no function")
            else:
                key, colon, text = line.strip().partition(": ")
                if colon and key in KEYS:
                    last = key
                elif last is None:
                    raise TableError(f"begins with none of {', '.join(KEYS)}")
                else:
                    text = line.strip()
                for function in paragraph:
                    before = function.lines.get(last)
                    function.lines[last] = f"{before} {text}" if before else text
        except TableError as error:
            raise TableError(f"{path.name}:{number}: {error}") from None
    return functions


def read_rows(path):
    """Rows of a table whose first line that is no comment names its columns."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    names = lines[0].split("\t")
    return [dict(zip(names, (line + "\t" * len(names)).split("\t"))) for line in lines[1:]]


class Tables:
    """The tables of a folder. `base`: of another folder, whose objects and checks hold here, too."""

    def __init__(self, folder, base=None):
        folder = Path(folder)
        self.constants = read_rows(folder / "constants.tsv")
        self.types = read_rows(folder / "types.tsv")
        self.objects = base.objects if base else read_rows(folder / "objects.tsv")
        self.checks = read_rows(folder / "checks.tsv") + (base.checks if base else [])
        self.chapters = {path.stem: read_chapter(path) for path in sorted(folder.glob("*.table"))}

    @property
    def functions(self):
        return sorted((one for chapter in self.chapters.values() for one in chapter), key=lambda one: one.name)

    def checks_of(self, function):
        """[(parameter, expression)], communicators first: their error handlers hear of all others."""
        names = {parameter.name for parameter in function.parameters}
        unchecked = function.lines.get("unchecked", "").split()
        found = []
        for parameter in function.parameters:
            row = next((row for row in self.checks
                        if row["type"] == parameter.type and fnmatch.fnmatch(parameter.name, row["name"])
                        and (not row["beside"] or row["beside"] in names)), None)
            if row and parameter.name not in unchecked:
                comm = function.first_of("MPI_Comm") or ""
                found.append((parameter, row["check"].replace("{comm}", comm).replace("{}", parameter.name)))
        return sorted(found, key=lambda each: each[0].type != "MPI_Comm")

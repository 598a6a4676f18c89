#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which functions of Weft a message passed, by what callgrind wrote of it; compilers inline most of them, lines tell.

tools/walks.py OUT    prints `file: function` for each function of include/ and src/ with lines that were run
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# A name, its parameters, and after them what may stand before a body: `const noexcept override`, a type, initializers.
NAME = re.compile(r"(?<![\w.>])(?P<name>~?[A-Za-z_]\w*)\s*\(")
NO_FUNCTIONS = {"if", "for", "while", "switch", "return", "catch", "sizeof", "static_assert", "alignof", "decltype"}


def lines_run(output, root=ROOT):
    """{file below the root: set of line numbers} of a file of callgrind's."""
    names, out, file, line = {}, {}, None, 0
    skip = False
    for text in output.splitlines():
        found = re.match(r"(fl|fi|fe|cfl|cfi|fn|cfn|ob|cob)=(?:\((\d+)\))?\s*(.*)", text)
        if found:
            kind, number, name = found.groups()
            if kind in ("fl", "fi", "fe", "cfl", "cfi"):
                if name:
                    names[number] = name
                if not kind.startswith("c"):
                    file = _below(names.get(number, name), root)
            continue
        if text.startswith("calls="):
            skip = True  # the next line is the cost of the call
            continue
        found = re.match(r"(\+|-|\*)?(\d*) \d+$", text)
        if not found:
            continue
        sign, number = found.groups()
        line = line if sign == "*" else line + int(number) if sign == "+" else line - int(number) if sign == "-" \
            else int(number)
        if not skip and file:
            out.setdefault(file, set()).add(line)
        skip = False
    return out


def _below(name, root):
    """A path below the root, or none for the system's."""
    for folder in ("/include/weft/", "/src/"):
        if folder in name and (root / (folder[1:] + name.rsplit(folder, 1)[1])).is_file():
            return folder[1:] + name.rsplit(folder, 1)[1]
    return None


def functions_of(text):
    """[(name, first line, last line)] of each function that has its body in this source, inner ones after outer ones."""
    code = re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', lambda found: " " * len(found.group()), text)
    out = []
    initialized = 0  # up to here: parameters and initializers of a function that was found
    for found in NAME.finditer(code):
        if found["name"] in NO_FUNCTIONS or found.start() < initialized:
            continue
        after = _matching(code, found.end() - 1, "()")
        if after is None:
            continue
        body = re.compile(r"\s*(?:const\b|noexcept(?:\([^)]*\))?|override\b|final\b|mutable\b|->[\w:<>&*,\s]+|"
                          r"\s|:\s*(?=\w))*").match(code, after)
        at = body.end()
        if code[body.start():at].rstrip().endswith(":"):  # initializers of a constructor
            while at < len(code) and (initializer := re.compile(r"\s*[\w:<>]+\s*([({])").match(code, at)):
                end = _matching(code, initializer.end() - 1, "()" if initializer[1] == "(" else "{}")
                if end is None:
                    break
                comma = re.compile(r"\s*,").match(code, end)
                at = comma.end() if comma else end
                if not comma:
                    break
            at += len(code[at:]) - len(code[at:].lstrip())
        if at >= len(code) or code[at] != "{":
            continue
        end = _matching(code, at, "{}")
        if end is not None:
            initialized = at
            out.append((found["name"], code.count("\n", 0, found.start()) + 1, code.count("\n", 0, end) + 1))
    return out


def _matching(code, start, pair):
    depth = 0
    for at in range(start, len(code)):
        if code[at] == pair[0]:
            depth += 1
        elif code[at] == pair[1]:
            depth -= 1
            if depth == 0:
                return at + 1
    return None


def passed(output, root=ROOT):
    """{file: [function]} with lines that were run, in the order of the file."""
    out = {}
    for file, lines in sorted(lines_run(output, root).items()):
        for name, first, last in functions_of((root / file).read_text()):
            if any(first <= line <= last for line in lines):
                out.setdefault(file, []).append(name)
    return out


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for file, names in passed(Path(sys.argv[1]).read_text()).items():
        print(f"{file}: {', '.join(dict.fromkeys(names))}")


if __name__ == "__main__":
    main()

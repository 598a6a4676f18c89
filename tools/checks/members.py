# SPDX-License-Identifier: BSD-3-Clause
"""How much a class holds: at most 40 members, a struct at most 16 fields, but for structs of options. Larger ones have a
kept number, which only falls.

Functions, constructors and fields are members; types, constants and aliases inside a class are not, nor are deleted
overloads for any arguments, which only tell the compiler's user what to write, and deprecated names of the last version.
"""

import re

from checks import kept
from checks.finding import Finding

KEPT = "tools/checks/members.json"
MEMBERS_MAX, FIELDS_MAX = 40, 16
OPTIONS = "_options"  # a struct of options has a field for each thing that a caller may set, up to MEMBERS_MAX
PRODUCT = ("src/", "include/", "programs/", "apps/")

HEAD = re.compile(r"\b(class|struct)\s+(?:alignas\([^)]*\)\s*|\[\[[^\]]*\]\]\s*)*([A-Za-z_]\w*)(?:\s+final)?\s*"
                  r"(?::[^;{()]*)?\{")
TYPE = re.compile(r"(?:template\s*<[^{]*>\s*)?(?:class|struct|union|enum)\b")
ACCESS = re.compile(r"\b(?:public|private|protected):")
NO_MEMBERS = ("[[deprecated", "using", "friend", "static_assert", "typedef", "class ", "struct ", "enum ", "union ")
REFUSAL = re.compile(r"\.\.\.\)\s*=\s*delete$")
TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*(?:<[^<>]*(?:<[^<>]*>)?[^<>]*>)?[^<>]*>")


def _code(text):
    """The text without comments and the contents of literals; all lines and columns stay."""
    return re.sub(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', lambda found: " " * len(found.group()), text)


def _end_of_braces(code, start):
    depth = 0
    for at in range(start, len(code)):
        depth += {"{": 1, "}": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return None


def _members(body):
    """(fields, functions) of the body of a class."""
    fields = functions = parentheses = at = 0
    statement = ""
    while at < len(body):
        char = body[at]
        parentheses += {"(": 1, ")": -1}.get(char, 0)
        if char == "{" and parentheses == 0:
            end = _end_of_braces(body, at)
            if end is None:
                break
            head = ACCESS.sub("", statement).strip()
            at = end + 1
            if TYPE.match(head):  # a type, and perhaps a field of it
                fields += bool(re.match(r"\s*[A-Za-z_]\w*\s*[{;=]", body[at:]))
                at = body.find(";", at) + 1 or len(body)
                statement = ""
            elif ")" in re.sub(r"alignas\([^)]*\)|noexcept\([^)]*\)", "", head) and \
                    not body[at:].lstrip().startswith((";", ",")):
                functions += not head.startswith("[[deprecated")
                statement = ""
            else:
                statement += "{}"  # the initializer of a field
            continue
        at += 1
        if char != ";" or parentheses != 0:
            statement += char
            continue
        text, statement = ACCESS.sub("", statement).strip(), ""
        if not text or text.startswith(NO_MEMBERS) or REFUSAL.search(text):
            continue
        declared = TEMPLATE_ARGUMENTS.sub("", re.sub(r"alignas\([^)]*\)|\[\[[^\]]*\]\]|decltype\([^)]*\)", "", text))
        declared = declared.split("{")[0].split("=")[0]
        if "(" in declared:
            functions += 1
        elif not re.match(r"(?:static |inline )*constexpr ", text):
            fields += 1 + declared.count(",")
    return fields, functions


def classes(text):
    """(kind, name, line, fields, functions) of each class in a source."""
    code = _code(text)
    for found in HEAD.finditer(code):
        if re.search(r"(?:\benum|\bfriend|<|,)\s*$", code[:found.start()]):
            continue
        end = _end_of_braces(code, found.end() - 1)
        if end is not None:
            yield (found[1], found[2], code.count("\n", 0, found.start()) + 1, *_members(code[found.end():end]))


def _sizes(texts):
    """{name: (number, limit, file, line)}"""
    out = {}
    for file, text in texts.items():
        if not file.startswith(PRODUCT) or not file.endswith((".hpp", ".cpp")):
            continue
        for kind, name, line, fields, functions in classes(text):
            for number, counted in ((fields + functions, "members"), (fields, "fields")):
                if counted == "members" or kind == "struct":
                    entry = f"{file} {name} {counted}"
                    out[entry] = (number, _limit_of(entry), file, line)
    return out


def _limit_of(entry):
    return FIELDS_MAX if entry.endswith(" fields") and not entry.split()[-2].endswith(OPTIONS) else MEMBERS_MAX


def findings(root, texts):
    before, sizes, out = kept.load(root, KEPT), _sizes(texts), []
    for name, (number, limit, file, line) in sizes.items():
        allowed = max(limit, before.get(name, 0))
        if number > allowed:
            _, what, kind = name.split(" ")
            out.append(Finding(file, line, f"{what} has {number} {kind}, {allowed} allowed: move a part into a class of its own"))
    return out + kept.stale(KEPT, before, {name: each[0] for name, each in sizes.items()})


def lower(root, texts):
    kept.lower(root, KEPT, {name: each[0] for name, each in _sizes(texts).items()}, _limit_of)


def largest(texts, count=12):
    """The largest, a line each."""
    rows = sorted(((each[0], name) for name, each in _sizes(texts).items() if name.endswith("members")), reverse=True)
    return [f"{number:5}  {name}" for number, name in rows[:count]]

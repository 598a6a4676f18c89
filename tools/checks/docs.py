# SPDX-License-Identifier: BSD-3-Clause
"""Finds public functions of which the public headers do not say all that a caller has to know.

For each public function of include/weft/*.hpp the comment of the function, or of a class that it is in, has to say
whether it blocks, which threads may call it, and which errors there are; and what happens to a buffer that it takes.
Overriding functions are left out, as what they override says it; so are defaulted and deleted functions.
"""

import re

from checks.finding import Finding

HEADER = re.compile(r"include/weft/[^/]+\.hpp")
TOPICS = ["Blocking", "Threads", "Errors"]
BUFFER = re.compile(r"\b(?:const_)?buffer_(?:ref|list)\b|\bstd::span<(?:const )?std::byte>|\bBuffer&&")
# Namespaces of functions that users do not call.
PRIVATE_NAMESPACES = {"detail", "core", "fibers", "boot", "test"}
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'')
ACCESS = re.compile(r"\s*(public|protected|private)\s*:(?!:)")
CLASS = re.compile(r"\b(?:class|struct|union)\s+(?:alignas\s+)?(\w+)")
NOT_FUNCTIONS = re.compile(r"(?:using|typedef|friend|static_assert|enum|concept)\b")


class Scope:
    """A namespace or a class; all else that has braces is skipped as a whole."""

    def __init__(self, name, is_public, comment, is_class):
        self.name, self.is_public, self.comment, self.is_class = name, is_public, comment, is_class


def _without_angles(text):
    text = text.replace("operator<", "operator")
    while (shorter := re.sub(r"<[^<>]*>", "", text)) != text:
        text = shorter
    return text


def _without_requires(text):
    while match := re.search(r"\brequires\s*\(", text):
        text = text[:match.start()] + text[_matching(text, match.end() - 1, "(", ")") + 1:]
    return text


def _matching(text, at, opening, closing):
    """The place of the bracket that closes the one at `at`; the end of the text where there is none."""
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == opening) - (text[index] == closing)
        if depth == 0:
            return index
    return len(text) - 1


def function_of(statement):
    """Name and parameters of the function that a statement declares, or None."""
    text = re.sub(r"\[\[.*?\]\]", "", statement).strip()
    text = re.sub(r"^template\s*<", "<", text)
    parameters_from = _without_requires(text)
    plain = _without_angles(parameters_from).strip()
    if NOT_FUNCTIONS.match(plain) or re.search(r"\)[^)]*=\s*(?:default|delete)\s*$", plain):
        return None
    match = re.search(r"\boperator\s*(?:\(\s*\)|[^\s(]+|\s\w+)(?=\s*\()|~?\w+(?=\s*\()", plain)
    if not match or "=" in plain[:match.start()] or re.search(r"\boverride\b", plain[match.end():]):
        return None
    name = match.group(0)
    # The parameters with their template arguments: from the first parenthesis behind the name on.
    begin = parameters_from.find("(", parameters_from.find(name) + len(name))
    return name, parameters_from[begin:_matching(parameters_from, begin, "(", ")") + 1]


def _lines(text):
    """Each line as (number, code, text of a doc comment or None); code is a space for a line of another comment."""
    for number, line in enumerate(text.splitlines(), 1):
        line = STRING.sub('""', line)
        if re.match(r"\s*///(?!<)", line):
            yield number, "", line.strip()[3:]
        elif re.match(r"\s*#", line):
            yield number, "", None
        else:
            yield number, re.sub(r"//.*", " ", line), None


class _Reader:
    """Goes through a header and notes its public functions."""

    def __init__(self):
        self.found = []
        self.scopes = [Scope("", True, "", False)]
        self.comment = ""  # the last doc comment: of the next declaration, unless an empty line follows
        self.statement, self.begin = "", 0
        self.skipped = 0  # open braces of a function's body or an initializer, which is skipped
        self.is_body = False

    def read(self, number, code, said):
        if self.skipped == 0 and not self.statement.strip():
            if said is not None:
                self.comment += said + "\n"
            elif not code.strip():
                self.comment = self.comment if code else ""
            elif match := ACCESS.match(code):
                self.scopes[-1].is_public = match.group(1) == "public"
                code, self.comment = code[match.end():], ""
        for index, character in enumerate(code):
            if self.skipped:
                self._skip(character)
            else:
                self._take(number, character, code[index - 1] if index else " ")
        self.statement += " "

    def _skip(self, character):
        self.skipped += (character == "{") - (character == "}")
        if self.skipped == 0 and self.is_body:
            self._end_statement()

    def _take(self, number, character, before):
        if not self.statement.strip():
            self.statement, self.begin = "", number
        depth = self.statement.count("(") - self.statement.count(")")
        if character == "{":
            kind = _opened(self.statement, depth, before)
            if kind == "scope":
                self.scopes.append(_scope_of(self.statement, self.comment))
                self._forget()
            else:
                self.skipped, self.is_body = 1, kind == "body"
        elif character == "}":
            if len(self.scopes) > 1:
                self.scopes.pop()
            self._forget()
        elif character == ";" and depth == 0:
            self._end_statement()
        else:
            self.statement += character

    def _end_statement(self):
        declared = function_of(self.statement)
        if declared and all(scope.is_public for scope in self.scopes):
            name = "::".join([scope.name for scope in self.scopes if scope.is_class] + [declared[0]])
            self.found.append((self.begin, name, declared[1],
                               [self.comment] + [scope.comment for scope in self.scopes]))
        self._forget()

    def _forget(self):
        self.comment, self.statement = "", ""


def functions(text):
    """All public functions as (line, name, parameters, comments): its own comment, and those of its classes."""
    reader = _Reader()
    for number, code, said in _lines(text):
        reader.read(number, code, said)
    return reader.found


def _opened(statement, depth, before):
    """What a brace opens: "scope", the "body" of a function, or an "initializer" of something."""
    if depth > 0 or (not before.isspace() and before != ")"):
        return "initializer"
    plain = _without_angles(_without_requires(statement)).strip()
    if re.match(r"(?:inline\s+)?namespace\b", plain):
        return "scope"
    if re.match(r"(?:\[\[.*\]\]\s*)?(?:template\s*)?(?:class|struct|union)\b", re.sub(r"\[\[.*?\]\]", "", plain)):
        return "scope"
    return "body" if function_of(statement) or "(" in plain else "initializer"


def _scope_of(statement, comment):
    plain = _without_angles(re.sub(r"\[\[.*?\]\]", "", statement)).strip()
    if match := re.match(r"(?:inline\s+)?namespace\s*([\w:]*)", plain):
        name = match.group(1)
        return Scope(name, not PRIVATE_NAMESPACES & set(name.split("::")) and name != "", "", False)
    match = CLASS.search(plain)
    # A class begins private, a struct public.
    return Scope(match.group(1) if match else "", not re.search(r"\bclass\b", plain), comment, True)


def undocumented(file, text):
    """Each public function of a public header of which something is not said."""
    if not HEADER.fullmatch(file):
        return []
    findings = []
    for line, name, parameters, comments in functions(text):
        topics = TOPICS + (["Buffer"] if BUFFER.search(parameters) else [])
        missing = [f"**{topic}**" for topic in topics if not any(f"**{topic}**" in comment for comment in comments)]
        if missing:
            findings.append(Finding(file, line, f"{name}: neither its comment nor its class's says {', '.join(missing)}"))
    return findings

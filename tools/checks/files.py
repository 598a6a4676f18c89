# SPDX-License-Identifier: BSD-3-Clause
"""How long files and functions are, that each folder says what lives in it, and that what comments name is there."""

import re
from pathlib import Path

import walks
from checks.finding import Finding

LINES_MAX = 600
FUNCTION_LINES_MAX = 60
PRODUCT = ("include/", "src/", "programs/", "apps/")
README_LINES_MAX = 10

LICENSE = "SPDX-License-Identifier: BSD-3-Clause"
# Pages show them as they are.
SHOWN_WHOLE = ("examples/",)
COMMENTS = {".cpp": "//", ".hpp": "//", ".h": "//", ".c": "/*", ".py": "#", ".cmake": "#"}


def comment_mark(file, text):
    """What begins a comment in a source; None if the file is none."""
    script = text.startswith("#!") or file.endswith("CMakeLists.txt")
    return COMMENTS.get(Path(file).suffix, "#" if script else None)


def licenses(root, files):
    """Each source names its license in its first line, or in the second after a `#!`."""
    findings = []
    for file in files:
        with open(root / file, "rb") as source:
            begin = source.read(200).decode(errors="replace")
        lines = [line for line in begin.splitlines() if not line.startswith("#!")]
        if comment_mark(file, begin) and not file.startswith(SHOWN_WHOLE) and LICENSE not in "".join(lines[:1]):
            findings.append(Finding(file, 1, f"its first line is to be a comment with {LICENSE}"))
    return findings


def lengths(file, text):
    count = len(text.splitlines())
    if count > LINES_MAX:
        return [Finding(file, LINES_MAX, f"{count} lines: what is longer than {LINES_MAX} wants to be two things")]
    return []


def functions(file, text):
    """A function of the product fits on a screen."""
    if not file.startswith(PRODUCT) or not file.endswith((".cpp", ".hpp")):
        return []
    return [Finding(file, first, f"{name} has {last - first + 1} lines, {FUNCTION_LINES_MAX} allowed: make its steps functions")
            for name, first, last in walks.functions_of(text) if last - first >= FUNCTION_LINES_MAX]


def readmes(root, files):
    """Every folder with sources says in at most ten lines what lives in it."""
    findings = []
    folders = {str(Path(file).parent) for file in files}
    for folder in sorted(folders):
        if folder == "." or folder.startswith(".") or "/data" in folder or folder.startswith("docs"):
            continue
        readme = f"{folder}/README.md"
        if readme not in files:
            findings.append(Finding(readme, 1, "missing: each folder says what lives in it, in at most ten lines"))
            continue
        count = len((root / readme).read_text().splitlines())
        if count > README_LINES_MAX:
            findings.append(Finding(readme, count, f"{count} lines; a README has at most {README_LINES_MAX}"))
    return findings


MENTION = re.compile(r"(?<![\w.*<-])((?:[\w-]+/)*[\w-]+\.(?:cpp|hpp|py|cmake))\b")


def mentions(file, text, known):
    """A file that a comment names is there; `known`: all, and their ends (`b.hpp` of `a/b.hpp`)."""
    findings = []
    for number, line in enumerate(text.splitlines(), 1):
        comment = line.find("//")
        if comment < 0:
            continue
        for name in MENTION.findall(line[comment:]):
            if name not in known:
                findings.append(Finding(file, number, f"there is no {name}"))
    return findings


QUALIFIED = re.compile(r"`((?:[A-Za-z_]\w*::)+~?[A-Za-z_]\w*)")
# Of other projects.
FOREIGN = ("std", "matching_policy_t", "boost", "lci", "tbb", "libcuckoo", "moodycamel", "testing", "fmt")
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def identifiers(text):
    """All that C++ code names, comments and texts left out."""
    return set(IDENTIFIER.findall(re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"', " ", text)))


def qualified_names(file, text, known):
    """A name like `a::b` that a page or a comment mentions is one of our code; `known`: its identifiers."""
    findings = []
    for number, line in enumerate(text.splitlines(), 1):
        said = line if file.endswith(".md") else line.partition("//")[2]
        for name in QUALIFIED.findall(said):
            parts = name.replace("~", "").split("::")
            missing = [part for part in parts if part not in known]
            if parts[0] not in FOREIGN and missing:
                findings.append(Finding(file, number, f"there is no {name}: nothing is called {missing[0]}"))
    return findings


CONTRACT = [f"src/net/{name}.hpp" for name in ("message", "sink", "packet_store", "endpoint", "transport")]
CONTRACT_LINES_MAX = 180


def contract(root, files):
    """What a transport has to know is short: so many lines of code, comments not counted."""
    lines = [line.strip() for file in CONTRACT if file in files for line in (root / file).read_text().splitlines()]
    code = sum(1 for line in lines if line and not line.startswith("//"))
    if code <= CONTRACT_LINES_MAX:
        return []
    return [Finding(CONTRACT[-1], 1, f"the contract has {code} lines of code; at most {CONTRACT_LINES_MAX}")]

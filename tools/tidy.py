#!/usr/bin/env python3
"""Checks what the compiler does not: format, layers, labels of atomic accesses, READMEs and lengths of files, and
(tidy_docs.py) what public headers say of each function, (tidy_words.py) what names are made of.

tools/tidy.py          checks everything; prints `file:line: message` for each finding
tools/tidy.py --fix    formats the sources with clang-format instead
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
import tidy_docs  # noqa: E402
import tidy_words  # noqa: E402

# From the ground up: a layer includes itself and those before it.
LAYERS = ["base", "boot", "net", "core", "graph", "coro", "coll", "fiber"]
# The rooms of core, likewise, but for sources, which may use the headers of all rooms.
ROOMS = ["memory", "message", "matching", "device", "wait", "runtime", "protocol", "progress", "fast", "api"]
# The folders of programs that have any, likewise, sources as well; "" is the program's own folder.
PROGRAM_FOLDERS = {"weft-perf": ["report", "", "limits", "measure", "compare"]}
# The one file above a transport's own folder that may name transports.
TRANSPORT_TABLE = "src/net/transports.hpp"
# What stands beside the layers: support for tests, which may use everything.
FREE_FOLDERS = ["src/test", "include/weft/test"]
# What a user's compiler must not need.
PRIVATE_LIBRARIES = ["fmt/", "hwloc", "CLI/", "nlohmann/", "zlib.h", "htslib/", "xxhash.h", "boost/", "gtest/",
                     "gmock/"]
LINES_MAX = 600
README_LINES_MAX = 10
# How far above an access, in lines, its comment may begin.
REACH = 12


class Finding(NamedTuple):
    file: str
    line: int
    message: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.message}"


# ---------------------------------------------------------------------------------------------- layers

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def layering(file, text):
    """Each layer includes only those before it; no transport includes another; public headers include no private."""
    findings = []
    if any(file.startswith(folder + "/") for folder in FREE_FOLDERS):
        return findings
    parts = file.split("/")
    for number, line in enumerate(text.splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        quote, target = match.groups()
        problem = None
        if target.startswith("../"):
            problem = "include from an include root, not through '../'"
        elif parts[0] == "include":
            if quote == '"' and not target.startswith("weft/"):
                problem = "a public header may include only \"weft/...\" and what the user's system has"
            elif any(target.startswith(library) for library in PRIVATE_LIBRARIES):
                problem = "a public header may not need a library that its user need not have"
            elif target.startswith("weft/test/"):
                problem = "only tests may use weft/test"
        elif parts[0] == "src" and len(parts) > 2:
            problem = _layer_problem(file, parts, target)
        elif parts[0] == "programs" and parts[1] in PROGRAM_FOLDERS:
            problem = _program_problem(parts, target)
        if problem:
            findings.append(Finding(file, number, f"includes {target}: {problem}"))
    return findings


def _layer_problem(file, parts, target):
    layer = parts[1]
    if layer not in LAYERS:
        return f"unknown layer '{layer}': name it in LAYERS of tools/tidy.py"
    if target.startswith("weft/test/") or target.startswith("test/"):
        return "only tests may use the support for tests"
    to = target.split("/")
    if to[0] not in LAYERS or len(to) < 2:
        return None
    if LAYERS.index(to[0]) > LAYERS.index(layer):
        return f"layer '{layer}' stands below '{to[0]}'"
    if to[0] == "net" and len(to) > 2 and file != TRANSPORT_TABLE:
        if layer != "net":
            return f"nothing above net/ names a transport, and this is '{layer}'"
        if len(parts) == 3:
            return f"in net/ only {TRANSPORT_TABLE} names transports"
        if parts[2] != to[1]:
            return f"transport '{parts[2]}' may not use transport '{to[1]}'"
    return _room_problem(parts, to) if layer == "core" else None


def _room_problem(parts, to):
    room = parts[2] if len(parts) > 3 else None
    if room not in ROOMS:
        return f"unknown room '{room}' of core: name it in ROOMS of tools/tidy.py"
    if to[0] != "core" or not parts[-1].endswith(".hpp") or to[1] not in ROOMS:
        return None
    if ROOMS.index(to[1]) > ROOMS.index(room):
        return f"room '{room}' of core stands below '{to[1]}'"
    return None


def _program_problem(parts, target):
    program, *to = target.split("/")
    if program != parts[1]:
        return None
    folders = PROGRAM_FOLDERS[program]
    here, there = "/".join(parts[2:-1]), "/".join(to[:-1])
    for folder in (here, there):
        if folder not in folders:
            return f"unknown folder '{folder}' of {program}: name it in PROGRAM_FOLDERS of tools/tidy.py"
    if folders.index(there) > folders.index(here):
        return f"folder '{here}' of {program} stands below '{there}'"
    return None


# ---------------------------------------------------------------------------------------------- atomics

ORDER = re.compile(r"\bmemory_order(?:_|::)(relaxed|consume|acquire|release|acq_rel|seq_cst)\b")
DEFINITION = re.compile(r"//[/!]?\s*\[([A-Za-z_][\w.-]*)\]\s+(relaxed|acquire|release|acq_rel|seq_cst)\b(.*)")
PARTNERS = re.compile(r"(<->|->|<-)\s*((?:\[[\w.-]+\]\s*,?\s*(?:and\s+)?)+)")
NAME = re.compile(r"\[([\w.-]+)\]")
# What takes the place of a label where a relaxed access needs no order: a statistic, what one thread writes and reads,
# what a lock guards, and what may be stale without harm.
MARKS = ("stat", "own", "locked", "hint")
JUSTIFIED = re.compile(rf"^[/!]?\s*\[(?:{'|'.join(MARKS)})\]|\brelaxed\b", re.IGNORECASE)
MARK = re.compile(r"//[/!]?\s*\[([A-Za-z_][\w.-]*)\](?!\()")
COMMENT = re.compile(r"^\s*//")
CALL = re.compile(r"(?:\.|->)\s*(load|store|exchange|fetch_\w+|compare_exchange_\w+|test_and_set)\s*\(")
DECLARATION = re.compile(r"\batomic(?:_flag|<.*>)\s*&?\s*(\w+_)\s*(?:\[[^\]]*\])*\s*[;{=]")
# An access with one order is served by a comment that states it or a stronger one.
SERVED_BY = {
    "relaxed": {"relaxed", "acquire", "release", "acq_rel", "seq_cst"},
    "acquire": {"acquire", "acq_rel", "seq_cst"},
    "release": {"release", "acq_rel", "seq_cst"},
    "acq_rel": {"acq_rel", "seq_cst"},
    "seq_cst": {"seq_cst"},
}


class Label(NamedTuple):
    file: str
    line: int
    order: str
    partners: dict  # label -> arrow


def _definition(lines, index):
    """The label that the comment at `index` defines, or None. Its partners may go on in the next comment lines."""
    match = DEFINITION.search(lines[index])
    if not match:
        return None
    name, order, rest = match.groups()
    following = index + 1
    while ":" not in rest and following < len(lines) and COMMENT.match(lines[following]):
        rest += " " + lines[following].strip().lstrip("/").strip()
        following += 1
    partners = {}
    for arrow, names in PARTNERS.findall(rest.split(": ")[0]):
        partners.update({partner: arrow for partner in NAME.findall(names)})
    return name, order, partners


def _code(line):
    """The line without its comment and without what strings contain."""
    line = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line)
    return line.split("//", 1)[0]


def labels_of(file, text):
    """All labels that a file defines: name -> list of Label."""
    result = {}
    lines = text.splitlines()
    for index in range(len(lines)):
        definition = _definition(lines, index)
        if definition:
            name, order, partners = definition
            result.setdefault(name, []).append(Label(file, index + 1, order, partners))
    return result


def partners(labels):
    """Each label names its partners, each partner exists and names it back."""
    findings = []
    for name, definitions in sorted(labels.items()):
        first = definitions[0]
        for other in definitions[1:]:
            if other.file != first.file:
                findings.append(Finding(other.file, other.line,
                                        f"[{name}] is a label of {first.file}:{first.line} already"))
        for label in definitions:
            if label.order != "relaxed" and not label.partners:
                findings.append(Finding(label.file, label.line, f"[{name}] names no partner; write "
                                        f"`// [{name}] {label.order} -> [partner]: why`"))
            for partner, arrow in label.partners.items():
                findings += _partner_findings(name, label, partner, arrow, labels)
    return findings


def _partner_findings(name, label, partner, arrow, labels):
    if partner not in labels:
        return [Finding(label.file, label.line, f"[{name}] names [{partner}], which no comment defines")]
    back = [other.partners[name] for other in labels[partner] if name in other.partners]
    other = labels[partner][0]
    if not back:
        return [Finding(label.file, label.line,
                        f"[{name}] names [{partner}], but {other.file}:{other.line} does not name it")]
    opposite = {"->": "<-", "<-": "->", "<->": "<->"}[arrow]
    if partner != name and opposite not in back and "<->" not in back and arrow != "<->":
        return [Finding(label.file, label.line, f"[{name}] {arrow} [{partner}], but {other.file}:{other.line} says the "
                                                f"same direction; it should say {opposite}")]
    return []


def accesses(file, text):
    """Each atomic access spells out its order and has its comment on the same line or directly above."""
    if "atomic" not in text and "memory_order" not in text:
        return []
    findings = []
    lines = text.splitlines()
    code = [_code(line) for line in lines]
    for index, line in enumerate(code):
        for order in dict.fromkeys(ORDER.findall(line)):
            if order == "consume":
                findings.append(Finding(file, index + 1, "memory_order_consume: use acquire"))
            elif not _commented(lines, code, index, order):
                findings.append(Finding(file, index + 1, _missing(order)))
        findings += _unspelled(file, code, index)
        findings += _mark_findings(file, lines, code, index)
    findings += _operators(file, code)
    return findings


def _mark_findings(file, lines, code, index):
    """A comment begins with a mark or a label with its order, and with nothing else in brackets."""
    match = MARK.search(lines[index])
    if not match:
        return []
    name = match.group(1)
    if DEFINITION.search(lines[index]):
        problem = f"[{name}] is a mark, which has no order: only labels do" if name in MARKS else None
    elif name not in MARKS:
        problem = f"[{name}] is no label, as it has no order, and no mark: those are [" + "], [".join(MARKS) + "]"
    else:
        problem = None if _marks_relaxed(code, index) else f"[{name}] marks relaxed accesses only"
    return [Finding(file, index + 1, problem)] if problem else []


def _marks_relaxed(code, index):
    """False where the statement on the line, or the one below the comment, has orders, but no relaxed one."""
    while index + 1 < len(code) and not code[index].strip():
        index += 1
    orders = ORDER.findall(code[index])
    return not orders or "relaxed" in orders


def _missing(order):
    if order == "relaxed":
        marks = ", ".join(f"`// [{mark}]`" for mark in MARKS)
        return f"relaxed access without `// [label] relaxed ...`, {marks} or `// relaxed: why` directly above"
    return f"{order} access without a comment `// [label] {order} -> [partner]: why` directly above, of this order"


def _commented(lines, code, index, order):
    """Looks on the line itself, then upwards to the next comment, past the rest of the statement."""
    if _serves(lines, index, order):
        return True
    strongest = order
    for above in range(index - 1, max(-1, index - 1 - REACH), -1):
        if COMMENT.match(lines[above]):
            begin = above
            while begin > 0 and COMMENT.match(lines[begin - 1]):
                begin -= 1
            if any(_serves(lines, line, strongest) for line in range(begin, above + 1)):
                return True
            if any(DEFINITION.search(lines[line]) for line in range(begin, above + 1)):
                return False
            continue
        found = set(ORDER.findall(code[above]))
        if "//" in lines[above] and found and order == "relaxed" and _serves(lines, above, order):
            return True
        # One comment may serve several relaxed accesses in a row, but only the first stronger one.
        ended = any(end in "".join(code[above:index]) for end in (";", "{"))
        if ended and order != "relaxed" and found - {"relaxed"}:
            return False
    return False


def _serves(lines, index, order):
    if "//" not in lines[index]:
        return False
    comment = lines[index].split("//", 1)[1]
    if order == "relaxed" and JUSTIFIED.search(comment):
        return True
    definition = DEFINITION.search(lines[index])
    return bool(definition) and definition.group(2) in SERVED_BY[order]


def _arguments(code, index, column):
    """The text between the parentheses that open at `column` of line `index`."""
    depth, result = 0, ""
    for line in [code[index][column:]] + code[index + 1:index + 8]:
        for character in line:
            depth += {"(": 1, ")": -1}.get(character, 0)
            if depth == 0:
                return result[1:]
            result += character
        result += " "
    return result


def _unspelled(file, code, index):
    findings = []
    for match in CALL.finditer(code[index]):
        arguments = _arguments(code, index, match.end() - 1)
        if "order" in arguments:
            continue
        name = match.group(1)
        # Other things have these names as well; an atomic's load has no arguments, an exchange of boot/ is no atomic.
        if name == "load" and arguments.strip():
            continue
        if name in ("store", "exchange") and not arguments.strip():
            continue
        if name == "exchange" and file.startswith("src/boot/"):
            continue
        findings.append(Finding(file, index + 1, f"{name}({arguments.strip()}) without its memory order: spell it out"))
    return findings


def _operators(file, code):
    """++, -- and assignment on members that this file declares as atomics are sequentially consistent in disguise."""
    findings = []
    names = {match.group(1) for line in code for match in DECLARATION.finditer(line)}
    if not names:
        return findings
    any_name = "|".join(sorted(names))
    access = re.compile(rf"(?:\+\+|--)\s*(?:\w+(?:\.|->))*({any_name})\b|\b({any_name})\s*(?:\+\+|--|[-+|&^]?=(?!=))")
    for number, line in enumerate(code, 1):
        if "atomic" in line:
            continue
        match = access.search(line)
        if match:
            name = match.group(1) or match.group(2)
            findings.append(Finding(file, number, f"operator on the atomic {name}: call it by name, with its order"))
    return findings


# ---------------------------------------------------------------------------------------------- files

def lengths(file, text):
    count = len(text.splitlines())
    if count > LINES_MAX:
        return [Finding(file, LINES_MAX, f"{count} lines: what is longer than {LINES_MAX} wants to be two things")]
    return []


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


# ---------------------------------------------------------------------------------------------- files that are named

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


# ---------------------------------------------------------------------------------------------- the whole

CONTRACT = [f"src/net/{name}.hpp" for name in ("message", "sink", "packet_store", "endpoint", "transport")]
CONTRACT_LINES_MAX = 180


def contract(root, files):
    """What a transport has to know is short: so many lines of code, comments not counted."""
    lines = [line.strip() for file in CONTRACT if file in files for line in (root / file).read_text().splitlines()]
    code = sum(1 for line in lines if line and not line.startswith("//"))
    if code <= CONTRACT_LINES_MAX:
        return []
    return [Finding(CONTRACT[-1], 1, f"the contract has {code} lines of code; at most {CONTRACT_LINES_MAX}")]


def project_files(root):
    """What git knows or would add; everything but build folders where there is no git."""
    try:
        command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        output = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout.decode()
        files = [file for file in output.split("\0") if file]
    except (OSError, subprocess.CalledProcessError):
        files = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
        files = [file for file in files if not file.startswith(("build", ".git/"))]
    return sorted(file for file in files if (root / file).is_file())


def format_findings(root, files, fix):
    command = shutil.which("clang-format-14")
    if not command:
        return [Finding("tools/tidy.py", 1, "clang-format-14 is not installed; scripts/setup --test installs it")]
    if not files:
        return []
    arguments = ["-i"] if fix else ["--dry-run", "-Werror"]
    run = subprocess.run([command, *arguments, *files], cwd=root, capture_output=True, text=True, timeout=300)
    if run.returncode == 0:
        return []
    findings = {}
    for match in re.finditer(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted", run.stderr, re.MULTILINE):
        findings.setdefault(match.group(1), int(match.group(2)))
    if not findings:
        return [Finding("tools/tidy.py", 1, f"clang-format failed: {run.stderr.strip()}")]
    return [Finding(file, line, "not formatted; tools/tidy.py --fix does it") for file, line in findings.items()]


def check(root, files=None):
    """Everything but the format."""
    files = project_files(root) if files is None else files
    findings = readmes(root, files) + contract(root, files)
    labels = {}
    known = {"/".join(file.split("/")[i:]) for file in files for i in range(file.count("/") + 1)}
    for file in files:
        if not file.endswith((".cpp", ".hpp", ".py")):
            continue
        text = (root / file).read_text()
        findings += lengths(file, text)
        if file.endswith(".py"):
            continue
        findings += layering(file, text) + mentions(file, text, known)
        for check_lines in (tidy_docs.undocumented, tidy_words.misnamed):
            findings += [Finding(file, line, message) for line, message in check_lines(file, text)]
        if file.startswith(("include/", "src/", "programs/", "apps/", "perf/", "examples/", "tests/")):
            findings += accesses(file, text)
            for name, definitions in labels_of(file, text).items():
                labels.setdefault(name, []).extend(definitions)
    return findings + partners(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="format the sources in place")
    arguments = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    files = project_files(root)
    findings = format_findings(root, [file for file in files if file.endswith((".cpp", ".hpp"))], arguments.fix)
    if not arguments.fix:
        findings += check(root, files)
    for finding in findings:
        print(finding)
    if findings:
        print(f"tools/tidy.py: {len(findings)} findings")
        return 1
    print(f"tools/tidy.py: {len(files)} files, nothing to find fault with")
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: BSD-3-Clause
"""Each atomic access spells out its order, and names its partner in a comment or says why it needs none."""

import re
from typing import NamedTuple

from checks.finding import Finding

# How far above an access, in lines, its comment may begin.
REACH = 12

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

# SPDX-License-Identifier: BSD-3-Clause
"""Prepositions as names, and comments that begin with one: each file's number, and each room's, which only fall.

A name says what a thing is (`comm`, `group`, `device()`), not how it stands to its owner (`of`, `in`, `through()`). A comment
is a sentence, or begins with a noun or a verb. Files and rooms that had more than `_LIMITS` when the rule came have their
numbers kept, in a file for each room; `tools/tidy.py --fix` lowers them, and nothing raises them. A file that moves inside
its layer keeps its number.
"""

import re
from collections import Counter, namedtuple
from pathlib import Path

from checks import kept
from checks.finding import Finding

KEPT = "tools/checks/kept_prepositions/"
PRODUCT = ("include/", "src/", "programs/", "apps/", "examples/")
PUBLIC = ("include/", "examples/")
NAMES = set("of in by as at on with through how who one than".split())
# An element at an index, as the standard library has it, a view as another type; and names of the last version.
ALLOWED = re.compile(r"(?:\.|->)\s*at\s*\(|\bas\s*<|\bas\(\) const|\bat\(std::(?:uint64_t|size_t) offset\b|"
                     r"\[\[deprecated\([^\]]*\]\][^;{=]*|\b\w+ \[\[deprecated\(")
KEYWORDS = set("""alignas alignof and asm auto bool break case catch char class concept const const_cast consteval constexpr
constinit continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern
false final float for friend goto if inline int long mutable namespace new noexcept not nullptr operator or override private
protected public register reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch
template this thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
while""".split())
FRAGMENT = re.compile(r"(?:of|in|by|at|as|with|before|after|from|to|for|on|the same|those|where|likewise|elsewhere|beside|"
                      r"behind|beyond|also)\b", re.IGNORECASE)
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
NO_CODE = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#[^\n]*',
                     re.DOTALL | re.MULTILINE)
STRING = re.compile(r'"(?:\\.|[^"\\])*"')
COMMENT = re.compile(r"(?:^|\s)//[/!]?<?\s?(.*)$")

# Names: in 1000 identifiers. Fragments: in 100 comments. One or two are no habit; but in public names.
_LIMITS = {"names": 10, "fragments": 3}
_SCALES = {"names": 1000, "fragments": 100}
FEW = 2

Count = namedtuple("Count", "lines total")  # of what is found: {line: [words]}, and of how many


def names(text):
    """Identifiers that are prepositions, and the number of identifiers."""
    code = NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)
    allowed = {start for each in ALLOWED.finditer(code) for start in range(*each.span())}
    lines, total, number, end = {}, 0, 1, 0
    for found in IDENTIFIER.finditer(code):
        if found.group() in KEYWORDS:
            continue
        total += 1
        if found.group().rstrip("_") in NAMES and found.start() not in allowed:
            number += code.count("\n", end, found.start())
            end = found.start()
            lines.setdefault(number, []).append(found.group())
    return Count(lines, total)


def fragments(text):
    """Comments that begin with a preposition or lean on another one, and the number of comments. A block of whole lines is one."""
    lines, total, is_block = {}, 0, False
    for number, line in enumerate(text.split("\n"), 1):
        is_whole, is_continued = line.lstrip().startswith("//"), is_block
        is_block = is_whole
        comment = COMMENT.search(line if is_whole else STRING.sub('""', line))
        if not comment or not comment[1].strip() or is_whole and is_continued:
            continue
        total += 1
        if FRAGMENT.match(comment[1].strip()):
            lines[number] = [comment[1].strip()[:40]]
    return Count(lines, total)


COUNTS = {"names": names, "fragments": fragments}


def room_of(file):
    """`include/`, and of the others their second folder: `src/coll/`."""
    parts = file.split("/")
    return "include/" if parts[0] == "include" else "/".join(parts[:2 if len(parts) > 2 else 1]) + "/"


def _found(count):
    return sum(map(len, count.lines.values()))


def _limit_of(entry):
    return 0 if entry.startswith(PUBLIC) and entry.endswith(" names") else _LIMITS[entry.split(" ")[1]]


def _rate(entry, count):
    """Rounded up."""
    found = _found(count)
    return -(-_SCALES[entry.split(" ")[1]] * found // max(count.total, 1)) if found > FEW or not _limit_of(entry) else 0


def _measure(texts):
    """{room: {entry: (rate, Count)}}; an entry is a file or the room, and the kind."""
    rooms = {}
    for file, text in texts.items():
        if not file.startswith(PRODUCT) or not file.endswith((".hpp", ".cpp", ".h")):
            continue
        entries = rooms.setdefault(room_of(file), {})
        for kind, count_of in COUNTS.items():
            count = count_of(text)
            entries[f"{file} {kind}"] = (_rate(f"{file} {kind}", count), count)
            _, sums = entries.get(f"{room_of(file)} {kind}", (0, Count({}, 0)))
            sums = Count({**sums.lines, file: [each for line in count.lines.values() for each in line]}, sums.total + count.total)
            entries[f"{room_of(file)} {kind}"] = (_rate(f"{room_of(file)} {kind}", sums), sums)
    return rooms


def _kept_file(room):
    return KEPT + room.strip("/").replace("/", "-") + ".json"


def _moved(before, now):
    """The kept numbers, with those of files that are gone under the file of this name that is new in the room."""
    out = {}
    for entry, number in before.items():
        name, kind = entry.split(" ")
        heirs = [each for each in now if each not in before and each.endswith(f"/{Path(name).name} {kind}")]
        out[heirs[0] if entry not in now and len(heirs) == 1 else entry] = number
    return out


def findings(root, texts):
    """`texts`: {file: text}. Files and rooms above their number."""
    out = []
    for room, entries in _measure(texts).items():
        before = _moved(kept.load(root, _kept_file(room)), entries)
        for entry, (number, count) in entries.items():
            allowed = max(_limit_of(entry), before.get(entry, 0))
            name, kind = entry.split(" ")
            if number <= allowed or (name == room and allowed == 0):  # of each file then
                continue
            shown = "; ".join(f"{line}: {', '.join(found)}" for line, found in [each for each in count.lines.items() if each[1]][:8])
            rule = {"names": f"{number} prepositions in 1000 names, {allowed} allowed: a name is a noun",
                    "fragments": f"{number} % of the comments begin with a preposition, {allowed} allowed: write a sentence, or a "
                                 "name that needs none"}[kind]
            out.append(Finding(name, 1 if name == room else next(iter(count.lines)), f"{rule} ({shown})"))
    return out


def lower(root, texts):
    for room, entries in _measure(texts).items():
        file = _kept_file(room)
        before = kept.load(root, file)
        moved = _moved(before, entries)
        if moved != before:
            kept.store(root, file, moved)
        kept.lower(root, file, {entry: number for entry, (number, _) in entries.items()}, _limit_of)


def summary(texts):
    """A line for each room: prepositions in 1000 names, and which; fragments in 100 comments."""
    out = []
    for room, entries in sorted(_measure(texts).items()):
        for kind, unit in (("names", "in 1000 names are prepositions"), ("fragments", "in 100 comments are fragments")):
            count = entries[f"{room} {kind}"][1]
            most = Counter(each.rstrip("_") for found in count.lines.values() for each in found).most_common(6)
            which = ": " + ", ".join(f"{name} {number}" for name, number in most) if kind == "names" and most else ""
            out.append(f"{_SCALES[kind] * _found(count) / max(count.total, 1):6.1f}  {unit} in {room} "
                       f"({_found(count)} of {count.total}{which})")
    return out

# SPDX-License-Identifier: BSD-3-Clause
"""Names that can be computed: the namespace of a file, the handler of a message, the function of a step."""

import re

from checks.finding import Finding

NAMESPACE = re.compile(r"^\s*namespace (\w+(?:::\w+)*) \{", re.MULTILINE)
# Layers whose namespace differs from their folder.
FOLDER_NAMES = {
    "fiber": "fibers",  # weft::fiber is a class
    "graph": "core",    # states of public classes, which name them weft::core::...
    "coro": "core",
}
# Named in the public headers.
PUBLIC = {"weft", "detail", "this_fiber"}
FORWARD = re.compile(r"(?:\s*(?:class|struct|enum class) [\w: ]+;)*\s*\}")
CASE = re.compile(r"((?:\s*case (?:\w+::)*\w+:)+)\s*return ([^;]*);")
LABEL = re.compile(r"case ((?:\w+::)*)(\w+):")


def namespaces(file, text):
    """The last part of a namespace in src/ is a folder of the file, or the file's stem; one that declares a
    name of another folder alone is left out."""
    parts = file.split("/")
    if parts[0] != "src" or len(parts) < 3:
        return []
    allowed = {*PUBLIC, parts[-1].rsplit(".", 1)[0], *parts[1:-1], FOLDER_NAMES.get(parts[1])}
    return [Finding(file, text.count("\n", 0, found.start(1)) + 1,
                    f"namespace {found[1]}: its last part is the file's name or folder")
            for found in NAMESPACE.finditer(text)
            if found[1] != "std" and found[1].split("::")[-1] not in allowed and not FORWARD.match(text, found.end())]


def handlers(file, text):
    """In core: `wire::x` is handled by `on_x` (of several, by what they have in common), and `step::x` is done by `x`."""
    if not file.startswith("src/core/"):
        return []
    findings = []
    for found in CASE.finditer(text):
        labels = LABEL.findall(found[1])
        kinds = {kind.split("::")[-2] for kind, _ in labels if kind}
        names = [name for _, name in labels]
        called = set(re.findall(r"\w+(?=\()", found[2]))
        line = text.count("\n", 0, found.start(1) + len(found[1]) - len(found[1].lstrip())) + 1
        if kinds == {"wire"} and any(name.startswith("on_") for name in called):
            if not any(f"on_{part}" in called for part in _common(names)):
                findings.append(Finding(file, line, f"wire::{names[0]} is handled by on_{names[0]}"))
        elif kinds == {"step"} and called and not called & set(names):
            findings.append(Finding(file, line, f"step::{names[0]} is done by a function {names[0]}"))
    return findings


def _common(names):
    """All runs of whole words that every name has."""
    def runs(name):
        words = name.split("_")
        return {"_".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, len(words) + 1)}
    shared = set.intersection(*map(runs, names))
    return names if len(names) == 1 else shared

"""Words that names in the library must not be made of, because they say several things or none; for tools/tidy.py."""

import re

WORDS = [
    (re.compile(r"_otherwise$|_anew$"), "the slow twin of a short way is called ..._slow"),
    (re.compile(r"_at_once"), "try_... where it may fail, fast_... where it is the short way of a longer one"),
    (re.compile(r"^(?:known|find|make|cell|copy|fast)_ways?$"), "route, ring, path, direction: what it is"),
    (re.compile(r"^(?:read|write|is|post)_plain"), "inline, default options, non-atomic: what it is"),
    (re.compile(r"^(?:bed|lie_down|stir)_?$"), "the technical verb: sleep, wake"),
]
IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")


def misnamed(file, text):
    """(line, message) of each name in the library's code that one of these words is in; comments are prose."""
    if not file.startswith(("include/", "src/")):
        return
    for number, line in enumerate(text.split("\n"), 1):
        for name in IDENTIFIER.findall(re.sub(r'//.*|"(?:[^"\\]|\\.)*"', "", line)):
            for word, instead in WORDS:
                if word.search(name):
                    yield number, f"name '{name}': say {instead}"

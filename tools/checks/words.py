# SPDX-License-Identifier: BSD-3-Clause
"""Words that names must not be made of, because they say several things or none; and phrases that comments do without.

`what` is no name: say which thing it is. Names of more than four words are sentences, as tests have them, and free.
"""

import re

from checks.finding import Finding

# By the words of a name, split at its underscores.
WORDS = {
    "what": "header, kind, options, arrival: which thing it is",
    "way": "route, ring, protocol, direction", "ways": "routes, rings, directions",
    "place": "index, offset, address, slot, position", "places": "indices, offsets, slots",
    "share": "piece, budget, or which part", "shares": "pieces, parts",
    "plain": "inline, default options, non-atomic",
    "turn": "round, ticket, pass, or which yield", "turns": "rounds, tickets, passes",
    "hand": "cache, batch, or what is held", "fate": "outcome, result",
    "otherwise": "..._slow for the slow twin of a short way", "anew": "..._slow for the slow twin of a short way",
    "bed": "sleep",
}
# In the library alone.
PHRASES = [
    (re.compile(r"_at_once\b"), "try_... where it may fail, fast_... where it is the short way of a longer one"),
    (re.compile(r"^(?:lie_down|stir)_?$"), "the technical verb: sleep, wake"),
]
# Terms of the field, and of the standard library.
ALLOWED = {"in_place", "hand_over"}
SENTENCE_WORDS_MIN = 5

RIDDLES = [
    (re.compile(r"\bwhoever\b", re.IGNORECASE), "name the actor: the sender, the calling thread"),
    (re.compile(r"\bin vain\b", re.IGNORECASE), "say what was not found or not done"),
    (re.compile(r"\b(?:as above|the same as above)\b", re.IGNORECASE), "name the thing"),
    (re.compile(r"\bthat which\b", re.IGNORECASE), "name the thing"),
    (re.compile(r"\bgone wild\b", re.IGNORECASE), "a faulty peer"),
    (re.compile(r"\bthose that\b", re.IGNORECASE), "name the thing"),
    (re.compile(r"\bsomebody\b", re.IGNORECASE), "name the actor"),
]

IDENTIFIER = re.compile(r"\b[A-Za-z_]\w*\b")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def _instead(name, is_library):
    """What a name should say instead, or None."""
    words = [word for word in name.split("_") if word]
    if name in ALLOWED or len(words) >= SENTENCE_WORDS_MIN:
        return None
    for pattern, instead in PHRASES if is_library else []:
        if pattern.search(name):
            return instead
    return next((WORDS[word] for word in words if word in WORDS), None)


def misnamed(file, text):
    """Names in code that one of the words is in."""
    findings = []
    for number, line in enumerate(text.split("\n"), 1):
        code = STRING.sub('""', line).split("//", 1)[0]
        for match in IDENTIFIER.finditer(code):
            name = match.group(0)
            if name == "what" and code[match.end():].startswith("()"):
                continue  # an exception's
            instead = _instead(name, file.startswith(("src/", "include/")))
            if instead:
                findings.append(Finding(file, number, f"name '{name}': say {instead}"))
    return findings


def riddles(file, text):
    """Phrases in comments that a reader stumbles over."""
    findings = []
    for number, line in enumerate(text.split("\n"), 1):
        comment = STRING.sub('""', line).partition("//")[2]
        for phrase, instead in RIDDLES:
            match = phrase.search(comment)
            if match:
                findings.append(Finding(file, number, f"'{match.group(0)}': {instead}"))
    return findings

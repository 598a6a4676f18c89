# SPDX-License-Identifier: BSD-3-Clause
"""One of each helper: what only one file of the library does by itself."""

import re

from checks.finding import Finding

# What may stand in one file alone, and what all others use instead.
ONE_OF_EACH = [
    (re.compile(r"\b(?:steady_clock|system_clock|high_resolution_clock|clock_gettime)\b"), ["src/base/clock.hpp", "src/mpi/clock/counter.cpp"],
     "base::clock, which tests can set"),
    (re.compile(r"\b(?:random_device|getrandom)\b"), ["src/base/random.hpp"], "base::random_word or try_fill_random"),
    (re.compile(r"(?<![\w:])::close\s*\("), ["src/base/descriptor.hpp"], "base::descriptor, which closes it"),
    (re.compile(r"\b(?:std::)?abort\s*\(\s*\)"), ["src/base/misuse.cpp", "src/base/assertion.cpp"],
     "base::misuse or WEFT_ASSERT"),
    (re.compile(r"(?<![_\w])assert\s*\("), [], "WEFT_ASSERT"),
    (re.compile(r"(?:->|\.)suspend\s*\(\s*\)"), ["src/base/of_fiber.cpp"],
     "base::suspend_by, so that the fiber takes along what is its own"),
]


def repeated(file, text):
    """Uses of what another file of the library is there for."""
    findings = []
    if not file.startswith(("src/", "include/")):
        return findings
    for number, line in enumerate(text.split("\n"), 1):
        code = re.sub(r'"(?:[^"\\]|\\.)*"', '""', line).split("//", 1)[0]
        for pattern, homes, instead in ONE_OF_EACH:
            match = pattern.search(code)
            if match and file not in homes:
                findings.append(Finding(file, number, f"{match.group(0).strip()}: use {instead}"))
    return findings


def unowned(file, text):
    """Variables of a thread that don't say whether they mean the thread or the fiber that it runs."""
    findings = []
    if not file.startswith(("src/", "include/")):
        return findings
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        code = line.split("//", 1)[0]
        is_declared = re.search(r"\bthread_local\b", code) and not re.search(r"\w::\w+ = ", code)
        said = " ".join(lines[max(0, number - 3):number]).lower()
        if is_declared and not re.search(r"\bof (?:the|a) (?:thread|fiber)\b", said):
            findings.append(Finding(file, number, "say `of the thread` or `of the fiber`: see src/base/of_fiber.hpp"))
    return findings

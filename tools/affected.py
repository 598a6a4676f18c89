#!/usr/bin/env python3
"""Which tests a change reaches: the targets to build, and a pattern for `ctest -R`.

tools/affected.py [--list] [BASE]    BASE: what to compare with; unless given, where this branch left main

A changed header reaches all files that include it, however indirectly, but not through the headers that include all
(weft/weft.hpp) or nearly all of the library. A changed source reaches its room. A room's tests are those in the folder of
that name, and each test file that is reached itself. Programs, pages, scripts and tools have the script tests of their
name. What lies below all rooms, or is not known here, reaches every test.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([\w./-]+)[">]', re.MULTILINE)
UMBRELLAS = {"include/weft/weft.hpp"}
# Layers and rooms with tests of their own: what their names are in tests, in lower case.
ROOMS = {
    "src/fiber": ["fiber", "suspender"], "src/coro": ["coro", "await", "event_loop", "run_loop"],
    "src/graph": ["graph"], "src/blocking": ["blocking"],
    "src/core/matching": ["matching", "protocol"], "src/core/protocol": ["protocol", "all_operations"],
    "src/core/memory": ["memory", "packet"], "src/core/operation": ["device", "protocol"],
    "src/core/device": ["device", "progress"], "src/core/progress": ["progress"], "src/core/wait": ["wait", "sleep"],
    "src/core/runtime": ["runtime"], "src/core/message": ["protocol"], "src/core/fast": ["protocol", "api"],
    "src/core/api": ["api"], "src/core/door": ["coro", "graph"], "src/boot": ["boot", "pmi1"],
    "src/net/shm": ["net", "shm"], "src/net/ring": ["net", "ring"], "src/net/self": ["net", "transport"],
    "src/net/ofi": ["ofi", "fabric"], "src/net/sim": ["sim"], "src/net/template": ["template"],
}
# Folders whose change reaches the script tests of tests/<name>.
SCRIPTS = {"programs/weft-run": "weft-run", "programs/weft-info": "weft-info", "programs/weft-perf": "weft-perf",
           "apps/kmer": "kmer", "apps/uts": "uts", "examples": "examples", "docs": "docs", "README.md": "docs",
           "tools": "tidy", "scripts": "scripts", "include": "docs"}
PROGRAM_TESTS = {"programs/weft-run": "weft_run", "programs/weft-perf": "perf", "apps/kmer": "kmer", "apps/uts": "uts"}
EVERYTHING = ("CMakeLists.txt", "cmake/", "CMakePresets.json", "src/base", "src/net/", "tests/CMakeLists.txt",
              "tests/support", "src/test")


# Levels that run a second time without the fast paths, and where these and their general twins are.
GENERAL = ("unit", "misuse", "stress", "contract")
FAST_OR_GENERAL = ("src/core", "src/net", "include/weft/detail")


def sources(root):
    found = subprocess.run(["git", "-C", str(root), "ls-files", "--cached", "--others", "--exclude-standard"], check=True,
                           capture_output=True, text=True, timeout=60).stdout.split("\n")
    return [file for file in found if file.endswith((".cpp", ".hpp")) and (root / file).is_file()]


def changed(root, base):
    git = ["git", "-C", str(root)]
    if base is None:
        base = subprocess.run([*git, "merge-base", "HEAD", "main"], capture_output=True, text=True).stdout.strip() or "HEAD"
    run = subprocess.run([*git, "diff", "--name-only", base], capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"affected: git knows no {base}: {run.stderr.strip()}")
    others = subprocess.run([*git, "ls-files", "--others", "--exclude-standard"], check=True, capture_output=True, text=True)
    return sorted(set((run.stdout + others.stdout).split("\n")) - {""})


def reached(texts, files):
    """All files that include one of these, however indirectly, and these."""
    by_name = {}
    for file in texts:
        parts = file.split("/")
        for start in range(len(parts)):
            by_name.setdefault("/".join(parts[start:]), file)
    includers = {}
    for file, text in texts.items():
        for name in INCLUDE.findall(text):
            target = by_name.get(name)
            if target:
                includers.setdefault(target, set()).add(file)
    out, left = set(files), list(files)
    while left:
        file = left.pop()
        for includer in includers.get(file, ()):
            if includer not in out and includer not in UMBRELLAS:
                out.add(includer)
                left.append(includer)
    return out


def suites_of(text):
    """The suites of a GoogleTest source."""
    return set(re.findall(r"^TEST(?:_F|_P)?\(\s*(\w+)", text, re.MULTILINE))


def choose(texts, files):
    """(ctest patterns, build targets, why everything or None)"""
    patterns, targets = set(), set()
    words = set()
    everything = None
    has_twins = any(file.startswith(FAST_OR_GENERAL) for file in files)
    for file in files:
        room = max((name for name in ROOMS if file.startswith(name + "/")), key=len, default=None)
        if room:
            words.update(ROOMS[room])
        elif file.startswith(EVERYTHING) or (file.startswith("src/") and not room):
            everything = everything or file
        for folder, script in SCRIPTS.items():
            if file == folder or file.startswith(folder + "/"):
                patterns.add(rf"^script\.{re.escape(script)}\.")
        for folder, word in PROGRAM_TESTS.items():
            if file.startswith(folder + "/"):
                words.add(word)
        if file.startswith("tests/") and file.endswith("_test.py"):
            folder, name = file.split("/")[1], Path(file).stem
            patterns.add(rf"^script\.{re.escape(folder)}\.{name}$")
        if file.startswith("tests/fuzz/"):
            patterns.add(r"^(script\.)?fuzz")
        if file.startswith("examples/"):
            patterns.add(rf"^example\.{Path(file).stem}$")
    of_change = reached(texts, [file for file in files if file.endswith((".cpp", ".hpp"))])
    # A header of the library reaches the rooms of its includers, too.
    for file in of_change - set(files):
        room = max((name for name in ROOMS if file.startswith(name + "/")), key=len, default=None)
        if room:
            words.update(ROOMS[room])
    for file, text in texts.items():
        parts = file.split("/")
        if parts[0] != "tests" or not file.endswith(".cpp"):
            continue
        is_of_room = any(re.search(rf"(?:^|_){word}", part) for word in words for part in parts[2:])
        if parts[1] == "process":
            if is_of_room or file in of_change:
                patterns.add(rf"^{'(process|general)' if has_twins else 'process'}-{Path(file).stem}\.")
                targets.add(f"process-{Path(file).stem}")
            continue
        suites = suites_of(text)
        if suites and (is_of_room or file in of_change):
            level = parts[1]
            general = r"(general\.)?" if has_twins and level in GENERAL else ""
            patterns.add(rf"^{general}{level}\.(\w+/)?({'|'.join(sorted(suites))})\b")
            targets.update([f"weft-{level}-tests", *([f"weft-{level}-tests-general"] if general else [])])
    for word in words:
        patterns.add(rf"^example\.\w*{word}")
    if any(pattern.startswith((r"^script", r"^example")) for pattern in patterns):
        targets.add("all")
    return patterns, targets, everything


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="show the files, patterns and targets for people")
    parser.add_argument("base", nargs="?")
    arguments = parser.parse_args()
    files = changed(ROOT, arguments.base)
    texts = {file: (ROOT / file).read_text() for file in sources(ROOT)}
    patterns, targets, everything = choose(texts, files)
    if arguments.list:
        print("changed:", *files, sep="\n  ")
        print("every test is reached by", everything) if everything else None
        print("tests:", *sorted(patterns), sep="\n  ")
        print("targets:", *sorted(targets), sep="\n  ")
        return
    # For scripts/test: the targets, then the pattern; `build_tests` and nothing for everything, two empty lines for none.
    print("all build_tests" if everything else " ".join(sorted(targets)))
    print("." if everything else "|".join(sorted(patterns)))


if __name__ == "__main__":
    main()

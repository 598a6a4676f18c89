#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which tests a change reaches: the targets to build, and a pattern for `ctest -R`.

tools/affected.py [--list] [BASE]    BASE: what to compare with; unless given, where this branch left main

A changed file reaches all files that include it, however indirectly. Through weft/weft.hpp, which includes everything, it
reaches the files that mention a class of a reached public header. A source of a layer above core reaches the public headers
that no lower layer includes: those are the layer's. A test is chosen if a file of it is reached, or a file of its subject,
which its first lines name: `subject: PATH...` in the CMakeLists.txt of a room, in a program of tests/process and in a
script. A program of tests/process that names none has as its subject what its includes reach: all that a message passes, and
the layers of its public headers. A script is chosen only if a file of its subject, or its folder's helpers, changed itself.
A change of the way of a message also chooses a few suites of each layer above. What lies below all rooms, or is not known
here, reaches every test.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([\w./-]+)[">]', re.MULTILINE)
SUBJECT = re.compile(r"^(?://|#) subject: +(.+)$", re.MULTILINE)
CLASS = re.compile(r"^(?:enum )?(?:class|struct|namespace|concept) (?:\[\[nodiscard\]\] )?(\w+)(?! *;)", re.MULTILINE)
UMBRELLA = "include/weft/weft.hpp"
COMMON_NAMES = {"weft", "detail", "core", "coll", "fibers", "blocks", "max", "min"}  # their mention says nothing
OF_NO_LAYER = {"include/weft/handler.hpp"}  # whole in itself, whatever includes it
EVERYTHING = ("CMakeLists.txt", "CMakePresets.json", "cmake/", "src/CMakeLists.txt", "tests/CMakeLists.txt", "src/base/", "src/test/")
ABOVE_CORE = ("src/blocking/", "src/graph/", "src/coro/", "src/fiber/", "src/coll/", "src/mpi/")  # each uses those before it
LIBRARY = ("include/", "src/")
# Where fast paths and their general twins are. A room of core's runs again with the library without fast paths.
FAST_OR_GENERAL = ("src/core/", "src/net/", "include/weft/detail/")
# All that a message between processes passes: the subject of a program of tests/process that names none.
OF_PROCESS = ["src/boot", "src/net", "src/core"]
# Suites of layers above that find most faults of the way of a message: {room: suites}.
SMOKE = {"fiber": ("fiber", "fiber_steal", "fiber_stolen_messages"), "coll": ("collectives", "direct_collectives", "long_data"),
         "mpi": ("mpi_point_to_point", "mpi_probes", "mpi_persistent", "mpi_request_threads", "mpi_collectives")}
OF_SMOKE = ("src/core/fast/", "src/core/protocol/")


def git(root, *arguments):
    run = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=60)
    return run.stdout.split("\n")[:-1] if run.returncode == 0 else None


def tree(root):
    """{file: text} of what declares, includes or is a test."""
    files = git(root, "ls-files", "--cached", "--others", "--exclude-standard")
    known = [file for file in files if file.endswith((".cpp", ".hpp", "_test.py", "CMakeLists.txt")) or file == "scripts/instructions"]
    return {file: (root / file).read_text() for file in known if (root / file).is_file()}


def changed(root, base):
    if base is None:
        base = (git(root, "merge-base", "HEAD", "main") or ["HEAD"])[0]
    since = git(root, "diff", "--name-only", "--no-renames", base)
    if since is None:
        sys.exit(f"affected: git knows no {base}")
    return sorted({*since, *git(root, "ls-files", "--others", "--exclude-standard")})


def includers_of(texts):
    """{file: files that include it}; a name is looked for from the folders that the build gives to the compiler."""
    by_name = {}
    for file in texts:
        parts = file.split("/")
        for start in range(len(parts)):
            by_name.setdefault("/".join(parts[start:]), file)
    out = {}
    for file, text in texts.items():
        for name in INCLUDE.findall(text):
            beside = f"{file.rsplit('/', 1)[0]}/{name}"
            target = beside if beside in texts else by_name.get(name)
            if target:
                out.setdefault(target, set()).add(file)
    return out


def closure(includers, files):
    """All files that include one of these, however indirectly."""
    out, left = set(), list(files)
    while left:
        more = includers.get(left.pop(), set()) - out
        out |= more
        left += more
    return out


def headers_of_layer(texts, includers, layer):
    """The public headers that a layer above core includes and no layer below does."""
    def includes(file, folders):
        return any(includer.startswith(folders) for includer in includers.get(file, ()))
    below = ("src/base/", "src/boot/", "src/net/", "src/core/", *ABOVE_CORE[:ABOVE_CORE.index(layer)])
    return [file for file in texts if file.startswith("include/weft/") and file not in {UMBRELLA, *OF_NO_LAYER} and
            "/detail/" not in file and includes(file, layer) and not includes(file, below)]


def reached(texts, files):
    """These files and all that they reach."""
    includers = includers_of(texts)
    of_layer = [header for layer in ABOVE_CORE if any(file.startswith(layer) for file in files)
                for header in headers_of_layer(texts, includers, layer)]
    out, left = set(files), list(files) + of_layer
    out.update(of_layer)
    behind = closure(includers, [UMBRELLA])
    while left:
        file = left.pop()
        more = includers.get(file, set()) - {UMBRELLA}
        if UMBRELLA in includers.get(file, ()):
            names = set(CLASS.findall(texts.get(file, ""))) - COMMON_NAMES
            mention = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b") if names else None
            more |= {each for each in behind if mention and mention.search(texts[each])}
        if file.startswith("tests/") and file.endswith(".cpp") and file[:-3] + "hpp" in texts:
            more.add(file[:-3] + "hpp")  # what tests share
        left += more - out
        out |= more
    return out


def subject_of(text, default=()):
    """The files and folders that the first lines of a test name."""
    return [path for line in SUBJECT.findall(text) for path in line.split()] or list(default)


def lies_in(files, paths):
    return any(file == path or file.startswith(path.rstrip("/") + "/") for path in paths for file in files)


def choose(texts, files):
    """(ctest patterns, build targets, the file that reaches everything or None)"""
    patterns, targets = set(), set()
    everything = next((file for file in files if file.startswith(EVERYTHING) and not file.endswith(".md")), None)
    of_change = reached(texts, files)
    general = any(file.startswith(FAST_OR_GENERAL) for file in files)
    if any(file.startswith(OF_SMOKE) and not file.endswith(".md") for file in files):
        patterns |= {rf"^{room}[.](.*/)?({'|'.join(suites)})$" for room, suites in SMOKE.items()}
        targets |= {f"weft-{room}-tests" for room in SMOKE}
    for file, text in texts.items():
        folder, _, name = file.rpartition("/")
        stem = name.rsplit(".", 1)[0]
        room = folder[len("tests/"):]
        if file.startswith("tests/") and name == "CMakeLists.txt" and "weft_test_room(" in text:
            own = [each for each in of_change if each.rpartition("/")[0] == folder and not each.endswith((".md", ".py"))]
            if own or lies_in(of_change, subject_of(text)):
                is_general = general and "general" in text
                patterns.add(rf"^{'(general[.])?' if is_general else ''}{room.replace('/', '[.]')}[.]")
                target = f"weft-{room.replace('/', '-')}-tests"
                targets |= {target, f"{target}-general"} if is_general else {target}
        elif folder == "tests/process" and name.endswith(".cpp") and re.search(r"^// by script", text, re.MULTILINE) is None:
            if file in of_change or lies_in(of_change, subject_of(text, OF_PROCESS)):
                patterns.add(rf"^({'process|general' if general else 'process'})-{stem}[.]")
                targets |= {f"process-{stem}", "weft-run"} | ({f"general-{stem}"} if general else set())
        elif folder == "examples" and file in of_change:
            patterns.add(rf"^example[.]{stem}$")
            targets |= {f"example-{stem}", "weft-run"}
        elif name.endswith("_test.py"):
            helpers = [each for each in files if each.rpartition("/")[0] == folder and each.endswith(".py") and
                       not each.endswith("_test.py")]
            if file in files or helpers or lies_in(files, subject_of(text)):
                patterns.add(rf"^script[.]{folder.split('/')[-1]}[.]{stem}$")
                targets |= {"all", "build_tests"} if name == "seeds_test.py" else {"all"}
                targets |= {f"process-{each}" for each in re.findall(r"tests/process/(\w+)\b(?!\.)", text)}
        elif file == "scripts/instructions" and lies_in(files, [file, *subject_of(text)]):
            patterns.add("^instructions$")
            targets.add("all")
    return patterns, targets, everything


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="show the files, patterns and targets for people")
    parser.add_argument("base", nargs="?")
    arguments = parser.parse_args()
    files = changed(ROOT, arguments.base)
    patterns, targets, everything = choose(tree(ROOT), files)
    if arguments.list:
        print("changed:", *files, sep="\n  ")
        print("every test is reached by", everything) if everything else None
        print("tests:", *sorted(patterns), sep="\n  ")
        print("targets:", *sorted(targets), sep="\n  ")
        return
    # For scripts/test: the targets, then the pattern; `build_tests` and all for everything, two empty lines for none.
    print("all build_tests" if everything else " ".join(sorted(targets)))
    print("." if everything else "|".join(sorted(patterns)))


if __name__ == "__main__":
    main()

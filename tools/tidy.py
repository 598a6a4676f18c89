#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks what the compiler does not: format here, and in checks/ layers, labels of atomic accesses, READMEs, licenses and
lengths of files, what public headers say of each function, what names are made of, and that there is one of each helper.

tools/tidy.py          checks everything; prints `file:line: message` for each finding
tools/tidy.py --fix    formats the sources with clang-format, and lowers kept numbers (of riddle words, prepositions, members), instead
tools/tidy.py --words  shows by rooms and pages the riddle words in 1000 words, the prepositions in 1000 names, the comments that
                       begin with one in 100, and the largest classes
"""

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
from checks import algorithms, atomics, docs, files as file_checks, helpers, layers, members, names as name_checks, pages, plainness, prepositions, words  # noqa: E402
from checks.finding import Finding  # noqa: E402


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


# Folders of C++ that is checked like the library.
CODE = ("include/", "src/", "programs/", "apps/", "perf/", "examples/", "tests/")


def check(root, files=None):
    """Everything but the format."""
    files = project_files(root) if files is None else files
    findings = file_checks.readmes(root, files) + file_checks.contract(root, files) + layers.unreached(root, files)
    findings += layers.through_the_door(root, files) + layers.as_built(root) + pages.layers_as_built(root)
    labels = {}
    known = {"/".join(file.split("/")[i:]) for file in files for i in range(file.count("/") + 1)}
    texts = {file: (root / file).read_text() for file in files if file.endswith((".cpp", ".hpp", ".py", ".md"))}
    names = {"weft"}.union(*(file_checks.identifiers(texts[file]) for file in texts if file.endswith(("pp", ".py"))))
    for file, text in texts.items():
        if not file.endswith(".py"):
            findings += file_checks.qualified_names(file, text, names)
        if file.endswith(".md"):
            continue
        findings += file_checks.lengths(file, text)
        if file.endswith(".py"):
            continue
        findings += file_checks.mentions(file, text, known) + file_checks.functions(file, text)
        for check_file in (layers.layering, docs.undocumented, helpers.repeated, helpers.unowned,
                           name_checks.namespaces, name_checks.handlers):
            findings += check_file(file, text)
        if file.startswith(CODE):
            findings += words.misnamed(file, text) + words.riddles(file, text) + atomics.accesses(file, text)
            for name, definitions in atomics.labels_of(file, text).items():
                labels.setdefault(name, []).extend(definitions)
    findings += plainness.findings(root, texts) + prepositions.findings(root, texts) + members.findings(root, texts)
    return findings + atomics.partners(labels) + algorithms.findings(texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fix", action="store_true", help="format the sources in place")
    parser.add_argument("--words", action="store_true", help="show riddle words, prepositions as names, and fragments, by rooms")
    arguments = parser.parse_args()
    root = Path(__file__).resolve().parent.parent
    files = project_files(root)
    texts = {file: (root / file).read_text() for file in files if plainness.limit_of(file)}
    if arguments.words:
        print("\n".join(plainness.summary(texts) + prepositions.summary(texts) + members.largest(texts)))
        return 0
    if arguments.fix:
        plainness.lower(root, texts)
        prepositions.lower(root, texts)
        members.lower(root, texts)
        algorithms.make(root, {file: (root / file).read_text() for file in files if file.endswith((".cpp", ".hpp"))})
    findings = format_findings(root, [file for file in files if file.endswith((".cpp", ".hpp"))], arguments.fix)
    if not arguments.fix:
        findings += check(root, files) + file_checks.licenses(root, files)
    for finding in findings:
        print(finding)
    if findings:
        print(f"tools/tidy.py: {len(findings)} findings")
        return 1
    print(f"tools/tidy.py: {len(files)} files, nothing to find fault with")
    return 0


if __name__ == "__main__":
    sys.exit(main())

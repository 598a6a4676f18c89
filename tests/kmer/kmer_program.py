# SPDX-License-Identifier: BSD-3-Clause
"""Runs weft-kmer on several ranks, and counts k-mers the slow way to compare with."""

import collections
import gzip
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_KMER = BUILD / "bin/weft-kmer"
LAUNCHERS = {"weft-run": [BUILD / "bin/weft-run", "-n"]}
if shutil.which("mpiexec.hydra"):
    LAUNCHERS["hydra"] = ["mpiexec.hydra", "-n"]
# ThreadSanitizer doesn't see what another process does between two threads of this one: a packet that comes back and is
# used by the next thread looks like a race. There ranks are threads of one process (tests/programs/kmer/kmer_job_test.cpp).
CACHE = BUILD / "CMakeCache.txt"
RANKS_MAX = 1 if CACHE.exists() and "WEFT_SANITIZE:STRING=thread" in CACHE.read_text() else 1000
# Reads that come with packages of the distribution.
SPADES = sorted(Path("/usr/share/spades/test_dataset").glob("ecoli_1K_?.fq.gz"))
UNICYCLER = sorted(Path("/usr/share/unicycler-data/sample_data").glob("short_reads_?.fastq.gz"))
COMPLEMENT = str.maketrans("ACGT", "TGCA")
# Sanitizers make everything slower; a run that hangs is stopped in any case.
RUN_TIMEOUT_S = 120


def run(*arguments, ranks=1, launcher="weft-run", stdin=subprocess.DEVNULL, **options):
    """weft-kmer with `ranks` ranks, or as many as can be tested. Alone it needs no launcher."""
    ranks = min(ranks, RANKS_MAX)
    command = [WEFT_KMER, *arguments]
    if ranks > 1 or launcher != "weft-run":
        command = [*LAUNCHERS[launcher], ranks, *command]
    return subprocess.run([str(part) for part in command], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=RUN_TIMEOUT_S, **options)


def count_slowly(sequences, k, strand=False):
    counts = collections.Counter()
    for run_of_bases in (bases for sequence in sequences for bases in re.findall("[ACGT]+", sequence.upper())):
        kmers = [run_of_bases[at:at + k] for at in range(len(run_of_bases) - k + 1)]
        if not strand:
            other = run_of_bases.translate(COMPLEMENT)[::-1]
            kmers = map(min, kmers, reversed([other[at:at + k] for at in range(len(other) - k + 1)]))
        counts.update(kmers)
    return counts


def read_counts(path):
    lines = Path(path).read_text().splitlines()
    counts = {kmer: int(count) for kmer, count in (line.split("\t") for line in lines)}
    assert len(counts) == len(lines), "a k-mer has two lines"
    return counts


def read_histogram(path):
    return [tuple(map(int, line.split(" "))) for line in Path(path).read_text().splitlines()]


def known_histogram(reads, k):
    """The histogram of SPADES or UNICYCLER that other programs find."""
    return read_histogram(SOURCE / f"tests/kmer/known/{reads}_k{k}.histo")


def read_fastq(path):
    """The sequences of a gzip file."""
    with gzip.open(path, "rt") as file:
        return file.read().splitlines()[1::4]


def histogram_of(counts):
    """What `read_histogram` gives for k-mers with these counts, as far as the file has a line for each count."""
    return sorted(collections.Counter(counts.values()).items())


def summary(result):
    """The first number of each line of the summary by its name."""
    lines = [line.split("  ", 1) for line in result.stdout.decode().splitlines() if "  " in line]
    return {name: value.split()[0] for name, value in lines}


@unittest.skipUnless(WEFT_KMER.exists() and LAUNCHERS["weft-run"][0].exists(), "weft-kmer or weft-run is not built")
class KmerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs under weft-run over libfabric, and reads what tests/process/fabric.cpp says."""

import os
import re
import subprocess
from pathlib import Path

SOURCE = Path(os.environ.get("TEST_SOURCE_DIR", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("TEST_BUILD_DIR", SOURCE / "build"))
WEFT_RUN = BUILD / "bin/weft-run"
PROCESS = BUILD / "tests/process"
SECONDS_MAX = 900  # for one run, far above what any takes
# What tests/process/fabric.cpp sends to each rank.
MESSAGES, BYTES = 100, 1000
CACHE = BUILD / "CMakeCache.txt"
SANITIZED = bool(CACHE.exists() and re.search(r"^WEFT_SANITIZE:\w+=.+$", CACHE.read_text(), re.MULTILINE))


def clean_environment():
    """Without what others have set for Weft, but for the patience that CMake gives to tests."""
    patience = ("WEFT_STUCK_AFTER", "WEFT_BOOT_TIMEOUT_S")
    return {k: v for k, v in os.environ.items() if k in patience or not k.startswith(("PMI", "WEFT_", "FI_", "GTEST_"))}


def remove_what_the_dead_left():
    """Provider shm of libfabric names its file after its process, and whoever is killed leaves it: the next process with
    that number finds it, takes itself for its owner, and is told that it is busy."""
    for file in Path("/dev/shm").glob("[0-9]*:[0-9]*:[0-9]*"):
        try:
            os.kill(int(file.name.split(":")[0]), 0)
        except ProcessLookupError:
            file.unlink(missing_ok=True)
        except (OSError, ValueError):
            pass  # alive, and another user's


def run(ranks, *command, prefix=(), **variables):
    remove_what_the_dead_left()
    # A library that libfabric is linked with else leaves a file where a program aborts.
    environment = clean_environment() | {"WEFT_TEST_RANKS": str(ranks), "IPATH_NO_BACKTRACE": "1"} | variables
    return subprocess.run([*map(str, prefix), str(WEFT_RUN), "-n", str(ranks), *map(str, command)], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=SECONDS_MAX)


def fabric_counts(result):
    """By rank: messages and bytes that it sent through the fabric."""
    found = re.findall(r"rank (\d+) fabric_messages (\d+) fabric_bytes (\d+)", result.stdout)
    return {int(rank): (int(messages), int(bytes_)) for rank, messages, bytes_ in found}


def providers_here():
    told = subprocess.run([BUILD / "bin/weft-info"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          timeout=600, check=True).stdout
    return [line.split(":", 1)[1].strip() for line in told.splitlines() if line.strip().startswith("ofi:")]

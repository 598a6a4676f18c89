# SPDX-License-Identifier: BSD-3-Clause
"""What a check says."""

from typing import NamedTuple


class Finding(NamedTuple):
    file: str
    line: int
    message: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.message}"

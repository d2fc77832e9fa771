"""Official parts of data sets: their usual names, and the role that each has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROLES: Final = {
    "train": "train",
    "training": "train",
    "val": "development",
    "valid": "development",
    "validation": "development",
    "dev": "development",
    "development": "development",
    "test": "test",
    "testing": "test",
}
"""Role of a part by its name: train, development or test."""


def part_of_file(file: Path) -> str:
    """The part that a file's or its folder's name begins with; "" where it begins with none.

    >>> part_of_file(Path("data/train-00000-of-00001.parquet")), part_of_file(Path("data/faces.parquet"))
    ('train', '')
    """
    for name in (re.split(r"[-_.]", file.stem)[0], file.parent.name):
        if name in ROLES:
            return name
    return ""

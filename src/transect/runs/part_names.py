"""The names of the parts of a run's tables and of their digests, from the run's folder, with "/" between folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

PART: Final = re.compile(r"(?:.*/)?part-\d{5,}\.parquet")
DIGEST: Final = re.compile(r"(?:.*/)?\.digests/.+\.sha256")
"""Names from a run's folder, or from one above it."""


def part(table: str, index: int) -> str:
    """The name of a part.

    >>> part("predictions/ours", 3)
    'predictions/ours/part-00003.parquet'
    """
    return f"{table}/part-{index:05d}.parquet"


def digest(name: str) -> str:
    """The name of the SHA-256 of a part, by the name of the part.

    >>> digest("predictions/ours/part-00003.parquet")
    '.digests/predictions/ours/part-00003.sha256'
    """
    return f".digests/{name.removesuffix('.parquet')}.sha256"


def tables_of(slug: str, *, in_words: bool, coded: bool = False) -> tuple[str, ...]:
    """The tables of a target's answers, by its folder's name. coded: whether a judge or functions look at its texts.

    >>> tables_of("ours-hire", in_words=True)
    ('predictions/ours-hire', 'answers/ours-hire')
    """
    said = [f"answers/{slug}"] if in_words else []
    return (f"predictions/{slug}", *said, *([f"coded/{slug}"] if in_words and coded else []))


def is_coded(facts: Mapping[str, Any]) -> bool:
    """Whether a target's description says that a judge model or a user's functions look at its texts.

    >>> is_coded({"asked_in_words": {}, "judge": {"name": "vlm:judge"}})
    True
    """
    return bool(facts.get("judge") or facts.get("scorers"))


def pairs_table(slug: str) -> str:
    """The table of what was said about two images at once, by the folder's name of model and question.

    >>> pairs_table("ours-trusted")
    'pairs/ours-trusted'
    """
    return f"pairs/{slug}"

"""The parts of a run on object storage, and their digests, by name with the SHA-256 of each: for its manifest."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from transect.runs import mounts
from transect.runs.mounts import Mount

_PART: Final = re.compile(r"(.*/)?part-\d{5,}\.parquet")
_DIGEST: Final = re.compile(r"((?:.*/)?)\.digests/(.+)\.sha256")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_AT_ONCE: Final = 8


def stated(folder: Path) -> dict[str, str]:
    """As the run stored them: a part's SHA-256 stands in its digest, and no part is fetched; none on this machine.

    A part without a digest that reads is fetched. Names begin at the folder.
    """
    if (found := mounts.of(folder)) is None:
        return {}
    mount, below = found
    names = _names(mount, below)
    digests = [name for name in names if _DIGEST.fullmatch(name)]
    contents = dict(zip(digests, _mapped(lambda name: _read(mount, below, name), digests), strict=True))
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    texts = {_part_of(name): content.decode("ascii", errors="replace") for name, content in contents.items()}
    parts = [name for name in names if _PART.fullmatch(name)]
    unstated = [name for name in parts if not _SHA256.fullmatch(texts.get(name, ""))]
    known = {name: texts[name] for name in parts if name not in set(unstated)}
    return sums | known | _sums(mount, below, unstated)


def found(folder: Path) -> dict[str, str]:
    """As they are now: every part is fetched, eight at once; none on this machine. Names begin at the folder."""
    if (place := mounts.of(folder)) is None:
        return {}
    mount, below = place
    return _sums(mount, below, _names(mount, below))


def _names(mount: Mount, below: str) -> list[str]:
    inside = f"{below}/" if below else ""
    names = (name.removeprefix(inside) for name, _ in mount.store.listed(below))
    return sorted(name for name in names if _PART.fullmatch(name) or _DIGEST.fullmatch(name))


def _part_of(digest: str) -> str:
    """The name of the part that a digest is of.

    >>> _part_of("studies/a/.digests/predictions/ours/part-00003.sha256")
    'studies/a/predictions/ours/part-00003.parquet'
    """
    return _DIGEST.sub(r"\1\2.parquet", digest)


def _sums(mount: Mount, below: str, names: list[str]) -> dict[str, str]:
    sums = _mapped(lambda name: hashlib.sha256(_read(mount, below, name)).hexdigest(), names)
    return dict(zip(names, sums, strict=True))


def _read(mount: Mount, below: str, name: str) -> bytes:
    return mount.read(f"{below}/{name}" if below else name)


def _mapped(work: Callable[[str], mounts.T], names: list[str]) -> list[mounts.T]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, names))

"""The parts of a run on object storage, and their digests: how they are written, and the SHA-256 of each by name."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Final

from transect.errors import RunFolderError
from transect.runs import mounts
from transect.runs.mounts import Mount
from transect.runs.part_names import DIGEST, PART, part_of

_SHA256: Final = re.compile(r"[0-9a-f]{64}")


def write(mount: Mount, part: str, digest: str, content: bytes) -> None:
    """Write a part where there is none, by names in the mount; its digest first: a part that is there has one.

    A digest that is there already is that of a part that was never finished, of a run that was killed between the two,
    or that of another run, which writes at the same time. It is replaced only where no part is there, by the run that
    holds the folder; should the other's part appear all the same, its digest is put back. Raises RunFolderError where
    another run writes here.
    """
    stated = hashlib.sha256(content).hexdigest().encode()
    earlier = None
    if not mount.create(digest, stated):
        earlier = mount.read(digest)
        mount.confirm(part)
        if mount.is_stored(part):
            raise _of_another(mount, part)
        mount.put(digest, stated)
    if not mount.create(part, content):
        if earlier is not None:
            mount.put(digest, earlier)
        raise _of_another(mount, part)


def _of_another(mount: Mount, part: str) -> RunFolderError:
    return RunFolderError(
        f"{mount.place(part)}: expected no such part, found one with another content; another run writes here: "
        "choose another --out"
    )


def stated(folder: Path) -> dict[str, str]:
    """As the run stored them: a part's SHA-256 stands in its digest, and no part is fetched; none on this machine.

    A part without a digest that reads is fetched. Names begin at the folder.
    """
    if (found := mounts.of(folder)) is None:
        return {}
    mount, below = found
    names = _names(mount, below)
    digests = [name for name in names if DIGEST.fullmatch(name)]
    read = mounts.mapped(folder, lambda name: _read(mount, below, name), digests)
    contents = dict(zip(digests, read, strict=True))
    sums = {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    texts = {part_of(name): content.decode("ascii", errors="replace") for name, content in contents.items()}
    parts = [name for name in names if PART.fullmatch(name)]
    known = {name: texts[name] for name in parts if _SHA256.fullmatch(texts.get(name, ""))}
    return sums | known | _sums(folder, mount, below, [name for name in parts if name not in known])


def found(folder: Path) -> dict[str, str]:
    """As they are now: every part is fetched, eight at once; none on this machine. Names begin at the folder."""
    if (place := mounts.of(folder)) is None:
        return {}
    mount, below = place
    return _sums(folder, mount, below, _names(mount, below))


def _names(mount: Mount, below: str) -> list[str]:
    inside = f"{below}/" if below else ""
    names = (name.removeprefix(inside) for name, _ in mount.store.listed(below))
    return sorted(name for name in names if PART.fullmatch(name) or DIGEST.fullmatch(name))


def _sums(folder: Path, mount: Mount, below: str, names: list[str]) -> dict[str, str]:
    sums = mounts.mapped(folder, lambda name: hashlib.sha256(_read(mount, below, name)).hexdigest(), names)
    return dict(zip(names, sums, strict=True))


def _read(mount: Mount, below: str, name: str) -> bytes:
    return mount.read(f"{below}/{name}" if below else name)

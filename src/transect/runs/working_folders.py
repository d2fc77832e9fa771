"""Working folders of this machine for runs whose folder lies on object storage.

What is written there is stored first. Opening an address lists the storage and fetches small files; parts of tables
are fetched when they are read first. The folder goes when the process ends; messages call it by its address.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, final

from transect.errors import BadInput, RunFolderError
from transect.runs import bounds, object_storage
from transect.runs.addresses import checked, is_address
from transect.runs.layout import DIGEST, PART, TEMPORARY
from transect.texts import call

if TYPE_CHECKING:
    from transect.runs.locks import Claim


Wanted: TypeAlias = Callable[[str], bool]
"""Whether a small file of this name is fetched when its folder is opened."""

MOST_NAMES: Final = 4_000_000
"""Objects below an address: four for 256 images, as an audit of one target makes them."""
MOST_FILES: Final = 20_000
LARGEST: Final = 1 << 28
"""Small files that are fetched when an address is opened, and bytes of one and of all of them together."""
_LONGEST_DIGEST: Final = 256
_CLAIMS: Final = re.compile(r"(?:.*/)?\.claims/.+")
_SEGMENT: Final = re.compile(r"[^/\\\x00-\x1f\x7f]{1,200}")
_DEEPEST: Final = 12
_AT_ONCE: Final = 8
"""Objects that are fetched at once."""

_mounts: dict[Path, Mount] = {}


def opened(place: str | Path, wanted: Wanted = lambda _name: True) -> Path:
    """The folder of a place: itself, or of an address a working folder with its small files, those `wanted`."""
    if not is_address(place):
        return Path(place)
    address = checked(place)
    mount = next((mount for mount in _mounts.values() if mount.store.address == address), None) or _mounted(address)
    mount.refresh("", wanted)
    return mount.folder


def check_folder(place: str | Path) -> None:
    """Raises BadInput, before any work, where a folder to write is a file or below one."""
    if not is_address(place):
        found = next((each for each in (Path(place), *Path(place).parents) if each.exists()), Path())
        if not found.is_dir():
            raise BadInput(f"{place}: expected a folder to write, got the file {found}; choose another")


def _mounted(address: str) -> Mount:
    store = object_storage.Store(address)
    above = Path(tempfile.mkdtemp(prefix="transect-")).resolve()
    folder = above / (address.rpartition("/")[2] or "run")
    folder.mkdir()
    if not _mounts:
        atexit.register(_close_own, os.getpid())
    _mounts[folder] = Mount(store, folder)
    call(str(folder), address)
    return _mounts[folder]


def mount_of(path: Path) -> tuple[Mount, str] | None:
    """The mount that a path lies in and its name there, "" for the folder itself; None for a path of this machine."""
    if not _mounts:
        return None
    path = path.absolute()
    for place in (path, *path.parents):
        if place in _mounts:
            name = path.relative_to(place).as_posix()
            return _mounts[place], "" if name == "." else name
    return None


def name_of(path: Path) -> str:
    """What a path is called: the address of what it stands for, else itself."""
    found = mount_of(path)
    return str(path) if found is None else found[0].store.place(found[1])


def display_name(place: str | Path) -> str:
    """What a sentence calls a run: its address, else the name of its folder, without those that it lies in.

    >>> display_name("/home/me/runs/smile"), display_name("s3://bucket/smile")
    ('smile', 's3://bucket/smile')
    """
    name = str(place) if is_address(place) else name_of(Path(place))
    return name if is_address(name) else Path(name).absolute().name or name


def exists(path: Path) -> bool:
    """Whether a part or a digest is there, in the folder or on its storage."""
    return path.exists() or ((found := mount_of(path)) is not None and found[0].has(found[1]))


def fetch(paths: Iterable[Path]) -> None:
    """Fetch parts and digests that lie on storage alone, several at once."""
    found = [place for path in paths if (place := mount_of(path)) and not path.exists()]
    if found:
        found[0][0].fetch([name for mount, name in found if mount.has(name)])


def fetch_parts_below(folder: Path) -> None:
    """Fetch every part and digest below a folder that lies on storage alone."""
    if found := mount_of(folder):
        mount, below = found
        mount.fetch([name for name in mount.parts_below(below) if not (mount.folder / name).exists()])


def keep(path: Path, written: Path) -> None:
    """Store what was `written` as the file `path`, before it lies there. Parts and digests are left to `keep_part`."""
    if (found := mount_of(path)) and not _is_of_a_part(found[1]):
        found[0].put(found[1], written.read_bytes())


def keep_part(part: Path, digest: Path, content: bytes) -> None:
    """Store a part and its digest, before they lie there."""
    if (found := mount_of(part)) and (beside := mount_of(digest)):
        found[0].put_part(found[1], beside[1], content)


def discard(path: Path) -> None:
    """Delete a file of a run folder, if it is there: on the storage first, so that what is not here is not there."""
    if path.exists() and (found := mount_of(path)):
        mount, name = found
        mount.delete(name)
    path.unlink(missing_ok=True)


def discard_folder(path: Path) -> None:
    """Delete a folder in a run folder with all that it holds, if it is there; on the storage first."""
    if found := mount_of(path):
        mount, below = found
        for name in [name for name, _ in mount.store.listed(below)]:
            mount.delete(name)
    if path.is_dir():
        shutil.rmtree(path)


def close_all() -> None:
    """Delete the working folders of addresses, and free what this process holds on the storage."""
    while _mounts:
        folder, mount = _mounts.popitem()
        for claim in list(mount.claims):
            claim.release()
        shutil.rmtree(folder.parent, ignore_errors=True)


def _close_own(process: int) -> None:
    """At the end of a process, but not of one that was forked from it."""
    if os.getpid() == process:
        close_all()


@final
class Mount:
    """A working folder and the storage that it stands for. claims: those that this process holds in it."""

    def __init__(self, store: object_storage.Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.claims: list[Claim] = []
        self._parts: set[str] = set()  # of parts and digests, as last listed or written since
        self._marks: dict[str, str] = {}  # of what lies in the folder as it is on the storage

    def has(self, name: str) -> bool:
        """Whether a part or a digest was on the storage when it was last listed, or was written since."""
        return name in self._parts

    def parts_below(self, below: str) -> list[str]:
        """The names of parts and digests that `has` knows, below a name."""
        return [name for name in self._parts if name.startswith(_inside(below))]

    def put(self, name: str, content: bytes) -> None:
        """Write an object, in place of an earlier one. Raises RunFolderError where another run has taken over."""
        self._check(name)
        self._marks[name] = self.store.put(name, content)

    def put_part(self, name: str, digest: str, content: bytes) -> None:
        """Write a part where there is none; its digest first: a part that is there has one.

        A digest that is there already is that of a part that was never finished, of a run that was killed between the
        two, or that of another run, which writes at the same time. It is replaced only where no part is there, by the
        run that holds the folder; should the other's part appear all the same, its digest is put back.
        """
        stated, earlier = hashlib.sha256(content).hexdigest().encode(), None
        self._check(name)
        if (mark := self.store.create(digest, stated)) is None:
            earlier = self.store.read(digest, _LONGEST_DIGEST)
            for claim in self.claims:
                claim.beat()
            self._check(name)
            if self._is_stored(name):
                raise self._of_another(name)
            mark = self.store.put(digest, stated)
        self._marks[digest] = mark
        if (mark := self.store.create(name, content)) is None:
            if earlier is not None:
                self.store.put(digest, earlier)
            raise self._of_another(name)
        self._marks[name] = mark
        self._parts |= {name, digest}

    def delete(self, name: str) -> None:
        """Delete an object, if there is one."""
        self._check(name)
        self.store.delete(name)
        self._parts.discard(name)

    def fetch(self, names: Iterable[str]) -> None:
        """Fetch objects, several at once; those that are no longer there stay away."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(self._fetch, names):
                pass

    def refresh(self, below: str, wanted: Wanted = lambda _name: True) -> None:
        """List what is on the storage, fetch small files that changed, and delete what is not as it is there.

        Where this process holds a claim, its own files are the latest, and its log is not stored yet: they stay.
        """
        small, parts = self._listing(below)
        self._parts = {name for name in self._parts if not name.startswith(_inside(below))} | parts.keys()
        there = small | parts
        for path in list((self.folder / below).rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            as_listed = name in there and self._marks.get(name) == there[name].mark
            held = any(claim.covers(name) for claim in self.claims)
            if path.is_file() and not as_listed and not name.endswith(TEMPORARY) and not held:
                path.unlink(missing_ok=True)
        missing = [name for name in small if wanted(name) and not (self.folder / name).is_file()]
        object_storage.check_size(self.store.address, sum(small[name].size for name in missing), LARGEST)
        self.fetch(missing)
        for name in missing:
            if (self.folder / name).is_file():
                self._marks[name] = small[name].mark
                os.utime(self.folder / name, (small[name].changed.timestamp(),) * 2)
        self._marks |= {name: listed.mark for name, listed in parts.items() if not (self.folder / name).exists()}

    def _listing(self, below: str) -> tuple[dict[str, object_storage.Listed], dict[str, object_storage.Listed]]:
        """Small files, and parts with their digests, by name."""
        small: dict[str, object_storage.Listed] = {}
        parts: dict[str, object_storage.Listed] = {}
        for count, (name, listed) in enumerate(self.store.listed(below)):
            if count >= MOST_NAMES or len(small) > MOST_FILES:
                raise BadInput(
                    f"{self.store.place(below)}: expected a run or a folder of runs with at most {MOST_FILES} small "
                    "files, found more; give the address of one run"
                )
            if _is_safe(name) and not _CLAIMS.fullmatch(name):
                (parts if _is_of_a_part(name) else small)[name] = listed
        return small, parts

    def _fetch(self, name: str) -> None:
        path = self.folder / name
        most = bounds.allowed(0) if PART.fullmatch(name) else _LONGEST_DIGEST if DIGEST.fullmatch(name) else LARGEST
        try:
            content = self.store.read(name, most)
        except FileNotFoundError:
            return  # deleted since it was listed
        temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}{TEMPORARY}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(content)
            temporary.replace(path)
        except OSError:
            raise BadInput(
                f"{self.store.place(name)}: expected a file or a folder of that name, found both; delete one"
            ) from None

    def _is_stored(self, name: str) -> bool:
        try:
            self.store.changed(name)
        except FileNotFoundError:
            return False
        return True

    def _check(self, name: str) -> None:
        for claim in self.claims:
            claim.check(name)

    def _of_another(self, name: str) -> RunFolderError:
        return RunFolderError(
            f"{self.store.place(name)}: this part exists with different content; another run writes here: choose "
            "another --out"
        )


def _is_of_a_part(name: str) -> bool:
    return bool(PART.fullmatch(name) or DIGEST.fullmatch(name))


def _inside(below: str) -> str:
    return f"{below}/" if below else ""


def _is_safe(name: str) -> bool:
    """Whether a name can be one of a file below a folder, and of nothing else; others are no files of a run."""
    segments = name.split("/")
    return len(segments) <= _DEEPEST and all(part not in (".", "..") and _SEGMENT.fullmatch(part) for part in segments)

"""Folders of this machine that stand for folders on object storage.

The small files of a run lie in both places: they are fetched when an address is opened, and stored as they are written.
The parts of its tables are on the storage alone. A folder goes when the process ends; messages call it by its address.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, final

from transect.errors import BadInput
from transect.runs import bounds, stores
from transect.runs.addresses import checked, is_address
from transect.runs.part_names import PART
from transect.runs.places import TEMPORARY
from transect.texts import call

if TYPE_CHECKING:
    from transect.runs.claims import Claim

S = TypeVar("S")
T = TypeVar("T")
Wanted: TypeAlias = Callable[[str], bool]
"""Whether a file of this name is fetched when its folder is opened."""

MOST_NAMES: Final = 4_000_000
"""Objects below an address: four for 256 images, as an audit of one target makes them."""
MOST_FILES: Final = 20_000
LARGEST: Final = 1 << 28
"""Files that are fetched when an address is opened, and bytes of one and of all of them together."""
_OWN: Final = re.compile(rf"{PART.pattern}|(?:.*/)?\.(?:digests|claims)/.+")
"""What stays on the storage: parts, their digests, and who writes."""
_LONGEST_DIGEST: Final = 256
_SEGMENT: Final = re.compile(r"[^/\\\x00-\x1f\x7f]{1,200}")
_DEEPEST: Final = 12
_AT_ONCE: Final = 8
"""Objects that are fetched at once."""

_mounts: dict[Path, Mount] = {}


def opened(place: str | Path, wanted: Wanted = lambda _name: True) -> Path:
    """The folder of a place: itself on this machine; of an address the folder that stands for it, with its small files.

    wanted: which of them. What is on the storage now is fetched again when an address is opened again. Raises BadInput
    for an address that cannot be used, RunFolderError where the storage cannot be reached.
    """
    if not is_address(place):
        return Path(place)
    address = checked(place)
    mount = next((mount for mount in _mounts.values() if mount.store.address == address), None) or _mounted(address)
    mount.refresh("", wanted)
    return mount.folder


def _mounted(address: str) -> Mount:
    store = stores.opened(address)
    above = Path(tempfile.mkdtemp(prefix="transect-")).resolve()
    folder = above / (address.rpartition("/")[2] or "run")
    folder.mkdir()
    mount = Mount(store, folder)
    if not _mounts:
        atexit.register(_close_own, os.getpid())
    _mounts[folder] = mount
    call(str(folder), address)
    return mount


def of(path: Path) -> tuple[Mount, str] | None:
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
    """What a path is called: the address of what it stands for, else itself.

    >>> name_of(Path("runs/demo"))
    'runs/demo'
    """
    found = of(path)
    return str(path) if found is None else found[0].place(found[1])


def keep(path: Path, written: Path) -> None:
    """Store what was `written` as the file `path`, before it lies there: what is here is stored; no other files."""
    if found := of(path):
        mount, name = found
        mount.put(name, written.read_bytes())


def discard(path: Path) -> None:
    """Delete a file of a run folder, if it is there: on the storage first, so that what is not here is not there."""
    if path.exists() and (found := of(path)):
        mount, name = found
        mount.delete(name)
    path.unlink(missing_ok=True)


def discard_folder(path: Path) -> None:
    """Delete a folder in a run folder with all that it holds, if it is there; on the storage first."""
    if found := of(path):
        mount, name = found
        mount.delete_below(name)
    if path.is_dir():
        shutil.rmtree(path)


def mapped(path: Path, work: Callable[[S], T], items: Iterable[S]) -> list[T]:
    """What `work` makes of each item, in order: one after another, or several at once where each waits for storage."""
    if of(path) is None:
        return [work(item) for item in items]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(work, items))


def close_all() -> None:
    """Delete the folders that stand for addresses, and free what this process holds on the storage."""
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
    """A folder of this machine and the storage that it stands for. claims: those that this process holds in it."""

    def __init__(self, store: stores.Store, folder: Path) -> None:
        self.store, self.folder = store, folder
        self.claims: list[Claim] = []
        self._fetched: dict[str, stores.Listed] = {}
        self._parts: set[str] = set()

    def place(self, name: str) -> str:
        """The address of an object."""
        return f"{self.store.address}/{name}".rstrip("/")

    def has(self, name: str) -> bool:
        """Whether a part was on the storage when it was last listed, or was written since."""
        return name in self._parts

    def is_stored(self, name: str) -> bool:
        """Whether an object is on the storage now."""
        try:
            self.store.changed(name)
        except FileNotFoundError:
            return False
        return True

    def read(self, name: str) -> bytes:
        """The content of a part or a digest. Raises FileNotFoundError, BadInput beyond the bound, RunFolderError."""
        return self.store.read(name, bounds.allowed(0) if PART.fullmatch(name) else _LONGEST_DIGEST)

    def put(self, name: str, content: bytes) -> None:
        """Write an object, in place of an earlier one. Raises RunFolderError where another run has taken over."""
        self._check(name)
        self.store.put(name, content)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object where there is none; whether it has this content afterwards. Raises as `put`."""
        self._check(name)
        created = self.store.create(name, content)
        if created and PART.fullmatch(name):
            self._parts.add(name)
        return created

    def confirm(self, name: str) -> None:
        """Look on the storage whether another run has taken over what this process holds. Raises as `put`."""
        for claim in self.claims:
            if claim.covers(name):
                claim.beat()
        self._check(name)

    def delete(self, name: str) -> None:
        """Delete an object, if there is one."""
        self._check(name)
        self.store.delete(name)
        self._parts.discard(name)
        self._fetched.pop(name, None)

    def delete_below(self, name: str) -> None:
        """Delete every object below a name."""
        for each in [found for found, _ in self.store.listed(name)]:
            self.delete(each)

    def refresh(self, below: str, wanted: Wanted = lambda _name: True) -> None:
        """List what is on the storage, fetch small files that changed, and delete those that are not there.

        Where this process holds a claim, its own files are the latest, and its log is not stored yet: they stay.
        """
        there, parts = self._listing(below)
        inside = f"{below}/" if below else ""
        self._parts = {name for name in self._parts if not name.startswith(inside)} | parts
        self._delete_all_but(there, below)
        total = 0
        for name, listed in there.items():
            if wanted(name) and self._fetched.get(name) != listed and not self._is_held(name):
                total += listed.size
                stores.check_size(self.store.address, total, LARGEST)
                self._fetch(name, listed)

    def _delete_all_but(self, there: Collection[str], below: str) -> None:
        for path in list((self.folder / below).rglob("*")):
            name = path.relative_to(self.folder).as_posix()
            if name not in there and path.is_file() and not name.endswith(TEMPORARY) and not self._is_held(name):
                path.unlink(missing_ok=True)
                self._fetched.pop(name, None)

    def _listing(self, below: str) -> tuple[dict[str, stores.Listed], set[str]]:
        """Small files by name, and the names of parts."""
        files: dict[str, stores.Listed] = {}
        parts: set[str] = set()
        for count, (name, listed) in enumerate(self.store.listed(below)):
            if count >= MOST_NAMES or len(files) > MOST_FILES:
                raise BadInput(
                    f"{self.place(below)}: expected a run or a folder of runs with at most {MOST_FILES} small files, "
                    "found more; give the address of one run"
                )
            if PART.fullmatch(name):
                parts.add(name)
            elif _is_safe(name) and not _OWN.fullmatch(name):
                files[name] = listed
        return files, parts

    def _fetch(self, name: str, listed: stores.Listed) -> None:
        path = self.folder / name
        try:
            content = self.store.read(name, LARGEST)
        except FileNotFoundError:
            return  # deleted since it was listed
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            os.utime(path, (listed.changed.timestamp(),) * 2)
        except OSError:
            raise BadInput(
                f"{self.place(name)}: expected a file or a folder of that name, found both; delete one"
            ) from None
        self._fetched[name] = listed

    def _is_held(self, name: str) -> bool:
        return any(claim.covers(name) for claim in self.claims)

    def _check(self, name: str) -> None:
        for claim in self.claims:
            claim.check(name)


def _is_safe(name: str) -> bool:
    """Whether a name can be one of a file below a folder, and of nothing else; others are no files of a run.

    >>> _is_safe("studies/a/run.json"), _is_safe("../run.json"), _is_safe("a//b")
    (True, False, False)
    """
    segments = name.split("/")
    return len(segments) <= _DEEPEST and all(part not in (".", "..") and _SEGMENT.fullmatch(part) for part in segments)

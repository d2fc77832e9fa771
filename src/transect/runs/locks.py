"""One process at a time in a folder, and nothing written through links in it; on object storage the lock is a claim.

A run folder may come from somebody else: a link inside it would let a run write elsewhere with your rights.

RUN/.claims/00001.json   held while a run lives: its holder writes it every BEAT seconds, and deletes it at the end

Another run takes a claim over only where the last sign of life is older than DEAD seconds by the storage's own
clock. A holder that finds another run's token in it has been taken for dead: it stops.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from filelock import BaseFileLock, FileLock, Timeout

from transect.errors import BadInput, FolderInUse, RunFolderError
from transect.runs import working_folders
from transect.runs.json_records import dumps
from transect.runs.layout import studies_of
from transect.runs.working_folders import Mount
from transect.texts import words_of

BEAT: Final = 20.0
DEAD: Final = 120.0
"""Seconds between signs of life, and without one until a run counts as dead."""
_LONGEST: Final = 1000


@final
class Claim:
    """The right of this process to write below a folder of a mount, from `take` until `release`."""

    def __init__(self, mount: Mount, place: str) -> None:
        self._mount, self._place = mount, place
        self._below = f"{place}/" if place else ""
        self._name = f"{self._below}.claims/00001.json"
        self._token = secrets.token_hex(16)
        self._beats, self._lost = 0, False
        self._beating = threading.Lock()
        self._seen = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, name="transect-claim", daemon=True)

    def take(self) -> None:
        """As the function `take`, without fetching."""
        store = self._mount.store
        if store.create(self._name, self._content()) is None:
            self._follow_a_dead()
        elif store.create(self._name, _content_of(secrets.token_hex(16), 0)) is not None:
            store.delete(self._name)
            raise RunFolderError(
                f"{store.place(self._place)}: expected storage with conditional writes (If-None-Match); write "
                "to a local folder and copy it there"
            )
        self._thread.start()

    def check(self, name: str) -> None:
        """Raise RunFolderError where this run no longer holds the folder that `name` lies in."""
        late = time.monotonic() - self._seen > DEAD
        if (self._lost or late) and self.covers(name):
            raise RunFolderError(
                f"{self._mount.store.place(self._place)}: no sign of life for {DEAD:g} s, so another run may "
                "have taken over; finished parts are kept: rerun when no other run writes here"
            )

    def covers(self, name: str) -> bool:
        """Whether the folder holds what is called so."""
        return name.startswith(self._below)

    def release(self) -> None:
        """Let others write; the claim of another run that took over stays."""
        self._ended.set()
        self._thread.join()
        if self in self._mount.claims:
            self._mount.claims.remove(self)
        try:
            if self._token.encode() in self._mount.store.read(self._name, _LONGEST):
                self._mount.store.delete(self._name)
        except (FileNotFoundError, BadInput, RunFolderError):  # the run's own error counts; the claim ends by itself
            return

    def beat(self) -> None:
        """Give a sign of life, unless another run has taken over."""
        with self._beating:
            began = time.monotonic()
            self._beats += 1
            if self._mount.store.replace(self._name, self._content(), self._token.encode()):
                self._seen = began
            else:
                self._lost = True

    def _follow_a_dead(self) -> None:
        """Take over from a holder that gave no sign of life for long, by the storage's clock, or raise FolderInUse."""
        store = self._mount.store
        clock = f"{self._below}.claims/clock-{secrets.token_hex(8)}"
        in_use = f"{store.place(self._place)} is in use by a live run: wait for it, stop it, or choose another folder"
        try:
            earlier = store.read(self._name, _LONGEST)
            store.put(clock, b"")
            silent = (store.changed(clock) - store.changed(self._name)).total_seconds()
        except FileNotFoundError:  # released in this moment
            raise FolderInUse(in_use) from None
        finally:
            store.delete(clock)
        if silent < DEAD or not store.replace(self._name, self._content(), earlier):
            raise FolderInUse(
                f"{in_use}; its last sign of life is {max(silent, 0):.0f} s old, and it counts as dead after {DEAD:g} s"
            )

    def _content(self) -> bytes:
        return _content_of(self._token, self._beats)

    def _live(self) -> None:
        while not self._ended.wait(BEAT) and not self._lost:
            try:
                self.beat()
            except RunFolderError:  # the next sign may arrive
                continue


def take_claim(mount: Mount, place: str) -> Claim:
    """Claim a folder of a mount; what is in it is listed again, as another may have written it."""
    claim = Claim(mount, place)
    claim.take()
    try:
        mount.refresh(place)
    except BaseException:
        claim.release()
        raise
    mount.claims.append(claim)  # from now on what lies here is the latest
    return claim


def _content_of(token: str, beats: int) -> bytes:
    return dumps({"token": token, "beats": beats}, None).encode()


LOCK: Final = "run.lock"
_MARKS: Final = ("run.json", LOCK, "verify.lock", "training.json")
"""A folder that holds one of these is a run's."""


def refuse_links(path: Path) -> None:
    """Raise RunFolderError where a link stands below a run's folder on the way to `path`; links above are yours."""
    path = path.absolute()
    for place in (path, *path.parents):
        if not place.is_symlink():
            continue
        in_a_run = any((above / mark).is_file() for above in place.parents for mark in _MARKS)
        if in_a_run or (place == path and studies_of(place.parent)):
            raise _link(place)


def refuse_links_in(folder: Path, path: Path) -> None:
    """Raise RunFolderError where a link stands between a folder, whatever it holds, and `path` inside it."""
    for place in (path, *path.parents):
        if place == folder:
            return
        if place.is_symlink():
            raise _link(place)


def _link(place: Path) -> RunFolderError:
    return RunFolderError(f"{place}: expected a file or folder of the run, got a link; remove it, and rerun")


def lock_folder(folder: Path) -> Claim | BaseFileLock:
    """Make the folder and take its lock, which the operating system frees when the process ends."""
    if found := working_folders.mount_of(folder):
        return take_claim(*found)
    file = folder / LOCK
    if file.is_symlink():
        raise RunFolderError(f"{file}: expected a run's lock, got a link; remove it, and rerun")
    refuse_links(file)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(file)
        lock.acquire(timeout=0)
    except Timeout:
        raise FolderInUse(f"{folder} is in use by a live run: wait for it, stop it, or choose another folder") from None
    except (OSError, NotImplementedError) as error:  # the latter on file systems without locks
        raise RunFolderError(f"cannot write {folder}: {words_of(error)}; choose another folder") from error
    return lock


_PAUSE: Final = 0.01


def make_private(path: Path) -> None:
    """Make an empty file that its owner alone may read, as SQLite's own files beside it then are; leave one there.

    A link of yours is followed, one within a run's folder refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     make_private(Path(folder) / "answers.sqlite")
    ...     oct((Path(folder) / "answers.sqlite").stat().st_mode)[-3:]
    '600'
    """
    refuse_links(path)
    with suppress(FileExistsError):
        os.close(os.open(path.resolve(), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def use_write_ahead_log(database: sqlite3.Connection, seconds: float = 30.0) -> None:
    """Let others read a file while one writes. Raises sqlite3.OperationalError where it stays locked.

    SQLite answers "database is locked" at once, whatever its timeout, while another connection makes this change, so
    that two programs that open a new file together need another try.
    """
    last = time.monotonic() + seconds
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > last:
                raise
        time.sleep(_PAUSE)

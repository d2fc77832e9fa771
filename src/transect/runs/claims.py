"""One run at a time in a folder on object storage, which has no locks: a claim is an object that only one can create.

RUN/.claims/00007.json   held while a run lives: its holder writes it every BEAT seconds, and deletes it at the end

The claim with the highest number holds. Another run creates the next number, which only one of several can do, and only
where the last sign of life is older than DEAD seconds by the storage's own clock. A holder that finds a higher number,
or another run's token in its own number, has been taken for dead: it stops. Numbers are used again when all claims are
gone; tokens never are.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from typing import Final, final

from transect.errors import BadInput, FolderInUse, RunFolderError
from transect.runs.mounts import Mount
from transect.runs.plain_json import dumps

BEAT: Final = 20.0
DEAD: Final = 120.0
"""Seconds between signs of life, and without one until a run counts as dead."""
_FOLDER: Final = ".claims"
_LONGEST: Final = 1000
_NAME: Final = re.compile(r"(?:.*/)?(\d{5,9})\.json")


@final
class Claim:
    """The right of this process to write below a folder of a mount, until `release`."""

    def __init__(self, mount: Mount, place: str, number: int, token: str) -> None:
        self._mount, self._place, self._number, self._token = mount, place, number, token
        self._beats, self._lost = 0, False
        self._beating = threading.Lock()
        self._seen = time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._live, name="transect-claim", daemon=True)
        self._thread.start()

    def check(self, name: str) -> None:
        """Raise RunFolderError where this run no longer holds the folder that `name` lies in."""
        late = time.monotonic() - self._seen > DEAD
        if (self._lost or late) and self.covers(name):
            raise RunFolderError(
                f"{self._mount.place(self._place)}: this run gave no sign of life for {DEAD:g} s, and another may have "
                "taken it over; finished parts are kept: rerun the command when no other run writes here"
            )

    def covers(self, name: str) -> bool:
        """Whether the folder holds what is called so."""
        return not self._place or name.startswith(f"{self._place}/")

    def release(self) -> None:
        """Let others write: those of dead runs before it go, then the claim; nothing of another run that took over."""
        self._ended.set()
        self._thread.join()
        if self in self._mount.claims:
            self._mount.claims.remove(self)
        try:
            earlier = sorted(number for number in _held(self._mount, self._place) if number < self._number)
            if self._is_own(self._mount.store.read(_name(self._place, self._number), _LONGEST)):
                for number in (*earlier, self._number):
                    self._mount.store.delete(_name(self._place, number))
        except (FileNotFoundError, BadInput, RunFolderError):  # the run's own error counts; the claim ends by itself
            return

    def beat(self) -> None:
        """Give a sign of life, unless another run has taken over."""
        with self._beating:
            began = time.monotonic()
            name, content = _name(self._place, self._number), _content(self._token, self._beats + 1)
            highest = max(_held(self._mount, self._place), default=0)
            if highest != self._number or not self._mount.store.replace(name, content, self._is_own):
                self._lost = True
                return
            self._beats += 1
            self._seen = began

    def _is_own(self, content: bytes) -> bool:
        return self._token.encode() in content

    def _live(self) -> None:
        while not self._ended.wait(BEAT) and not self._lost:
            try:
                self.beat()
            except RunFolderError:  # the next sign may arrive
                continue


def take(mount: Mount, place: str) -> Claim:
    """Claim a folder of a mount; what is in it is fetched again, as another may have written it.

    Raises FolderInUse where another run has it and lives; RunFolderError where the storage overwrites what it was told
    not to overwrite, or cannot be reached.
    """
    held = _held(mount, place)
    if held:
        _refuse_a_live(mount, place, max(held))
    number, token = max(held, default=0) + 1, secrets.token_hex(16)
    name = _name(place, number)
    if not mount.store.create(name, _content(token, 0)):
        raise FolderInUse(f"{mount.place(place)} {_IN_USE}")
    if mount.store.create(name, _content(secrets.token_hex(16), 0)):
        mount.store.delete(name)
        raise RunFolderError(
            f"{mount.place(place)}: expected storage that writes on a condition (If-None-Match), got one that "
            "overwrites; choose a folder of this machine, and copy it there"
        )
    claim = Claim(mount, place, number, token)
    try:
        mount.refresh(place)
    except BaseException:
        claim.release()
        raise
    mount.claims.append(claim)  # from now on what lies here is the latest
    return claim


_IN_USE: Final = "is in use by a live run: wait for it, stop it, or choose another folder"


def _refuse_a_live(mount: Mount, place: str, number: int) -> None:
    """Raise FolderInUse where the holder of a claim gave a sign of life not long ago, by the storage's clock."""
    clock = f"{_below(place)}clock-{secrets.token_hex(8)}"
    try:
        mount.store.put(clock, b"")
        silent = (mount.store.changed(clock) - mount.store.changed(_name(place, number))).total_seconds()
    except FileNotFoundError:  # released in this moment
        return
    finally:
        mount.store.delete(clock)
    if silent < DEAD:
        raise FolderInUse(
            f"{mount.place(place)} {_IN_USE}; its last sign of life is {max(silent, 0):.0f} s old, and it counts as "
            f"dead after {DEAD:g} s"
        )


def _held(mount: Mount, place: str) -> list[int]:
    """The numbers of the claims on a folder, of live and of dead runs."""
    names = (_NAME.fullmatch(name) for name, _ in mount.store.listed(_below(place).rstrip("/")))
    return [int(name[1]) for name in names if name]


def _below(place: str) -> str:
    return f"{place}/{_FOLDER}/" if place else f"{_FOLDER}/"


def _name(place: str, number: int) -> str:
    return f"{_below(place)}{number:05d}.json"


def _content(token: str, beats: int) -> bytes:
    return dumps({"token": token, "beats": beats}, None).encode()

"""What a rerun of a stranger's record may open: models that the reader named, no network, few variables."""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from transect.errors import BadInput

VARIABLE: Final = "TRANSECT_TRUSTED"
_KEPT: Final = ("HOME", "OMP_NUM_THREADS", "PYTHONPATH", "SYSTEMROOT", "TMPDIR")
"""Variables without which Python, or the reader's own modules, are not found, and one that changes the last bit."""
_SHIPPED: Final = re.compile(r"faceworld(-latent)?|reference(\?[\w.=&-]*)?|network|dataset")
"""Models that come with this package; `transect.targets.kinds.ships` knows those of libraries."""
_NEW_USER_AND_NETWORK: Final = 0x10000000 | 0x40000000  # CLONE_NEWUSER, CLONE_NEWNET of Linux
_NETWORK: Final = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg")


def check_trusted(model: str, *names: str) -> None:
    """Raises BadInput in a rerun for a model that its reader did not name. Elsewhere nothing is checked.

    names: how else the reader may have named it.
    """
    if VARIABLE in os.environ:
        check_among(json.loads(os.environ[VARIABLE]), model, *names)


def check_among(trusted: Iterable[str], model: str, *names: str) -> None:
    """Raises BadInput for a model that neither ships with this package nor is among the trusted by one of its names.

    >>> check_among((), "faceworld")
    >>> check_among((), "torch:my.pt")
    Traceback (most recent call last):
    transect.errors.BadInput: torch:my.pt: only the record names this model; if you trust it: --trust 'torch:my.pt'
    """
    if not _SHIPPED.fullmatch(model) and not {model, *names} & {*trusted}:
        raise BadInput(f"{model}: only the record names this model; if you trust it: --trust '{model}'")


@contextmanager
def only(trusted: Iterable[str]) -> Iterator[None]:
    """While it is entered, `check_trusted` checks, here and in processes that are started."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = json.dumps([*trusted])
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def environment(trusted: Iterable[str]) -> dict[str, str]:
    """The whole environment of the process of a rerun."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return {**kept, "HF_HUB_OFFLINE": "1", VARIABLE: json.dumps([*trusted])}


def cut_off() -> None:
    """Take the network from the process of a rerun: from all of it where the system allows that, else from Python."""
    if VARIABLE not in os.environ:
        return
    with suppress(OSError, AttributeError):
        user, group = os.getuid(), os.getgid()
        if ctypes.CDLL(None).unshare(_NEW_USER_AND_NETWORK) == 0:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    sys.addaudithook(_refuse_network)


def _refuse_network(event: str, arguments: tuple[object, ...]) -> None:
    of_this_machine = event != "socket.getaddrinfo" and isinstance(arguments[-1], str | bytes)  # the path of a pipe
    if event in _NETWORK and not of_this_machine:
        raise PermissionError("a rerun has no network")

"""The environment of Ray: what this process changes for it and gives back, and a Ray of this machine alone.

A Ray of this machine alone listens on the loopback, and asks for a token that no other program is given.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

MODE, TOKEN, TOKEN_FILE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"
_DEBUGGER: Final = "PYTHONBREAKPOINT"


def kept_environment() -> dict[str, str]:
    """The variables that Ray sets, or is given, as they are now."""
    return {name: value for name, value in os.environ.items() if _of_ray(name)}


def restore(before: Mapping[str, str]) -> None:
    """Make these variables what they were."""
    for name in [name for name in os.environ if _of_ray(name)]:
        del os.environ[name]
    os.environ.update(before)


def _of_ray(name: str) -> bool:
    return name.startswith("RAY_") or name == _DEBUGGER


@contextmanager
def apart(ray: Any) -> Iterator[None]:
    """While a Ray is started: it accepts connections from this machine only, with a new token, which no file has.

    The variables stay set, for the workers; see `restore` and `read_again`.
    """
    os.environ |= {MODE: "token", TOKEN: secrets.token_hex(32)}
    os.environ.pop(TOKEN_FILE, None)
    read_again(ray)
    constants = ray._private.ray_constants  # no setting of Ray does this on Linux; elsewhere it is the default
    before = constants.ENABLE_RAY_CLUSTER
    constants.ENABLE_RAY_CLUSTER = False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before


def read_again(ray: Any) -> None:
    """Let Ray read mode and token again: it keeps what it read first, which may be those of another Ray."""
    ray._raylet.Config.initialize("")
    ray._raylet.AuthenticationTokenLoader.instance().reset_cache()

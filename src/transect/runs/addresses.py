"""Addresses of folders on object storage, as `s3://bucket/path`: of where, and never of who may."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from transect.errors import BadInput

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_AZURE: Final = frozenset({"az", "abfs", "abfss"})
_OF_ACCOUNT: Final = re.compile(
    r"([A-Za-z0-9-]{1,63})@[A-Za-z0-9-]{1,63}\.(?:dfs|blob)\.(?:core\.windows\.net|fabric\.microsoft\.com)"
)
"""A container of Azure with its account: what stands before the @ is no key."""
_OF_AWS: Final = "in the environment, such as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
_OF_AZURE: Final = (
    "in the environment, such as AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY (an account is named as "
    "abfss://container@account.dfs.core.windows.net/path)"
)
_CREDENTIALS: Final = {
    **dict.fromkeys(("s3", "s3a"), _OF_AWS),
    **dict.fromkeys(_AZURE, _OF_AZURE),
    "gs": "in the environment, such as GOOGLE_APPLICATION_CREDENTIALS",
}
"""Where they belong, by the schemes of storage that runs can lie on."""
_HOST: Final = re.compile(r"[A-Za-z0-9._-]+")
_SEGMENT: Final = re.compile(r"[^\x00-\x1f\x7f\\@?#%]{1,255}")


def is_address(place: str | Path) -> bool:
    """Whether a text names a place by a scheme, as a folder of this machine does not."""
    return _SCHEME.match(str(place)) is not None


def checked(address: str | Path) -> str:
    """The address without a slash at its end."""
    # A path of Python has one slash where an address has two.
    scheme, _, rest = str(address).partition(":")
    scheme, rest = scheme.lower(), re.sub("^/{1,2}", "", rest)
    if scheme not in _CREDENTIALS:
        raise BadInput(f"{scheme}://…: expected s3://, gs:// or az://; give a folder or a bucket")
    host, *segments = rest.rstrip("/").split("/")
    of_account = _OF_ACCOUNT.fullmatch(host) if scheme in _AZURE else None
    name = of_account[1] if of_account else host
    if "@" in name or any("@" in part for part in segments):
        raise _refused(scheme, "without credentials", "one with '@'", f"give them {_CREDENTIALS[scheme]}")
    if "?" in rest or "#" in rest:
        raise _refused(scheme, "with a bucket and a path only", "one with a query", "give keys in the environment")
    if not name:
        raise _refused(scheme, f"as {scheme}://bucket/path", "one without a bucket", "add it after two slashes")
    if not _HOST.fullmatch(name):
        raise _refused(scheme, f"as {scheme}://bucket/path", "an invalid bucket name", "correct it")
    if any(part in ("", ".", "..") or not _SEGMENT.fullmatch(part) for part in segments):
        raise _refused(scheme, f"as {scheme}://bucket/path", "another path", "use letters, digits, '-', '_' and '.'")
    return f"{scheme}://{'/'.join([host, *segments])}"


def _refused(scheme: str, expected: str, found: str, advice: str) -> BadInput:
    return BadInput(f"{scheme}://…: expected an address {expected}, got {found}; {advice}")

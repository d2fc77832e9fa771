"""Object storage as a run uses it: whole objects by name, of which one can be written only where there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol, final, runtime_checkable

from transect.errors import BadInput, RunFolderError
from transect.runs import bounds
from transect.runs.addresses import NATIVE, checked

_CODE: Final = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
_STATUS: Final = re.compile(r"status code: ([1-5][0-9]{2})\b")
_CREDENTIALS: Final = frozenset(
    {"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}
)
_REFUSED: Final = ("PermissionDeniedError", "UnauthenticatedError", "PermissionError")
_NO_CREDENTIALS: Final = "no credentials for the storage were found; give them in the environment"
_NO_BUCKET: Final = "the storage has no such bucket; create it, or correct its name"
_METADATA: Final = ("169.254.169.254", "metadata.google.internal")
"""Servers of cloud machines that are asked for credentials where the environment has none."""
_CAUSES: Final = {
    r"Unable to load lib(jvm|hdfs)": "a library of Hadoop is missing (libjvm or libhdfs); install Java and Hadoop's "
    "client, and set JAVA_HOME and HADOOP_HOME",
    r"Account must be specified": "the storage account is not named; set AZURE_STORAGE_ACCOUNT_NAME",
    r"dns error|failed to lookup address|[Nn]ame or service not known|nodename nor servname|No address associated": (
        "the storage's host is unknown; correct the address, or AWS_ENDPOINT_URL"
    ),
    r"Connection refused|actively refused": "no storage listens at its host; correct the address or AWS_ENDPOINT_URL, "
    "or start it",
}
"""What libraries say where no server was reached, as patterns, and our words for it."""
_KEPT: Final = "; finished parts are kept: rerun the command to resume"


@final
@dataclass(frozen=True, slots=True)
class Listed:
    """An object of a listing. mark: changes with the content; changed: when it was written, by the storage's clock."""

    size: int
    changed: datetime
    mark: str


@runtime_checkable
class Store(Protocol):
    """A folder on object storage. Names are relative to it, with "/" between their parts.

    Reading raises FileNotFoundError where there is no such object, all else RunFolderError in one line.
    """

    @property
    def address(self) -> str:
        """Where it is, without credentials."""

    def listed(self, below: str = "") -> Iterator[tuple[str, Listed]]:
        """The objects below a name, in any order."""

    def read(self, name: str, most: int) -> bytes:
        """The content of an object. Raises BadInput where it has more than `most` bytes, without reading on."""

    def put(self, name: str, content: bytes) -> None:
        """Write an object, in place of an earlier one; others see all of it or none."""

    def create(self, name: str, content: bytes) -> bool:
        """Write an object where there is none; whether it has this content afterwards.

        A write whose answer was lost counts as done: the object is there with this content.
        """

    def replace(self, name: str, content: bytes, ours: Callable[[bytes], bool]) -> bool:
        """Write an object in place of one whose content is `ours`; whether it has this content afterwards.

        It is not written where there is none, or another's. Storage that can write on the condition that an object is
        the one that was read is asked to.
        """

    def changed(self, name: str) -> datetime:
        """When an object was written, by the storage's clock."""

    def delete(self, name: str) -> None:
        """Delete an object, if there is one."""


def opened(address: str) -> Store:
    """The folder of an address, which may be empty.

    Raises BadInput for an address that cannot be used, MissingExtra where its library is absent.
    """
    address = checked(address)
    if address.partition(":")[0] in NATIVE:
        from transect.runs.object_stores import ObjectStore

        return ObjectStore(address)
    from transect.runs.file_systems import FileSystem

    return FileSystem(address)


def check_size(place: str, size: int, most: int) -> None:
    """Raises BadInput for an object with more bytes than may be read."""
    if size > most:
        raise BadInput(
            f"{place}: expected at most {most} bytes, got more; if you trust it, copy the run to this machine, or set "
            f"{bounds.VARIABLE} to more"
        )


@contextmanager
def storage_errors(place: str, *, writing: bool = False, begun: bool = False) -> Iterator[None]:
    """Raise what a library of storage raises as a RunFolderError of one line; FileNotFoundError stays.

    writing: nothing can be missing but the bucket. begun: something was written already, so that a rerun resumes. What
    a server says is not repeated: it may hold the name of a key, or be hostile.
    """
    try:
        yield
    except FileNotFoundError:
        if writing:
            raise RunFolderError(f"{place}: {_NO_BUCKET}") from None
        raise
    except (BadInput, RunFolderError, ImportError):
        raise
    except Exception as error:
        raise RunFolderError(f"{place}: {reason(error)}{_KEPT if begun else ''}") from None


def reason(error: BaseException) -> str:
    """Why the storage could not be used, in our own words, and what to do.

    >>> reason(ValueError("status code: 503 Service Unavailable: <Code>SlowDown</Code>"))
    'the storage answered with an error (SlowDown, status 503); try again later'
    """
    text = str(error)[:20_000]
    code, status = _CODE.search(text), _STATUS.search(text)
    if any(server in text for server in _METADATA) or type(error).__name__ == "NoCredentialsError":
        return _NO_CREDENTIALS
    if code and code[1] == "NoSuchBucket":
        return _NO_BUCKET
    if (code and code[1] in _CREDENTIALS) or type(error).__name__ in _REFUSED:
        return "the storage refuses access; check the credentials in the environment and what they allow"
    said = ", ".join([*([code[1]] if code else []), *([f"status {status[1]}"] if status else [])])
    if said:
        return f"the storage answered with an error ({said}); try again later"
    known = (words for pattern, words in _CAUSES.items() if re.search(pattern, text))
    return next(known, "the storage did not answer; check the address and the network, and try again later")

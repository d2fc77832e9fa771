"""Object storage as a run uses it: whole objects by name, of which one can be written only where there is none.

S3, Google Cloud Storage and Azure are asked by obstore, which has conditional writes and repeats failed requests.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, final

from transect.errors import BadInput, MissingExtra, RunFolderError, TransectError
from transect.runs import bounds

T = TypeVar("T")
RETRIES: Final = 5
"""How often a failed request is repeated, after waits that double."""
SECONDS: Final = timedelta(seconds=60)
"""How long one request may take, and how long it is repeated."""
TRIES: Final = 3
"""How often a write is tried; the library does not repeat one that ran out of time, since it may have arrived."""
WAIT: Final = 1.0
"""Seconds before it is tried again, which double."""
_CONNECTING: Final = timedelta(seconds=10)
_CHUNK: Final = 1 << 20
_LISTED_AT_ONCE: Final = 1000
_LONGEST_REPLACED: Final = 1 << 16
_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")

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


@final
class Store:
    """A folder on object storage; names are relative to it. Errors are FileNotFoundError and RunFolderError alone."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._begun = False  # whether anything was written
        with self._asking(""):
            self._store = _connected(address)

    def place(self, name: str) -> str:
        """The address of an object."""
        return f"{self.address}/{name}".rstrip("/")

    def listed(self, below: str = "") -> Iterator[tuple[str, Listed]]:
        """The objects below a name, in any order."""
        with self._asking(below, of_bucket=True):
            for chunk in self._store.list(below or None, chunk_size=_LISTED_AT_ONCE):
                for found in chunk:
                    yield found["path"], Listed(found["size"], found["last_modified"], str(found["e_tag"]))

    def read(self, name: str, most: int) -> bytes:
        """The content of an object. Raises BadInput where it has more than `most` bytes, without reading on."""
        content = bytearray()
        with self._asking(name):
            answer = self._store.get(name)
            check_size(self.place(name), answer.meta["size"], most)
            for chunk in answer.stream(min_chunk_size=_CHUNK):
                content += chunk
                check_size(self.place(name), len(content), most)
        return bytes(content)

    def put(self, name: str, content: bytes) -> str:
        """Write an object, in place of an earlier one; others see all of it or none. Returns its mark."""
        with self._asking(name, of_bucket=True):
            mark = _tried(lambda: self._put(name, content, "overwrite"))
        self._begun = True
        return mark

    def create(self, name: str, content: bytes) -> str | None:
        """Write an object and return its mark, though the answer was lost; None where another content is there."""
        with self._asking(name, of_bucket=True):
            mark = _tried(lambda: self._put_if(name, content, "create"))
        self._begun = True
        return mark

    def replace(self, name: str, content: bytes, token: bytes) -> bool:
        """Write an object in place of one whose content has the token; False where another came in between."""
        with self._asking(name):
            try:
                return _tried(lambda: self._replaced(name, content, token))
            except FileNotFoundError:
                return False

    def changed(self, name: str) -> datetime:
        """When an object was written, by the storage's clock."""
        with self._asking(name):
            changed: datetime = self._store.head(name)["last_modified"]
            return changed

    def delete(self, name: str) -> None:
        """Delete an object, if there is one."""
        with self._asking(name):
            try:
                _tried(lambda: self._store.delete(name))
            except FileNotFoundError:
                return

    def _put(self, name: str, content: bytes, mode: object) -> str:
        return str(self._store.put(name, content, mode=mode, use_multipart=False)["e_tag"])

    def _put_if(self, name: str, content: bytes, mode: object) -> str | None:
        """Write on a condition; None where it does not hold, and the object has another content."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            return self._put(name, content, mode)
        except (AlreadyExistsError, PreconditionError):
            found = self._store.head(name)
            same = found["size"] == len(content) and self.read(name, len(content)) == content
            return str(found["e_tag"]) if same else None

    def _replaced(self, name: str, content: bytes, token: bytes) -> bool:
        answer = self._store.get(name)
        if answer.meta["size"] > _LONGEST_REPLACED or token not in bytes(answer.bytes()):
            return False
        read = {mark: answer.meta[mark] for mark in ("e_tag", "version") if answer.meta[mark]}
        return self._put_if(name, content, read or "overwrite") is not None

    @contextmanager
    def _asking(self, name: str, *, of_bucket: bool = False) -> Iterator[None]:
        """Raise what the library raises as a RunFolderError of one line; FileNotFoundError stays.

        of_bucket: nothing can be missing but the bucket. What a server says is not repeated: it may hold the name of a
        key, or be hostile.
        """
        try:
            yield
        except FileNotFoundError:
            if of_bucket:
                raise RunFolderError(f"{self.place(name)}: {_NO_BUCKET}") from None
            raise
        except (TransectError, ImportError):
            raise
        except Exception as error:
            kept = _KEPT if self._begun else ""
            raise RunFolderError(f"{self.place(name)}: {reason(error)}{kept}") from None


def _connected(address: str) -> Any:
    """The library's store of an address. Raises BadInput, MissingExtra, and what the library raises."""
    try:
        from obstore import store as library
    except ModuleNotFoundError:
        raise MissingExtra("storage", f"a run at {address.partition(':')[0]}://…") from None
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    client = {"timeout": SECONDS, "connect_timeout": _CONNECTING, "allow_http": endpoint.startswith("http://")}
    repeated = {"max_retries": RETRIES, "retry_timeout": SECONDS}
    connect: Any = library.from_url  # its types are one choice for each kind of storage
    return connect(address, client_options=client, retry_config=repeated, **_profile(address))


def check_size(place: str, size: int, most: int) -> None:
    """Raises BadInput for an object with more bytes than may be read."""
    if size > most:
        raise BadInput(
            f"{place}: expected at most {most} bytes, got more; if you trust it, copy the run to this machine, or set "
            f"{bounds.VARIABLE} to more"
        )


def _tried(deed: Callable[[], T]) -> T:
    """Do what may be done twice, and again where it fails for another reason than that something is missing."""
    for attempt in range(TRIES - 1):
        try:
            return deed()
        except FileNotFoundError:
            raise
        except Exception:
            time.sleep(WAIT * 2**attempt)
    return deed()


def _profile(address: str) -> dict[str, Any]:
    """How keys are found where the environment names a profile of the AWS command line."""
    if not address.startswith("s3") or not os.environ.get("AWS_PROFILE"):
        return {}
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ModuleNotFoundError:
        raise BadInput("AWS_PROFILE needs the library boto3; pip install boto3, or unset it") from None
    return {"credential_provider": Boto3CredentialProvider()}


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
        return "the storage refuses access; check the credentials in the environment and their permissions"
    said = ", ".join([*([code[1]] if code else []), *([f"status {status[1]}"] if status else [])])
    if said:
        return f"the storage answered with an error ({said}); try again later"
    known = (words for pattern, words in _CAUSES.items() if re.search(pattern, text))
    return next(known, "the storage did not answer; check the address and the network, and try again later")

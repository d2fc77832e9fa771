"""S3, Google Cloud Storage and Azure by obstore, which asks them for conditional writes and repeats failed requests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar, final

from transect.errors import BadInput, MissingExtra
from transect.runs.stores import Listed, check_size, storage_errors

if TYPE_CHECKING:
    from obstore.store import ObjectStore as Opened

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


@final
class ObjectStore:
    """A folder on S3, Google Cloud Storage or Azure; credentials come from the environment."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._begun = False  # whether anything was written
        self._store = _connected(address)

    def listed(self, below: str = "") -> Iterator[tuple[str, Listed]]:
        """As `Store.listed`."""
        import obstore

        with storage_errors(self._place(below), writing=True, begun=self._begun):
            for chunk in obstore.list(self._store, below or None, chunk_size=_LISTED_AT_ONCE):
                for found in chunk:
                    yield found["path"], Listed(found["size"], found["last_modified"], str(found["e_tag"]))

    def read(self, name: str, most: int) -> bytes:
        """As `Store.read`."""
        import obstore

        content = bytearray()
        with storage_errors(self._place(name), begun=self._begun):
            answer = obstore.get(self._store, name)
            check_size(self._place(name), answer.meta["size"], most)
            for chunk in answer.stream(min_chunk_size=_CHUNK):
                content += chunk
                check_size(self._place(name), len(content), most)
        return bytes(content)

    def put(self, name: str, content: bytes) -> None:
        """As `Store.put`."""
        import obstore

        with storage_errors(self._place(name), writing=True, begun=self._begun):
            _tried(lambda: obstore.put(self._store, name, content, use_multipart=False))
            self._begun = True

    def create(self, name: str, content: bytes) -> bool:
        """As `Store.create`."""
        with storage_errors(self._place(name), writing=True, begun=self._begun):
            created = _tried(lambda: self._created(name, content))
        self._begun = True
        return created

    def _created(self, name: str, content: bytes) -> bool:
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            obstore.put(self._store, name, content, mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return self._size(name) == len(content) and self.read(name, len(content)) == content
        return True

    def replace(self, name: str, content: bytes, ours: Callable[[bytes], bool]) -> bool:
        """As `Store.replace`."""
        with storage_errors(self._place(name), writing=True, begun=self._begun):
            try:
                return _tried(lambda: self._replaced(name, content, ours))
            except FileNotFoundError:
                return False

    def _replaced(self, name: str, content: bytes, ours: Callable[[bytes], bool]) -> bool:
        import obstore
        from obstore.exceptions import PreconditionError

        answer = obstore.get(self._store, name)
        if answer.meta["size"] > _LONGEST_REPLACED or not ours(bytes(answer.bytes())):
            return False
        read: Any = {mark: answer.meta[mark] for mark in ("e_tag", "version") if answer.meta[mark]}
        try:
            obstore.put(self._store, name, content, mode=read or "overwrite", use_multipart=False)
        except PreconditionError:
            return self._size(name) == len(content) and self.read(name, len(content)) == content
        return True

    def _size(self, name: str) -> int:
        import obstore

        return int(obstore.head(self._store, name)["size"])

    def changed(self, name: str) -> datetime:
        """As `Store.changed`."""
        import obstore

        with storage_errors(self._place(name), begun=self._begun):
            return obstore.head(self._store, name)["last_modified"]

    def delete(self, name: str) -> None:
        """As `Store.delete`."""
        import obstore

        with storage_errors(self._place(name), begun=self._begun):
            try:
                _tried(lambda: obstore.delete(self._store, name))
            except FileNotFoundError:
                return

    def _place(self, name: str) -> str:
        return f"{self.address}/{name}".rstrip("/")


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


def _connected(address: str) -> Opened:
    try:
        from obstore import store as library
    except ModuleNotFoundError:
        raise MissingExtra("storage", f"a run at {address.partition(':')[0]}://…") from None
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), "")
    encrypted = not endpoint.startswith("http://")
    client = {"timeout": SECONDS, "connect_timeout": _CONNECTING, "allow_http": not encrypted}
    connect: Any = library.from_url  # its types are one choice for each kind of storage
    with storage_errors(address):
        repeated = {"max_retries": RETRIES, "retry_timeout": SECONDS}
        opened: Opened = connect(address, client_options=client, retry_config=repeated, **_profile(address))
    return opened


def _profile(address: str) -> dict[str, Any]:
    """How keys are found where the environment names a profile of the AWS command line."""
    if not address.startswith("s3") or not os.environ.get("AWS_PROFILE"):
        return {}
    try:
        from obstore.auth.boto3 import Boto3CredentialProvider
    except ModuleNotFoundError:
        raise BadInput("AWS_PROFILE: expected the library boto3, got none; pip install boto3, or unset it") from None
    return {"credential_provider": Boto3CredentialProvider()}

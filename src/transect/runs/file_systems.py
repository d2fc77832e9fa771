"""Any file system of fsspec as storage of runs: those of Arrow, such as HDFS, and those of other libraries.

How safe a write on a condition is depends on the file system: where it first looks and then writes, two writers that
start in the same moment can both go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final, final

from transect.errors import BadInput, MissingExtra
from transect.runs.stores import Listed, check_size, storage_errors
from transect.texts import words_of

_LONGEST_REPLACED: Final = 1 << 16


@final
class FileSystem:
    """A folder on a file system of fsspec; credentials come from where its library looks for them."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._begun = False  # whether anything was written
        self._files, self._root = _connected(address)

    def listed(self, below: str = "") -> Iterator[tuple[str, Listed]]:
        """As `Store.listed`."""
        with storage_errors(self._place(below), begun=self._begun):
            self._files.invalidate_cache()
            root = self._path(below)
            found = self._files.find(root, detail=True) if self._files.exists(root) else {}
            for path, entry in found.items():
                changed = _time_of(entry)
                name = path[len(self._root) :].strip("/")
                yield name, Listed(int(entry["size"] or 0), changed, f"{entry['size']} {changed.timestamp()}")

    def read(self, name: str, most: int) -> bytes:
        """As `Store.read`."""
        with storage_errors(self._place(name), begun=self._begun), self._files.open(self._path(name), "rb") as file:
            content = bytes(file.read(most + 1))
        check_size(self._place(name), len(content), most)
        return content

    def put(self, name: str, content: bytes) -> None:
        """As `Store.put`."""
        with storage_errors(self._place(name), begun=self._begun):
            self._files.makedirs(self._files._parent(self._path(name)), exist_ok=True)
            self._files.pipe_file(self._path(name), content)
            self._begun = True

    def create(self, name: str, content: bytes) -> bool:
        """As `Store.create`."""
        with storage_errors(self._place(name), begun=self._begun):
            self._files.invalidate_cache()
            self._files.makedirs(self._files._parent(self._path(name)), exist_ok=True)
            try:
                self._files.pipe_file(self._path(name), content, mode="create")
            except FileExistsError:
                same = self._files.size(self._path(name)) == len(content)
                return same and self.read(name, len(content)) == content
        self._begun = True
        return True

    def replace(self, name: str, content: bytes, ours: Callable[[bytes], bool]) -> bool:
        """As `Store.replace`, without a condition: it looks first."""
        with storage_errors(self._place(name), begun=self._begun):
            self._files.invalidate_cache()
            try:
                found = self._files.cat_file(self._path(name), end=_LONGEST_REPLACED)
            except FileNotFoundError:
                return False
        if not ours(bytes(found)):
            return False
        self.put(name, content)
        return True

    def changed(self, name: str) -> datetime:
        """As `Store.changed`."""
        with storage_errors(self._place(name), begun=self._begun):
            self._files.invalidate_cache()
            return _time_of(self._files.info(self._path(name)))

    def delete(self, name: str) -> None:
        """As `Store.delete`."""
        with storage_errors(self._place(name), begun=self._begun):
            try:
                self._files.rm_file(self._path(name))
            except FileNotFoundError:
                return

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    def _place(self, name: str) -> str:
        return f"{self.address}/{name}".rstrip("/")


def _time_of(entry: dict[str, Any]) -> datetime:
    """When a file was written, under the names that file systems have for it; the epoch where they do not say."""
    value = next((entry[key] for key in ("mtime", "LastModified", "modified", "created") if entry.get(key)), 0.0)
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return datetime.fromtimestamp(float(value), UTC)


def _connected(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ModuleNotFoundError:
        raise MissingExtra("storage", f"a run at {address.partition(':')[0]}://…") from None
    scheme = address.partition(":")[0]
    if scheme not in fsspec.available_protocols():
        raise BadInput(
            f"{scheme}://…: expected s3, gs, az or a file system of fsspec, got another scheme; give a folder, or the "
            "address of a bucket"
        )
    try:
        with storage_errors(address):
            files, root = fsspec.core.url_to_fs(address)
    except ImportError as error:  # fsspec's own words name the library
        raise BadInput(
            f"{scheme}://…: expected the library of this file system, got none ({words_of(error)}); pip install it"
        ) from None
    return files, root.rstrip("/")

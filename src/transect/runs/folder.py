"""The run folder: the spec of a run, the parts of its tables, making room for another run, and whether it was
finished.

A part is written to a temporary name, flushed to disk and renamed: a part that exists is complete. Its SHA-256 is
in `.digests/`, written before the part appears, so that a part that no longer reads back as written is reported and
not used. One process at a time works in a folder; the operating system frees the lock of a killed one. A folder on
object storage keeps the same rules by other means: see `working_folders` and `locks`.

RUN/unfinished.txt   from when the first study has its tables until all are made, before the report is written
"""

from __future__ import annotations

import errno
import functools
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, final

import pyarrow as pa
import pyarrow.parquet as pq

from transect.errors import BadInput, FolderOfAnotherSpec, RunFolderError, TransectError
from transect.runs import layout, part_files, spec_changes, working_folders
from transect.runs.json_records import dumps, loads
from transect.runs.locks import LOCK, lock_folder, refuse_links, refuse_links_in
from transect.runs.spec import RunSpec
from transect.runs.spec_changes import in_plain_words
from transect.runs.wording import counted
from transect.texts import encodable, words_of

_LOG = "log.jsonl"
_LINE: Final = 4096
"""Letters of a line of the log that are read."""
_WRITTEN_TO: Final = (
    *("", "images/", "predictions/*/", "answers/*/", "coded/*/", "pairs/*/"),
    *("edits/", "edit_reference/", "calls/", ".digests/**/"),
)
"""Where a run's temporary files may be left over, in its folder."""


def canonical_json(value: object) -> str:
    """One text per value: sorted keys, no spaces, no NaN, nothing that UTF-8 cannot encode."""
    return encodable(json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False))


def slug(name: str) -> str:
    """A target's name as a folder's name.

    >>> slug("opencv:haarcascade_smile")
    'opencv-haarcascade_smile'
    """
    return re.sub(r"[^A-Za-z0-9_.]+", "-", name).strip("-.") or "target"


def spec_hash(spec: object) -> str:
    """SHA-256 of the canonical JSON of a spec, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(spec).encode()).hexdigest()


def write_json(path: Path, value: object, indent: int | None = 2) -> None:
    """Write a record to a JSON file, as `plain_json.dumps` has it and one newline, by `write_atomically`."""
    write_atomically(path, dumps(value, indent) + "\n")


def write_atomically(path: Path, content: bytes | str) -> None:
    """Put `content` at `path` so that a reader, or a kill, sees all of it or none; links in a run are refused."""
    with _replacing(path) as file:
        file.write(encodable(content).encode() if isinstance(content, str) else content)


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to be written, which takes the place of `path` at the end, as `write_atomically` has it."""
    refuse_links(path)
    with disk_errors(path):
        path = path.resolve()
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                yield device
            return
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}{layout.TEMPORARY}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as file:  # a new file: never what a link of that name leads to
                yield file
                file.flush()
                os.fsync(file.fileno())
            working_folders.keep(path, temporary)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_directory(path.parent)


def write_table(path: Path, rows: pa.Table) -> None:
    """Write a Parquet file so that a kill at any moment leaves either the earlier file or the new one."""
    write_atomically(path, parquet_of(rows))


def parquet_of(rows: pa.Table, **options: Any) -> bytes:
    """A table as a Parquet file has it. options: as of `pyarrow.parquet.write_table`."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink, **options)
    return bytes(sink.getvalue().to_pybytes())


def write_batches(path: Path, schema: pa.Schema, batches: Iterable[pa.Table]) -> None:
    """As `write_table`, a batch of rows at a time, so that they are never all in memory."""
    with _replacing(path) as file, pq.ParquetWriter(file, schema) as writer:
        for rows in batches:
            writer.write_table(rows)


def _flush_directory(folder: Path) -> None:
    if os.name == "nt":  # Windows has no handle for a directory
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise the operating system's error on writing `path` as a RunFolderError of one line."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = "free some space and rerun the command; finished parts are kept"
            raise RunFolderError(f"no space left on the disk to write {path}: {advice}") from error
        raise RunFolderError(f"cannot write {path}: {words_of(error)}; choose another folder") from error


@final
class RunFolder:
    """A folder that holds one run; use it as a context manager, which takes and frees the lock."""

    def __init__(self, path: str | Path, spec: Mapping[str, object]) -> None:
        self.path = Path(path).absolute()  # a target may change the working folder while parts are written
        self.spec = loads(encodable(json.dumps(spec, allow_nan=False, ensure_ascii=False)))

    def __enter__(self) -> RunFolder:
        self._lock = lock_folder(self.path)
        try:
            self._claim()
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: object) -> None:
        try:
            self._keep_log(value)
        finally:
            self._lock.release()

    def _keep_log(self, failure: BaseException | None) -> None:
        """Store the log where the folder is on object storage, unless that has just failed; the first error counts."""
        if isinstance(failure, RunFolderError) or not (self.path / _LOG).exists():
            return
        try:
            working_folders.keep(self.path / _LOG, self.path / _LOG)
        except RunFolderError:
            if failure is None:
                raise

    def _claim(self) -> None:
        """Write run.json, or check that the existing one has the same spec."""
        for place in _WRITTEN_TO:  # ours alone: the folder may hold more
            for leftover in self.path.glob(f"{place}.*{layout.TEMPORARY}"):
                refuse_links(leftover.parent)
                leftover.unlink(missing_ok=True)
        record = self.path / "run.json"
        told = in_plain_words(read_record(self.path), self.spec) if record.exists() else ""
        if told and not self._only_begun():
            raise FolderOfAnotherSpec(f"{self.path} holds a run with different settings: {told}")
        if told or not record.exists():
            stated = {spec_changes.VERSION_KEY: spec_changes.SCHEMA_VERSION, "spec_hash": spec_hash(self.spec)}
            write_json(record, {**stated, **self.spec})

    def _only_begun(self) -> bool:
        """Whether a run ended here before it wrote anything but its record, which another may then replace."""
        there = {file.name for file in self.path.rglob("*") if not file.is_dir()}
        return working_folders.mount_of(self.path) is None and there <= {"run.json", _LOG, LOCK}

    def has_part(self, table: str, index: int) -> bool:
        """Whether part `index` of `table` is finished."""
        return part_files.part_exists(self.path, table, index)

    def write_part(self, table: str, index: int, rows: pa.Table) -> None:
        """Write a finished part; the same rows give the same bytes."""
        content = parquet_of(rows, compression="zstd", write_page_checksum=True)
        path, digest = part_files.part_of(self.path, table, index), part_files.digest_of(self.path, table, index)
        working_folders.keep_part(path, digest, content)
        write_atomically(digest, hashlib.sha256(content).hexdigest())  # first: a part that is there has one
        write_atomically(path, content)

    def read_part(self, table: str, index: int, only: Collection[str] = ()) -> pa.Table:
        """Rows of a finished part, of the columns `only` where some are named."""
        return part_files.read_part(self.path, table, index, only=only)

    def log(self, event: str, **fields: object) -> None:
        """Append one line to log.jsonl: the only file that holds times. It is stored when the folder is left."""
        line = dumps({"time": time.time(), "event": event, **fields}, None)
        refuse_links(self.path / _LOG)
        with disk_errors(self.path / _LOG), (self.path / _LOG).open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def begun(folder: Path) -> str:
    """The day, in UTC, on which an audit began, as its log has it: "28 Nov 2026"; "" without a log."""
    days = []
    for log in (place / _LOG for place in layout.studies_of(folder) or [folder]):
        if log.is_symlink() or not log.is_file():
            continue
        with suppress(OSError, ValueError, KeyError, TypeError, OverflowError), log.open(encoding="utf-8") as lines:
            days.append(datetime.fromtimestamp(loads(lines.readline(_LINE))["time"], UTC))
    return _day(min(days)) if days else ""


def today() -> str:
    """The day, in UTC: "28 Nov 2026"."""
    return _day(datetime.now(UTC))


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"


@final
class FinishedRun:
    """A run folder opened for reading; record: its run.json; memory: bytes of parts that are kept once read."""

    def __init__(self, path: Path, memory: int = 0) -> None:
        self.path = path
        self.record, self._spec_hash = _stored(path)
        self._memory = memory
        self._full = not memory
        self._parts: dict[tuple[str, int], pa.Table] = {}

    @functools.cached_property
    def spec(self) -> RunSpec:
        """The spec of a study. Raises BadInput for that of something else, such as a search."""
        return _spec_of(self.path, self.record)

    @property
    def spec_hash(self) -> str:
        """SHA-256 of the spec as run.json has it, of whatever version: what else refers to the run has this one."""
        return self._spec_hash

    def read_part(
        self, table: str, index: int, *, only: Collection[str] = (), without: Collection[str] = ()
    ) -> pa.Table:
        """Rows of one part: of the columns `only`, or of all but those `without`, whether or not they are there."""
        if (table, index) not in self._parts:
            if self._full:
                return part_files.read_part(self.path, table, index, only=only, without=without)
            rows = part_files.read_part(self.path, table, index)
            self._full = rows.nbytes > self._memory
            if self._full:
                return part_files.narrowed(rows, only=only, without=without)
            self._memory -= rows.nbytes
            self._parts[table, index] = rows
        return part_files.narrowed(self._parts[table, index], only=only, without=without)

    def digest(self, table: str, index: int) -> str:
        """SHA-256 of one part, as it was written; "" where there is none."""
        return part_files.part_digest(self.path, table, index)

    def has_all(self, table: str, parts: int) -> bool:
        """Whether parts 0..parts-1 of a table are there."""
        return self.finished_parts(table, parts) == parts

    def finished_parts(self, table: str, parts: int) -> int:
        """How many of the parts 0..parts-1 of a table are there, from the first to the one before a gap."""
        missing = (index for index in range(parts) if not part_files.part_exists(self.path, table, index))
        return next(missing, parts)

    def read_columns(self, table: str, index: int, without: Sequence[str]) -> pa.Table:
        """One part less the columns `without`, checked by its pages' checksums: its SHA-256 would need them all."""
        return part_files.read_columns(self.path, table, index, without)

    def read_table(self, table: str, parts: int, without: Sequence[str] = ()) -> pa.Table:
        """All rows of parts 0..parts-1, in order, less the columns `without`."""
        if not self.has_all(table, parts):
            there = sum(part_files.part_exists(self.path, table, index) for index in range(parts))
            message = f"{self.path} is not finished ({there} of {parts} parts of {table}): run its command again first"
            raise BadInput(message)

        part_files.fetch_parts(self.path, table, range(parts))
        return pa.concat_tables([self.read_part(table, index, without=without) for index in range(parts)])


def read_spec(path: Path) -> RunSpec:
    """The spec of a study in a folder's run.json."""
    return _spec_of(path, read_record(path))


def _spec_of(path: Path, record: Mapping[str, object]) -> RunSpec:
    try:
        return RunSpec.from_json(record)
    except BadInput as error:
        raise BadInput(f"{path / 'run.json'}: {error}") from None


def read_record(path: Path) -> dict[str, Any]:
    """What a folder's run.json holds, without the hash, as JSON values: of a study, a search or another job."""
    return _stored(path)[0]


def _stored(path: Path) -> tuple[dict[str, Any], str]:
    """The record of a run.json, and its hash."""
    record = path / "run.json"
    try:
        body = loads(record.read_text(encoding="utf-8"))
        spec_changes.check_version(body.pop(spec_changes.VERSION_KEY, None), record)
        stated = body.pop("spec_hash")
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"{path} is not a run folder: expected a run.json in it") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFolderError(
            f"{record} is not a valid record of a run ({words_of(error)}): choose another --out"
        ) from error
    try:
        unchanged = stated == spec_hash(body)
    except ValueError:  # NaN, which no run writes
        unchanged = False
    if not unchanged:
        raise RunFolderError(f"{record} was changed after it was written: restore it, or choose another --out")
    return body, stated


def clear_run(folder: Path) -> None:
    """Delete what a run wrote into a folder; other files stay."""
    if not layout.is_run(folder):
        raise RunFolderError(f"{folder}: no run to overwrite; choose another --out")
    places = [folder, *layout.studies_of(folder)]
    for place in places:
        _refuse_to_clear(folder, place)
    with ExitStack() as locks:
        for place in places:
            locks.callback(lock_folder(place).release)
        for place in layout.beside(folder):
            lock_folder(place).release()  # no live run has it, and none can begin one: it would need the lock above
        for place in reversed(places):
            for name in layout.OWN_FOLDERS:
                with disk_errors(place / name):
                    working_folders.discard_folder(place / name)
            for name in layout.OWN_FILES:
                with disk_errors(place / name):
                    working_folders.discard(place / name)


def _refuse_to_clear(folder: Path, place: Path) -> None:
    """Raises RunFolderError or BadInput where a run's folder may not be cleared."""
    for name in ("", *layout.OWN_FOLDERS, *layout.OWN_FILES):
        refuse_links_in(folder, place / name)
    if layout.is_one_run(place):
        read_spec(place)  # refuses what is no audit's
    if kept := [name for name in layout.OF_PEOPLE if (place / name).exists()]:
        raise RunFolderError(
            f"{place / kept[0]}: --overwrite would delete the images that people rated; choose another --out"
        )


_ADVICE: Final = "rerun its command to finish it"


def mark_unfinished(folder: Path) -> None:
    """Note that more follows, where no report says that all was made."""
    if not (folder / layout.MANIFEST).exists():
        write_atomically(folder / layout.UNFINISHED, f"This audit is not finished: {_ADVICE}.\n")


def mark_finished(folder: Path) -> None:
    """Note that all was made."""
    working_folders.discard(folder / layout.UNFINISHED)


def unfinished_sentences(folder: Path) -> Iterator[str]:
    """What an audit that was stopped did not make, in a sentence each; nothing of one that was not."""
    parts = [text for place in layout.beside(folder) if (text := _missing_parts(folder, place))]
    if (folder / layout.UNFINISHED).is_file():
        made = f" ({'; '.join(parts)})" if parts else ""
        yield f"The audit was stopped before its end{made}: {_ADVICE}."
        return
    for text in parts:
        yield f"The audit is not complete ({text}): it was stopped, or too many images had no answer; {_ADVICE}."


def _missing_parts(folder: Path, place: Path) -> str:
    """How many parts a small run beside the tables has; "" where it has all, or says nothing that can be read."""
    try:
        run = FinishedRun(place)
        tables = ["images", *(table for target in run.spec.targets for table in target.tables)]
        there = min(run.finished_parts(table, run.spec.parts) for table in tables)
    except TransectError:
        return ""
    if there == run.spec.parts:
        return ""
    return f"{place.relative_to(folder).as_posix()} has {there} of {counted(run.spec.parts, 'part')}"

"""The annotation database: an embedded SQLite file, or PostgreSQL by its address.

SQLite runs in WAL mode with full synchronisation, so that an acknowledged answer outlives a killed server and a power
cut. Each write is one transaction; PostgreSQL's conflicts between writers are tried again.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar, final

from transect.errors import BadInput, MissingExtra
from transect.texts import words_of

try:
    import sqlalchemy as sa
    from sqlalchemy import Connection, Engine, event
    from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
except ModuleNotFoundError:
    raise MissingExtra("annotate", "the annotation service") from None

from transect.annotation import schema
from transect.runs.locks import make_private, use_write_ahead_log

_T = TypeVar("_T")
_TRIES: Final = 8
VERSION: Final = "1"
"""Of the tables in `schema`: raise it when they change."""
_VERSION: Final = "schema_version"
_LOCK: Final = 0x7472616E  # any number of ours, for PostgreSQL's advisory lock
_CONFLICTS: Final = {"40001", "40P01", "55P03"}
"""PostgreSQL: serialization failure, deadlock, lock not available."""


@final
class NotCreated(BadInput):
    """There are no ratings at an address yet."""

    def __init__(self, address: str) -> None:
        super().__init__(f"{address}: no database of ratings; create it with transect annotate serve or invite")


@final
class Unusable(BadInput):
    """The database takes or gives nothing now: a full disk, a server that is down, missing rights."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"{address}: cannot be used as a database: {reason}; free space, or fix its permissions")
        self.reason = reason


@final
class Database:
    """An open annotation database of the current version, safe to share between threads; make: begin one."""

    def __init__(self, address: str | Path, make: bool = True) -> None:
        self.address, self._make = shown(address), make
        file = _file_of(address)
        if not make and file is not None and not file.exists():
            raise NotCreated(self.address)
        self._engine = _engine(address)
        try:
            self._prepare()
        except BaseException:
            self._engine.dispose()
            raise

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that only reads, and sees one state of the database."""
        try:
            with self._engine.connect().execution_options(transect_reads=True) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._unusable(error) from None

    def write(self, work: Callable[[Connection], _T]) -> _T:
        """Run `work` in one transaction, again where another writer was in the way; it is on disk when this returns."""
        for attempt in range(_TRIES):
            try:
                with self._engine.begin() as connection:
                    return work(connection)
            except SQLAlchemyError as error:
                if attempt == _TRIES - 1 or not _conflict(error):
                    raise self._unusable(error) from None
                time.sleep(random.uniform(0, 0.01 * 2**attempt))  # noqa: S311  (spreads writers, hides nothing)
        raise AssertionError("unreachable")

    def setting(self, name: str) -> str | None:
        """What is kept under a name."""
        with self.reading() as connection:
            return read_setting(connection, name)

    def _unusable(self, error: SQLAlchemyError) -> Unusable:
        return Unusable(self.address, words_of(getattr(error, "orig", None) or error))

    def set(self, values: Mapping[str, str]) -> None:
        """Keep these under their names, in place of what was there."""

        def work(connection: Connection) -> None:
            for name, value in values.items():
                write_setting(connection, name, value)

        self.write(work)

    def _prepare(self) -> None:
        """Make the tables where there are none yet, or check that they are those of this version."""

        def work(connection: Connection) -> None:
            if self._engine.dialect.name != "sqlite":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            if not self._is_ready(connection):
                schema.metadata.create_all(connection)
                write_setting(connection, _VERSION, VERSION)

        with self.reading() as connection:
            ready = self._is_ready(connection)
        if not ready and not self._make:
            raise NotCreated(self.address)
        if not ready:
            self.write(work)

    def _is_ready(self, connection: Connection) -> bool:
        """Whether the tables are there. Raises BadInput for those of something else, or of another version."""
        tables = sa.inspect(connection).get_table_names()
        if not tables:
            return False
        if schema.settings.name not in tables:
            raise _another(self.address, tables)
        if (there := read_setting(connection, _VERSION)) != VERSION:
            raise BadInput(
                f"{self.address}: expected an annotation database of version {VERSION}, got {there}: choose "
                "another with --database"
            )
        return True


def read_setting(connection: Connection, name: str) -> str | None:
    """What is kept under a name."""
    value = connection.execute(sa.select(schema.settings.c.value).where(schema.settings.c.name == name)).scalar()
    return None if value is None else str(value)


def write_setting(connection: Connection, name: str, value: str) -> None:
    """Keep a value under a name."""
    table = schema.settings
    changed = connection.execute(table.update().where(table.c.name == name).values(value=value))
    if not changed.rowcount:
        connection.execute(table.insert().values(name=name, value=value))


def shown(address: str | Path) -> str:
    """An address without its password."""
    if isinstance(address, Path) or "://" not in address:
        return str(address)
    scheme, _, rest = address.partition("://")
    user, at, place = rest.rpartition("@")  # a password may hold what ends a host elsewhere: / ? #
    return f"{scheme}://{user.partition(':')[0]}{at}{place.partition('?')[0]}"


def _file_of(address: str | Path) -> Path | None:
    """The file of an embedded database; None of a server's."""
    if isinstance(address, Path) or "://" not in address:
        return Path(address)
    return Path(address.removeprefix("sqlite:///")) if address.split("://")[0] == "sqlite" else None


def _engine(address: str | Path) -> Engine:
    if (path := _file_of(address)) is not None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            make_private(path)
            _check_ours(path)
        except OSError as error:
            raise BadInput(f"{path}: cannot be used as a database: {words_of(error)}; choose another place") from None
        return _sqlite(path)
    scheme, _, rest = str(address).partition("://")
    if scheme not in ("postgresql", "postgres", "postgresql+psycopg"):
        raise BadInput(f"--database {shown(address)}: expected a file or postgresql://…, got {scheme}://")
    try:
        return sa.create_engine(f"postgresql+psycopg://{rest}", pool_size=10, max_overflow=40, pool_pre_ping=True)
    except ModuleNotFoundError:
        raise MissingExtra("postgres", "a PostgreSQL database") from None
    except (ArgumentError, NoSuchModuleError, ValueError) as error:
        raise BadInput(f"--database {shown(address)}: expected an address, got {words_of(error)}") from None


def _check_ours(path: Path) -> None:
    """Refuse a database of another program before anything is written to it."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        try:
            names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        except sqlite3.Error:  # what is wrong is said where it is used
            return
    if names and schema.settings.name not in names:
        raise _another(str(path), names)


def _another(address: str, tables: Iterable[str]) -> BadInput:
    return BadInput(
        f"{address}: expected an annotation database or an empty one, got tables "
        f"{', '.join(sorted(tables)[:3])}; choose another with --database"
    )


def _sqlite(path: Path) -> Engine:
    address = sa.URL.create("sqlite", database=str(path))  # as a text, a ? in it would end the path
    engine = sa.create_engine(address, connect_args={"timeout": 60, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions are begun below
        use_write_ahead_log(connection, seconds=60)
        for pragma in ("busy_timeout = 60000", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # A writer that first reads would fail when another wrote in between; it takes the lock at once instead.
        reads = connection.get_execution_options().get("transect_reads")
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")

    return engine


def _conflict(error: SQLAlchemyError) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    state = getattr(error.orig, "sqlstate", None)
    return state in _CONFLICTS or error.connection_invalidated or "database is locked" in str(error.orig)

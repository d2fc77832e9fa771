"""Databases to try: an embedded file, and a PostgreSQL server where there is one."""

import itertools

import pytest
from postgres_server import empty_database, server

pytest.importorskip("sqlalchemy", reason="needs the annotation service: pip install 'transect[annotate]'")

_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    pytest.importorskip("psycopg", reason="needs PostgreSQL's driver: pip install 'transect[postgres]'")
    # The folders above a pytest folder are the owner's alone; the server's user has to reach its own.
    import tempfile
    from pathlib import Path

    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        Path(folder).chmod(0o755)
        with server(Path(folder) / "server") as address:
            yield address


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "ratings.sqlite")
    return empty_database(request.getfixturevalue("postgres"), f"test{next(_numbers)}")

"""Shape checking on request: jaxtyping's annotations hold at run time. And: no property fails of a busy machine."""

import functools
import gc
import importlib.util
import itertools
import os
import signal
import tempfile
import threading
from pathlib import Path

import pytest
import typer.main
import typer.testing
from jaxtyping import install_import_hook
from nightly import load_profile, pytest_terminal_summary, try_more  # noqa: F401  (pytest calls the summary)

# Checking every call takes as long as the tests: it is on for the examples of all docstrings and for `make lowest`.
_hook = install_import_hook("transect", "shape_checker.check") if os.environ.get("CHECK_SHAPES") else None

load_profile()

# No test cuts the power: what a kill leaves is the same, and waiting for the disk took a third of many tests.
os.fsync = lambda _handle: None

# A shell that starts tests in the background has them ignore Ctrl-C, which some tests send to themselves.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Typer makes every command and option anew for each call, which takes .2 s.
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)

SERVERS = {"postgres", "s3_port"}
_numbers = itertools.count()
collect_ignore_glob = [] if importlib.util.find_spec("sqlalchemy") else ["annotation/*"]


def pytest_addoption(parser):
    parser.addoption("--update-snapshots", action="store_true", help="write the texts of tests/snapshots anew")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """What is collected stays to the end: looking through it for garbage, again and again, took a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items):
    """More examples where they are asked for, and the longest first: begun last, one of minutes has a core to itself.

    What needs a browser or a server is an integration test.
    """
    for item in items:
        if item.get_closest_marker("browser") or not SERVERS.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.integration)
    try_more(items)
    items.sort(key=lambda item: -_most_seconds(item))


def _most_seconds(item):
    limit, slow = item.get_closest_marker("timeout"), item.get_closest_marker("slow") is not None
    return limit.args[0] if limit else 60 * slow


@pytest.fixture(autouse=True)
def here(request, monkeypatch):
    """Targets run in the tests' process, where they can be replaced; tests marked `isolated` see the default."""
    if not request.node.get_closest_marker("isolated"):
        monkeypatch.setattr("transect.targets.resolution.ISOLATE", False)


@pytest.fixture(scope="session")
def canonical(tmp_path_factory):
    """The finished runs that many tests read, by name: see support/canonical.py."""
    from canonical import Canonical, shared_base

    return Canonical(shared_base(tmp_path_factory))


@pytest.fixture
def snapshot(request):
    """Compares a text with the one that is kept under a name: see support/snapshots.py."""
    from snapshots import check

    return functools.partial(check, update=request.config.getoption("--update-snapshots"))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory):
    """The address of a PostgreSQL server of our own."""
    pytest.importorskip("psycopg", reason="needs PostgreSQL's driver: pip install 'transect[postgres]'")
    from postgres_server import server

    # The folders above a pytest folder are the owner's alone; the server's user has to reach its own.
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        Path(folder).chmod(0o755)
        with server(Path(folder) / "server") as address:
            yield address


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.integration)])
def address(request, tmp_path):
    """An empty database of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "ratings.sqlite")
    from postgres_server import empty_database

    return empty_database(request.getfixturevalue("postgres"), f"test{next(_numbers)}")


@pytest.fixture(scope="session")
def s3_port():
    """The port of a server of object storage of our own."""
    pytest.importorskip("moto", reason="needs a server of object storage: pip install 'moto[s3]' flask flask-cors")
    pytest.importorskip("obstore", reason="needs the client of object storage: pip install 'transect[storage]'")
    from object_storage import s3_server

    with s3_server() as port:
        yield port


@pytest.fixture
def bucket(s3_port, monkeypatch):
    """An empty bucket, which the environment tells how to reach; what was opened is closed at the end."""
    from object_storage import KEY, SECRET, Bucket

    from transect.runs import working_folders

    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{s3_port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    yield Bucket(s3_port)
    working_folders.close_all()


@pytest.fixture
def proxy(bucket, monkeypatch):
    """A proxy before the bucket's server, which fails as `proxy.fault` says; requests are repeated at once."""
    from datetime import timedelta

    from object_storage import faulty

    monkeypatch.setattr("transect.runs.object_storage.RETRIES", 1)
    monkeypatch.setattr("transect.runs.object_storage.SECONDS", timedelta(seconds=10))
    monkeypatch.setattr("transect.runs.object_storage.WAIT", 0.0)
    with faulty(bucket.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy

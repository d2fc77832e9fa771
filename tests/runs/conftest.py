"""Bounds of memory that tests can reach, and storage in memory behind addresses."""

from collections import defaultdict

import pytest

from transect.runs import bounds, object_storage, working_folders


@pytest.fixture
def small_bound(monkeypatch):
    """One MiB for a file of any size, so that no test needs a real bomb."""
    monkeypatch.setattr(bounds, "LEAST", 1 << 20)
    monkeypatch.setattr(bounds, "FACTOR", 0)


@pytest.fixture
def address(monkeypatch):
    """The address of an empty folder on storage that lives as long as the test; `stores.Store` opens it again."""
    library = pytest.importorskip("obstore.store")
    kept = defaultdict(library.MemoryStore)
    monkeypatch.setattr(object_storage, "_connected", lambda address: kept[address])
    yield "s3://memory/run"
    working_folders.close_all()

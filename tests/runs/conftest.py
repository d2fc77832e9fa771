"""Bounds of memory that tests can reach, and storage in memory, which no user may name."""

from unittest import mock

import pytest

from transect.runs import addresses, bounds


@pytest.fixture
def small_bound(monkeypatch):
    """One MiB for a file of any size, so that no test needs a real bomb."""
    monkeypatch.setattr(bounds, "LEAST", 1 << 20)
    monkeypatch.setattr(bounds, "FACTOR", 0)


@pytest.fixture(autouse=True)
def memory_storage():
    """Addresses as memory://run, whose runs live as long as this process."""
    with mock.patch.dict(addresses._UNWRITABLE):
        addresses._UNWRITABLE.pop("memory", None)
        yield

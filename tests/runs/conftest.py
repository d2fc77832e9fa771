"""Bounds of memory that tests can reach."""

import pytest

from transect.runs import bounds


@pytest.fixture
def small_bound(monkeypatch):
    """One MiB for a file of any size, so that no test needs a real bomb."""
    monkeypatch.setattr(bounds, "LEAST", 1 << 20)
    monkeypatch.setattr(bounds, "FACTOR", 0)

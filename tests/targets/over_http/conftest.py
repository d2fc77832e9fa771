"""The secret that the test servers ask for."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(autouse=True)
def acme_key(monkeypatch):
    monkeypatch.setenv("ACME_KEY", "correct-horse-battery")

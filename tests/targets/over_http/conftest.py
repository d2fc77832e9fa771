"""The secret that the test servers ask for."""

import pytest


@pytest.fixture(autouse=True)
def acme_key(monkeypatch):
    monkeypatch.setenv("ACME_KEY", "correct-horse-battery")

"""Audits whose tables alone matter."""

import pytest


@pytest.fixture
def without_page(monkeypatch):
    """Tables are made and nothing is estimated of them, which takes most of the time."""
    monkeypatch.setattr("transect.jobs.audit.run.reporting.report", lambda *_, **__: None)
    monkeypatch.setattr("transect.jobs.audit.run._with_costs", lambda *_: None)

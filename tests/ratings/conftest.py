"""A finished run to rate, and one of two studies."""

import audited
import auditing
import pytest


@pytest.fixture
def folder(tmp_path):
    """Three subjects with and without glasses."""
    run = tmp_path / "run"
    options = {"image_size": 32, "quiet": True, "control": False, "outcomes": ["score"]}
    auditing.audit(audited.brightness, vary=["glasses=0,1"], subjects=3, out=run, **options)
    return run


@pytest.fixture
def several(folder, tmp_path):
    """The run and a walk of its subjects, whose images have the same ids."""
    path = tmp_path / "several"
    options = {"image_size": 32, "quiet": True, "control": False, "outcomes": ["score"]}
    auditing.audit(audited.brightness, steps=["age=0,1"], subjects=3, out=path / "studies" / "steps-age", **options)
    folder.rename(path / "studies" / "experiment")
    return path

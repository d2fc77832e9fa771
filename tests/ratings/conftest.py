"""A finished run to rate, and one of two studies."""

import shutil

import audited
import auditing
import pytest

OPTIONS = {"image_size": 32, "quiet": True, "control": False, "outcomes": ["score"]}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Made once: tests change copies."""
    path = tmp_path_factory.mktemp("rated")
    auditing.audit(audited.brightness, vary=["glasses=0,1"], subjects=3, out=path / "run", **OPTIONS)
    auditing.audit(audited.brightness, steps=["age=0,1"], subjects=3, out=path / "steps-age", **OPTIONS)
    return path


@pytest.fixture
def folder(made, tmp_path):
    """Three subjects with and without glasses."""
    return shutil.copytree(made / "run", tmp_path / "run")


@pytest.fixture
def several(made, tmp_path):
    """The run and a walk of its subjects, whose images have the same ids."""
    for name in ("run", "steps-age"):
        shutil.copytree(made / name, tmp_path / "several" / "studies" / name.replace("run", "experiment"))
    return tmp_path / "several"

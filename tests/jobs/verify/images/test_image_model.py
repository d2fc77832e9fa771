"""A network is taught, asked and kept: the smallest whole run, through the command line."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from transect.cli.app import app
from transect.generators.faceworld.world import FaceWorld
from transect.jobs.verify.images import sizes as sizes_module
from transect.jobs.verify.images.sizes import AUDITED, QUICK
from transect.jobs.verify.images.study import compare_methods
from transect.runs.plain_json import plain

TINY = replace(QUICK, training=24, held_out=6, truth=3, observed=40, experiment=4, budgets=(40,), repeats=2)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    return folder, compare_methods(TINY, folder, quiet=True)


def test_every_stage_is_kept(made):
    folder, found = made
    for name in ("training-0000", "performance", "truth-0000", "observed-0000", "experiment-0000"):
        assert list(folder.glob(f"{name}-*")), name
    assert list(folder.glob("smile-network-*.safetensors"))
    assert found.model.pictures == 6
    assert found.interventions == 3 * len(AUDITED)


def test_the_command_resumes(made, monkeypatch):
    folder, found = made
    monkeypatch.setattr(sizes_module, "QUICK", TINY)
    monkeypatch.setattr(FaceWorld, "render", lambda *_: pytest.fail("rendered again"))
    monkeypatch.setattr("transect.jobs.verify.learning._step", lambda *_: pytest.fail("trained again"))
    done = CliRunner().invoke(app, ["verify", "images", "--quick", "--json", "--out", str(folder)])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["images"] == plain(found)
    shown = CliRunner().invoke(app, ["verify", "images", "--quick", "--out", str(folder)])
    assert "What 40 images say, in points (2 draws)" in shown.stdout


def test_another_seed_is_another_model(made, monkeypatch):
    class Trained(Exception):
        pass

    def step(*_):
        raise Trained

    monkeypatch.setattr("transect.jobs.verify.learning._step", step)
    with pytest.raises(Trained):
        compare_methods(replace(TINY, seed=1), made[0], quiet=True)

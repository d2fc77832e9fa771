"""A conditional GAN's conditions validated by raters: the questions, and the share seen as another, by hand."""

import json
import tomllib

import audited
import auditing
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from transect.analysis import finished_run
from transect.annotation.condition_questions import write_questions
from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.project import open_project
from transect.annotation.questions import load
from transect.cli.app import app
from transect.errors import BadInput
from transect.generators.progressive.generator import Network, Shape
from transect.jobs.render import render


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Two subjects of an untrained GAN, race x gender; of one image most of five raters see the other gender."""
    folder = tmp_path_factory.mktemp("gan")
    torch.manual_seed(0)
    conditions = json.dumps([["race", ["Black", "White"]], ["gender", ["man", "woman"]]])
    weights = Network(Shape(6, 4, {4: 4, 8: 4, 16: 4})).state_dict()
    save_file(weights, folder / "gan.safetensors", {"architecture": "progressive", "conditions": conditions})
    options = {"generator": str(folder / "gan.safetensors"), "quiet": True, "control": False}
    auditing.audit(audited.brightness, vary=["race", "gender"], subjects=2, out=folder / "run", **options)
    assert write_questions(folder / "run", folder / "q.toml") == ["quality", "race", "gender"]
    project = open_project(folder / "run", None, (str(folder / "q.toml"),))
    given = []
    for k, row in enumerate(finished_run.read(folder / "run").images.to_pylist()):
        for r in range(5):
            level = int(row["intended.gender"])
            seen = 1 - level if k == 0 and r < 3 else level
            answers = {"gender": seen, "race": int(row["intended.race"]), "quality": 3 + (r == k % 5)}
            given += [Incoming("test", "", row["id"], "", name, f"r{r}", value) for name, value in answers.items()]
    take_in(project, given, 1.0)
    project.database.close()
    return folder / "run"


@pytest.mark.integration
@pytest.mark.parametrize(("question", "differing"), [("gender", 1), ("race", 0)])
def test_each_condition_is_judged_by_its_own_question(drawn, question, differing):
    words = ["validate", str(drawn), "--condition", question, "--min-images", "2", "--quality-margin", "5", "--json"]
    done = CliRunner().invoke(app, ["annotate", *words], catch_exceptions=False)
    (found,) = json.loads(done.stdout).values()
    every = found["groups"][0]
    assert (every["judged"], every["differing"], every["share"]) == (8, differing, differing / 8)
    assert every["low"] <= every["share"] < every["high"]


def test_questions_are_written_from_the_levels_that_were_set(tmp_path):
    """Names of levels and their values; what a run of samples lacks is refused."""
    options = {"subjects": 1, "image_size": 32, "data_set": True, "quiet": True}
    render(tmp_path / "run", vary=["glasses=none,thick frame", "skin_tone=2,9"], **options)
    words = ["questions", str(tmp_path / "run"), str(tmp_path / "q.toml"), "--json"]
    said = json.loads(CliRunner().invoke(app, ["annotate", *words]).stdout)
    assert said["questions"] == ["quality", "glasses", "skin_tone"]
    quality, glasses, tone = tomllib.loads((tmp_path / "q.toml").read_text())["question"]
    assert quality["name"] == "quality"
    assert [(each["name"], each["value"]) for each in glasses["levels"]] == [("none", 0.0), ("thick frame", 2.0)]
    assert (tone["text"], tone["attribute"]) == ("Which skin tone does the face show?", "skin_tone")
    assert [(each["name"], each["value"]) for each in tone["levels"]] == [("2", 2.0), ("9", 9.0)]
    assert load([tmp_path / "q.toml"]).plan.per_cell == 50  # as published
    render(tmp_path / "samples", **options)
    with pytest.raises(BadInput, match="expected a run that sets attributes"):
        write_questions(tmp_path / "samples", tmp_path / "none.toml")

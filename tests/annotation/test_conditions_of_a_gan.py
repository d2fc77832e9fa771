"""A conditional GAN's conditions validated by raters: the question set, and the share seen as another, by hand."""

import json

import audited
import auditing
import pytest
import torch
from safetensors.torch import save_file
from typer.testing import CliRunner

from transect.analysis import finished_run
from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.project import open_project
from transect.generators.progressive.generator import Network, Shape
from transect.jobs.annotate.command import annotate


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """Two subjects of an untrained GAN at all conditions; of one image most of five raters see the other glasses."""
    folder = tmp_path_factory.mktemp("gan")
    torch.manual_seed(0)
    conditions = json.dumps([["glasses", ["off", "on"]], ["skin_tone", ["below 5.5", "from 5.5"]]])
    weights = Network(Shape(6, 4, {4: 4, 8: 4, 16: 4})).state_dict()
    save_file(weights, folder / "gan.safetensors", {"architecture": "progressive", "conditions": conditions})
    options = {"generator": str(folder / "gan.safetensors"), "quiet": True, "control": False}
    auditing.audit(audited.brightness, vary=["glasses=0,1", "skin_tone=0,1"], subjects=2, out=folder / "run", **options)
    project = open_project(folder / "run", None, ("conditions",))
    given = []
    for k, row in enumerate(finished_run.read(folder / "run").images.to_pylist()):
        for r in range(5):
            level = int(row["intended.glasses"])
            seen = 1 - level if k == 0 and r < 3 else level
            answers = {"glasses": seen, "skin": int(row["intended.skin_tone"]), "quality": 3 + (r == k % 5)}
            given += [Incoming("test", "", row["id"], "", name, f"r{r}", value) for name, value in answers.items()]
    take_in(project, given, 1.0)
    project.database.close()
    return folder / "run"


@pytest.mark.integration
@pytest.mark.parametrize(("question", "differing"), [("glasses", 1), ("skin", 0)])
def test_each_condition_is_judged_by_its_own_question(drawn, question, differing):
    words = ["validate", str(drawn), "--condition", question, "--min-images", "2", "--quality-margin", "5", "--json"]
    done = CliRunner().invoke(annotate, words, catch_exceptions=False)
    (found,) = json.loads(done.stdout).values()
    every = found["groups"][0]
    assert (every["judged"], every["differing"], every["share"]) == (8, differing, differing / 8)
    assert every["low"] <= every["share"] < every["high"]

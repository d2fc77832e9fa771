"""Each target is judged by its own right answers."""

import audited
import numpy as np
import pytest

import transect
from transect.errors import BadInput


class Always:
    """Says yes, or no, to every image."""

    task = "binary"

    def __init__(self, name, score):
        self.name, self.score = name, score

    def predict(self, images):
        return np.full(len(images), self.score)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    settings = {"vary": ["glasses=0,1", "skin_tone=1,10"], "subjects": 6, "image_size": 32, "outcomes": ["error"]}
    targets = [Always("glasses", 0.9), Always("hats", 0.9), Always("tones", 0.1)]
    truths = ["glasses=glasses", "hats=hat", "tones=skin_tone>5"]
    return transect.audit(targets, truth=truths, **settings, out=tmp_path_factory.mktemp("run"), quiet=True)


def test_errors_are_counted_against_the_targets_own_truth(result):
    """Yes to everything errs without glasses; no to everything errs on dark skin."""
    estimates = {
        (effect.target, effect.attribute): effect.estimate for effect in result.effects if effect.kind == "contrast"
    }
    assert estimates["glasses", "glasses"] == -1
    assert estimates["glasses", "skin_tone"] == 0
    assert estimates["tones", "skin_tone"] == 1
    assert estimates["tones", "glasses"] == 0
    (study,) = result.results["studies"]
    assert study["truth"] == "glasses: glasses; hats: hat; tones: skin_tone>5"
    assert [target["truth"] for target in study["targets"]] == ["glasses", "hat", "skin_tone>5"]


def test_there_is_no_verdict_on_errors_by_each_targets_own_attribute(result):
    """Where the right answer changes with the attribute, its effect on errors says nothing about bias."""
    judged = {(row["target"], row["attribute"]) for row in result.results["verdicts"]}
    assert not judged & {("glasses", "glasses"), ("tones", "skin_tone")}
    assert ("glasses", "skin_tone") in judged


@pytest.mark.integration
def test_a_target_without_a_truth_has_no_errors(tmp_path):
    settings = {"vary": "glasses=0,1", "subjects": 4, "image_size": 32, "quiet": True, "out": tmp_path}
    with pytest.raises(BadInput, match="outcome 'error' is not offered for a binary target.*give `truth`"):
        transect.audit([Always("a", 0.9), Always("b", 0.9)], truth="a=glasses", outcomes="error", **settings)
    result = transect.audit([Always("a", 0.9), Always("b", 0.9)], truth="a=glasses", **settings)
    assert {(effect.target, effect.outcome) for effect in result.effects} == {
        ("a", "answer"), ("a", "error"), ("b", "answer"), ("b", "score"),
    }  # fmt: skip
    assert result.results["studies"][0]["truth"] == "a: glasses; b: none"


@pytest.fixture(scope="module")
def bright(tmp_path_factory):
    """Dark skin darkens the image of each of twelve subjects: p = 2 / 2^12 on the score."""
    settings = {"vary": ["glasses=0,1", "skin_tone=1,10"], "subjects": 12, "image_size": 32}
    return transect.audit(audited.brightness, **settings, out=tmp_path_factory.mktemp("bright"), quiet=True)


def test_picked_effects_have_the_interval_of_the_selections_level(bright):
    """Two attributes on answer and score are four candidates."""
    selection = bright.results["selection"]
    found = [row["effect"] for row in bright.results["verdicts"] if row["verdict"] == "found"]
    assert [picked["effect"] for picked in selection["effects"]] == found
    largest = max((bright.results["effects"][place] for place in found), key=lambda effect: abs(effect["estimate"]))
    assert largest["name"] == "skin_tone: 1 to 10"
    assert selection["of"] == 4
    assert selection["confidence"] == pytest.approx(1 - 0.05 * len(found) / 4)
    for picked in selection["effects"]:
        effect = bright.results["effects"][picked["effect"]]
        assert picked["low"] < effect["low"] <= effect["estimate"] <= effect["high"] < picked["high"]
        assert abs(picked["shrunken"]) <= abs(effect["estimate"])

"""The published protocol prints the spread between rounds, which is no interval: nothing is concluded from it."""

import re

import numpy as np
import pytest
from leaky_data import planted

import transect
from transect import LeakageOptions, ModelPredictions

N = 400
ROUNDS = 3


def table():
    data = planted(n=N)
    gender = np.where(data.protected == 1, "woman", "man")
    split = np.array(["train", "val", "train", "test"])[np.arange(N) % 4]
    return {"id": list(data.ids), "verb": data.labels.category, "gender": gender, "split": split}


def scored(push):
    scores = np.random.default_rng(0).normal(size=(N, 4)) + 2 * np.eye(4)[table()["verb"]]
    scores[:, 0] += push * (table()["gender"] == "man")
    return {"id": table()["id"], "verb": scores}


@pytest.fixture(scope="module", params=[True, False], ids=["published", "intervals"])
def two_models(request):
    options = LeakageOptions(permutations=0, rounds=ROUNDS, curve=False, f1=(90,), as_published=request.param)
    models = [ModelPredictions("plain", scored(0.0)), ModelPredictions("leaky", scored(20.0))]
    return transect.leakage(
        table(), "gender", "verb", split="split", predictions=models, attacker="logistic", options=options, quiet=True
    )


def shown(result, folder):
    """The words of the page and of the terminal."""
    page = re.sub(r"<[^>]+>", " ", result.report(folder).read_text())
    return " ".join(page.split()), f"{result.headline()} {result.content.lines()}"


def test_which_model_gives_away_more_is_said_by_an_interval_alone(two_models, tmp_path):
    """The second model puts its gender into a score, so that both protocols see a difference far from zero."""
    (apart,) = two_models.numbers.differences
    assert apart.difference.low > 10
    published = two_models.numbers.published_protocol
    for words in shown(two_models, tmp_path):
        assert ("leaky reveals more than plain" in words) is not published
        assert ("so it is inconclusive which of them reveals more" in words) is published
        assert ("95 % interval" in words) is not published
        assert ("spread between rounds" in words) is published

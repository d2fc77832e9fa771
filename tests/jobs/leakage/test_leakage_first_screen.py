"""The first screen of a leakage page: claims first, each as far as its interval goes, then the numbers."""

from dataclasses import replace

import numpy as np
import pytest
from leaky_data import planted
from report_reader import parse, text_of

from transect.attacks import Settings, analyse, model_outputs
from transect.attacks.attackers import Logistic
from transect.attacks.balance import overview
from transect.attacks.numbers import numbers_of
from transect.job import Finished
from transect.jobs.leakage import Leakage


def analysed(excess, scored=True):
    """Labels that lean to a class by an excess, and a model that knows the label and nothing else."""
    data = planted(n=1600, excess=excess)
    scores = np.random.default_rng(0).normal(size=(1600, 4)) + 2 * data.labels.dense(np.arange(1600))
    outputs = model_outputs(data, scores) if scored else None
    return numbers_of(
        analyse(data, Logistic(), outputs=outputs, settings=Settings(permutations=20)), overview(data), "x"
    )


def sentences(numbers, folder):
    tree = parse(Finished(numbers, Leakage({})).report(folder).read_text())
    answer = next(element for element in tree.iter() if element.get("class") == "answer")
    return [" ".join(text_of(element).split()) for element in answer.iter("p")]


@pytest.mark.parametrize(
    ("low", "high", "claim"),
    [
        (0.5, 9.0, "The model's predictions reveal more than the labels explain."),
        (-9.0, -0.5, "The model's predictions reveal less than the labels explain."),
        (float("nan"), float("nan"), "The model's predictions may or may not reveal more than the labels explain."),
    ],
)
def test_the_claim_about_the_model_is_that_of_the_interval(low, high, claim, tmp_path):
    numbers = analysed(0.25)
    numbers = replace(numbers, amplification=replace(numbers.amplification, low=low, high=high))
    assert sentences(numbers, tmp_path)[1].startswith(claim)


def test_an_interval_clear_of_chance_shows_nothing_where_permutations_reach_as_far(tmp_path):
    numbers = analysed(0.25)
    assert numbers.dataset_leakage.low > numbers.chance
    far = replace(numbers, null=replace(numbers.null, high=numbers.dataset_leakage.estimate + 1))
    assert sentences(far, tmp_path)[0].startswith("The labels are not shown to reveal protected.")

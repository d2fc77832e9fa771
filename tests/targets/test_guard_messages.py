"""What is said of a target that fails on everything, or that answers one image at a time."""

import numpy as np
import pytest

from transect.errors import TooManyFailures
from transect.records import Images
from transect.targets import as_target
from transect.targets.guard import FailureBudget, guarded


def test_a_target_that_answers_each_image_and_not_several_is_told_once(capsys):
    """One row for whatever it gets: each image alone is answered, at the price of a failed call for each batch."""
    budget = FailureBudget("one", 100)
    target = as_target(lambda pixels: np.array([0.5]), name="one")
    for _ in range(2):
        answers = guarded(target, Images(np.zeros((6, 8, 8, 3), np.uint8)), timeout=5, batch=3, budget=budget)
    assert answers.failures == ("",) * 6
    assert capsys.readouterr().err.splitlines() == [
        "one gave no answer to a call with 3 images (expected one row of scores for each of 3 images, got an array "
        "[1, 1]) and answers each image alone: let it return one row for each image, or give --batch 1"
    ]


def test_where_every_image_fails_more_failures_are_no_remedy():
    budget = FailureBudget("m:bad", 40)
    with pytest.raises(TooManyFailures) as stop:
        budget.add(["bad", "worse", "bad"])
    assert str(stop.value).startswith("m:bad failed on each of the first 3 images; most often (2): bad; fix the model")
    assert "--max-failures" not in str(stop.value)

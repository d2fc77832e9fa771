"""Failures to enrol: counted by group with intervals by identity, apart from failures of the model."""

import io

import numpy as np
import pytest
from PIL import Image

import transect
from transect.analysis.recognizers.benchmark import enrolment
from transect.effects.intervals import wilson
from transect.jobs.recognition import RecognitionOptions
from transect.targets import as_target
from transect.targets.preprocess import ARCFACE, NO_LANDMARKS


def column(*values):
    return np.array([*values, None], dtype=object)[:-1]


def test_the_counts_by_hand():
    """Group a: 1 of 4 shown, a picture of each of four people; b: 0 of 2, whose model failed once."""
    reasons = [NO_LANDMARKS, "", "", "", "no picture", "raised ValueError: no", ""]
    groups = column("a", "a", "a", "a", "a", "b", "b")
    numbers = enrolment(reasons, column("p", "q", "r", "s", "t", "u", "v"), groups, "no picture")
    assert [(one.group, one.images, one.failures, one.rate) for one in numbers] == [("a", 4, 1, 0.25), ("b", 2, 0, 0.0)]
    # One picture of each identity: a quarter in the middle of what a binomial of four says, corrected for few people.
    low, high = wilson(1, 4)
    assert numbers[0].low <= low < 0.25 < high <= numbers[0].high


def test_images_of_one_person_are_no_independent_evidence():
    reasons = [NO_LANDMARKS] * 4 + [""] * 4
    groups = column(*["a"] * 8)
    by_person = enrolment(reasons, column(*"ppppqqqq"), groups, "")[0]
    alone = enrolment(reasons, column(*"pqrstuvw"), groups, "")[0]
    assert by_person.high - by_person.low > alone.high - alone.low
    nameless = enrolment(reasons, column(*[None] * 8), groups, "")[0]
    assert (nameless.low, nameless.high) == pytest.approx((alone.low, alone.high))


def pictures(n):
    """Soft noise of 128 pixels, and ARCFACE's points moved by (8, 8)."""
    random, stored = np.random.default_rng(0), []
    for _ in range(n):
        small = Image.fromarray(random.integers(0, 256, (4, 4, 3), np.uint8)).resize((128, 128))
        small.save(sink := io.BytesIO(), "PNG")
        stored.append(sink.getvalue())
    return stored


@pytest.fixture
def table():
    points = [(ARCFACE + 8.5).ravel().tolist() for _ in range(12)]
    points[8] = points[9] = None
    return {"who": list("aabbccddeeff"), "tone": ["x"] * 6 + ["y"] * 6, "face": pictures(12), "points": points}


def embed(crops):
    return crops.reshape(len(crops), -1)[:, ::997]


def measured(table, **options):
    target = as_target(embed, name="crops", task="embedding", preprocess={"align": "arcface-112", "size": 64})
    settings = RecognitionOptions(**options)
    return transect.recognition(
        table, "who", "tone", target=target, pictures="face", thresholds=1.0, quiet=True, options=settings
    )


def test_a_table_with_landmarks(table):
    result = measured(table, landmarks="points")
    assert [(one.group, one.failures, one.images) for one in result.numbers.enrolment] == [("x", 0, 6), ("y", 2, 6)]
    assert [(one.reason, one.group, one.images) for one in result.numbers.left_out] == [(NO_LANDMARKS, "y", 2)]

"""Raw outputs of models, read as predictions; worked out by hand."""

import math

import numpy as np
import pytest
import scipy.special
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from transect.errors import BadInput
from transect.records import Task
from transect.targets import OutputSpec

NAN = math.nan


@pytest.mark.parametrize(
    "raw",
    [
        [0.25, 0.75],
        np.array([[0.25], [0.75]], np.float16),
        torch.tensor([0.25, 0.75], dtype=torch.bfloat16, requires_grad=True),
        (0.25, 0.75),
    ],
    ids=["list", "half precision", "tensor", "tuple"],
)
def test_one_score_per_image(raw):
    answer = OutputSpec().read(raw, 2)
    assert_array_equal(answer.scores, [[0.25], [0.75]])
    assert answer.scores.dtype == np.float64
    assert answer.failures == ("", "")


def test_a_logit_is_put_through_the_logistic_function():
    # log 3 are odds of 3 to 1: 3/4. Far ends neither overflow nor warn.
    scores = OutputSpec(scale="logit").read([math.log(3), -1000.0, 1000.0], 3).scores
    assert_allclose(scores[:, 0], [0.75, 0, 1], rtol=1e-12)


def test_class_logits_are_put_through_softmax():
    # Weights 1 : 2 : 5 of 8.
    spec = OutputSpec(Task.MULTICLASS, "logit", ("a", "b", "c"))
    answer = spec.read([[0, math.log(2), math.log(5)], [1000, 0, 0]], 2)
    assert_allclose(answer.scores, [[1 / 8, 2 / 8, 5 / 8], [1, 0, 0]], rtol=1e-12)
    assert answer.labels == ("a", "b", "c")


@pytest.mark.integration
@given(arrays(float, st.tuples(st.integers(1, 5), st.integers(2, 6)), elements=st.floats(-1e3, 1e3)))
def test_logits_against_scipy(raw):
    many = OutputSpec(Task.MULTILABEL, "logit").read(raw, len(raw)).scores
    one = OutputSpec(Task.MULTICLASS, "logit").read(raw, len(raw)).scores
    assert_allclose(many, scipy.special.expit(raw), rtol=1e-9, atol=1e-300)
    assert_allclose(one, scipy.special.softmax(raw, axis=1), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize(
    ("task", "row", "reason"),
    [
        (Task.BINARY, [NAN], "score is NaN"),
        (Task.BINARY, [math.inf], "score is infinite"),
        (Task.BINARY, [1.2], "score outside [0, 1]: is it a logit?"),
        (Task.MULTILABEL, [0.1, 1.2], "score outside [0, 1]: is it a logit?"),
        (Task.MULTICLASS, [0.5, 0.2], "class probabilities do not sum to 1"),
        (Task.EMBEDDING, [1.0, -math.inf], "score is infinite"),
    ],
)
def test_an_image_whose_numbers_are_unusable_fails_alone(task, row, reason):
    sound = [1.0] + [0.0] * (len(row) - 1)
    answer = OutputSpec(task).read([sound, row], 2)
    assert answer.failures == ("", reason)
    assert_array_equal(answer.scores, [sound, [NAN] * len(row)])


def test_rounding_is_not_a_fault():
    answer = OutputSpec().read(np.array([1 + 1e-7, -1e-7]), 2)
    assert_array_equal(answer.scores[:, 0], [1, 0])


@pytest.mark.parametrize(
    ("spec", "raw", "fault"),
    [
        (OutputSpec(), [0.5], "expected one row of scores for each of 2 images, got an array [1, 1]"),
        (OutputSpec(), [[1, 2], [3, 4]], "expected one binary score per image, got 2: set the task"),
        (
            OutputSpec(Task.MULTICLASS),
            [0, 1],
            "expected a score for each of two or more classes, got one per image: set the task",
        ),
        (OutputSpec(), [[1], [1, 2]], "expected one array, got rows of different lengths"),
        (OutputSpec(), None, "expected numbers, got None"),
        (OutputSpec(Task.DETECTION), [[]], "expected a list of boxes for each of 2 images, got 1 entries"),
    ],
)
def test_outputs_that_do_not_fit_the_task(spec, raw, fault):
    with pytest.raises(BadInput) as error:
        spec.read(raw, 2)
    assert str(error.value).startswith(fault)


class TestDetections:
    def test_boxes_with_and_without_confidence(self):
        answer = OutputSpec(Task.DETECTION).read(
            [[[0, 0, 2, 2, 0.9], [1, 1, 2, 2, 0.6]], [], [[0, 0, 1, 1]], np.zeros((0, 4))], 4
        )
        assert [len(boxes) for boxes in answer.boxes] == [2, 0, 1, 0]
        # Best of .9 and .6; 0 without a box; NaN where there is a box and no confidence.
        assert_array_equal(answer.scores[:, 0], [0.9, 0, NAN, 0])
        assert answer.failures == ("",) * 4

    def test_mappings_of_tensors_as_detection_models_give_them(self):
        raw = [{"boxes": torch.tensor([[0.0, 0, 2, 2], [1, 1, 3, 3]]), "scores": torch.tensor([0.25, 0.75])}]
        answer = OutputSpec(Task.DETECTION).read(raw, 1)
        assert_array_equal(answer.boxes[0], [[1, 1, 3, 3, 0.75]])  # .25 lies under the threshold of .5

    def test_the_threshold_drops_boxes_of_less_confidence(self):
        raw = [[[0, 0, 2, 2, 0.3], [0, 0, 2, 2, 0.2]]]
        answer = OutputSpec(Task.DETECTION, threshold=0.3).read(raw, 1)
        assert_array_equal(answer.boxes[0], [[0, 0, 2, 2, 0.3]])

    @pytest.mark.parametrize(
        ("raw", "reason"),
        [
            ([[0, 0, NAN, 1]], "box with NaN or infinite corners"),
            ([[5, 5, 2, 2]], "box with x1 < x0 or y1 < y0: expected x0, y0, x1, y1"),
            ({"boxes": [[0, 0, 1, 1]], "scores": [0.5, 0.6]}, "expected one score per box"),
        ],
    )
    def test_a_malformed_box_fails_its_image_alone(self, raw, reason):
        answer = OutputSpec(Task.DETECTION).read([raw, [[0, 0, 1, 1, 0.9]]], 2)
        assert answer.failures == (reason, "")
        assert_array_equal(answer.scores[:, 0], [NAN, 0.9])
        assert [len(boxes) for boxes in answer.boxes] == [0, 1]

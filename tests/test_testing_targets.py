"""check_target: a good target passes, and for every clause there is one that breaks it alone."""

import itertools
import time
from dataclasses import replace

import numpy as np
import pytest

from transect.records import Predictions, Task
from transect.targets import as_target
from transect.testing import ContractBroken, check_target


def force(record, **changes):
    """A record with values that it would not allow."""
    made = replace(record)
    for key, value in changes.items():
        object.__setattr__(made, key, value)
    return made


class MeanTarget:
    """Keeps the contract: the mean of an image, as a probability; none for all black."""

    name, task = "mean", Task.BINARY

    def predict(self, images):
        scores = images.pixels.mean(axis=(1, 2, 3), dtype=np.float64)[:, None] / 255
        black = scores[:, 0] == 0
        return Predictions(
            Task.BINARY, np.where(black[:, None], np.nan, scores), tuple("black" * int(one) for one in black)
        )


class Hanging(MeanTarget):
    def predict(self, images):
        time.sleep(20)


class Uncounted(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        return Predictions(answer.task, answer.scores[:-1], answer.failures[:-1])


class SilentNaN(MeanTarget):
    def predict(self, images):
        return replace(super().predict(images), failures=("",) * len(images))


class NeverAnswering(MeanTarget):
    def predict(self, images):
        n = len(images)
        return Predictions(Task.BINARY, np.full((n, 1), np.nan), ("refused",) * n)


class Painting(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        images.pixels[0] = 7
        return answer


class Forgetful(MeanTarget):
    calls = itertools.count()

    def predict(self, images):
        answer = super().predict(images)
        return replace(answer, scores=answer.scores / (1 + next(self.calls)))


class Sorting(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        rows = np.argsort(answer.scores[:, 0])
        return Predictions(answer.task, answer.scores[rows], tuple(answer.failures[row] for row in rows))


class BatchNormalizing(MeanTarget):
    def predict(self, images):
        answer = super().predict(images)
        return replace(answer, scores=answer.scores / np.nanmax(answer.scores, initial=0.5))


class Contiguous(MeanTarget):
    """Reads the memory as if it had no gaps."""

    def predict(self, images):
        n = len(images)
        values = np.lib.stride_tricks.as_strided(images.pixels, (n, 64), (images.pixels.strides[0], 1))
        return Predictions(Task.BINARY, values.mean(axis=1)[:, None] / 255, ("",) * n)


class OneSize(MeanTarget):
    def predict(self, images):
        if images.pixels.shape[1:3] != (64, 64):
            raise ValueError("64x64 only")
        return super().predict(images)


BROKEN_TARGETS = [
    (object, "identity: expected a Target with name, task, predict, got no name, task, predict"),
    (Hanging, "timeouts: expected an answer, got timed out after 0.5 s"),
    (Uncounted, "type, count and shape: expected Predictions for each image, got wrong count"),
    (SilentNaN, "NaN: expected valid numbers, or a failure with its reason, got score is NaN"),
    (NeverAnswering, "answers: expected an answer for some image, got refused"),
    (Painting, "frozen input: expected pixels as they were, got changed pixels"),
    (Forgetful, "determinism: expected the same answer to the same images, got scores"),
    (Sorting, "order: expected answers in the order of the images, got"),
    (BatchNormalizing, "batch invariance: expected the same answer alone and in a batch, got scores"),
    (Contiguous, "memory layout: expected the same answer for pixels that are not contiguous, got scores"),
    (OneSize, "size handling (65x65 pixels): expected an answer, got raised ValueError: 64x64 only"),
]


def test_a_good_target_passes():
    check_target(MeanTarget())
    check_target(MeanTarget(), image_size=33)


@pytest.mark.parametrize(("kind", "message"), BROKEN_TARGETS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_target_that_breaks_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_target(kind(), timeout=0.5 if kind is Hanging else 30)
    assert str(broken.value).startswith(message)
    assert "\n" not in str(broken.value)


def boxes_by_row(pixels, shift):
    return [[[0, 0, 2, 2 + shift * row, 0.9]] for row in range(len(pixels))]


def test_boxes_are_compared_too():
    check_target(as_target(lambda pixels: boxes_by_row(pixels, 0), task="detection"))
    with pytest.raises(ContractBroken, match=r"order: .*got other boxes \(image 4\)"):
        check_target(as_target(lambda pixels: boxes_by_row(pixels, 1), task="detection"))

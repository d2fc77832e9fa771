"""check_rater: a good rater passes, and for every clause there is one that breaks it alone."""

from dataclasses import replace

import numpy as np
import pytest

from transect.records import Annotations, Question
from transect.testing import ContractBroken, check_rater


def force(record, **changes):
    """A record with values that it would not allow."""
    made = replace(record)
    for key, value in changes.items():
        object.__setattr__(made, key, value)
    return made


class Panel:
    """Keeps the contract: two raters, the second of whom skips the first image."""

    name = "panel"

    def rate(self, images, question):
        n = len(images)
        value = np.tile(np.arange(n) % max(len(question.levels), 1), 2).astype(float)
        value[n] = np.nan
        return Annotations(question, np.tile(np.arange(n), 2), ("a",) * n + ("b",) * n, value)


def altered(**changes):
    class Altered(Panel):
        def rate(self, images, question):
            answers = super().rate(images, question)
            return force(answers, **{key: change(getattr(answers, key)) for key, change in changes.items()})

    return Altered


class Scribbling(Panel):
    def rate(self, images, question):
        images.pixels[:] = 0
        return super().rate(images, question)


BROKEN_RATERS = [
    (object, "identity: expected a Rater with name, rate, got no name, rate"),
    (altered(value=lambda value: value[1:]), "columns: expected image, rater and value of one length, got 10, 10, 9"),
    (altered(image=lambda image: image + 1), "image: expected numbers of images from 0 to 4, got"),
    (altered(rater=lambda rater: ("",) * len(rater)), "raters: expected a name for each row, got"),
    (
        altered(image=lambda image: image.clip(1)),
        "completeness: expected a row for each image (NaN for no answer), got",
    ),
    (altered(value=lambda value: value + 0.5), "values: expected levels from 0 to 2, or NaN, got 0.5"),
    (Scribbling, "frozen input: expected pixels as they were, got changed pixels"),
]


def test_a_good_rater_passes():
    check_rater(Panel())
    check_rater(Panel(), question=Question("age", "How old is the person?"))


@pytest.mark.parametrize(("kind", "message"), BROKEN_RATERS)
def test_a_rater_that_breaks_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_rater(kind())
    assert str(broken.value).startswith(message)

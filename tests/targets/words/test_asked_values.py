"""What one image's answers come to: means over paraphrases of means over repeats."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.spoken_answers import Said, Status
from transect.targets.words.questions import Kind, WordQuestion
from transect.targets.words.reading import value_of

NUMBER = WordQuestion("n", Kind.NUMBER, ("a", "b", "c"), high=100.0)
YES = WordQuestion("y", Kind.YES_NO, ("a", "b"))
JOB = WordQuestion("j", Kind.CHOICE, ("a", "b"), options=("nurse", "pilot", "judge"))


def row(paraphrase, value=math.nan, status=Status.ANSWERED, *, repeat=0, order=()):
    return Said(paraphrase, order, repeat, "", "", "", status, value)


def test_paraphrases_weigh_the_same_however_many_repeats_they_have():
    """(10 + 20)/2 = 15, 30, 40 by hand; their mean is 85/3, and that of all four answers 25."""
    made = value_of([row(0, 10.0), row(0, 20.0, repeat=1), row(1, 30.0), row(2, 40.0)], NUMBER)
    assert made == pytest.approx((85 / 3,))


def test_an_image_has_no_value_without_an_answer_in_each_paraphrase():
    others = [row(1, status=Status.HEDGED), row(1, status=Status.UNREADABLE, repeat=1)]
    assert math.isnan(value_of([row(0, 1.0), *others], YES)[0])
    failed = row(0, status=Status.FAILED, repeat=1)
    assert value_of([row(0, 1.0), failed, row(1, 0.0)], YES) == (0.5,), "a failed call counts nowhere"
    assert all(math.isnan(score) for score in value_of([row(0, 1.0)], JOB))


def test_choices_are_shares_of_each_option():
    made = value_of(
        [row(0, 2.0, order=(2, 0, 1)), row(0, 0.0, repeat=1, order=(0, 1, 2)), row(1, 2.0, order=(1, 2, 0))], JOB
    )
    assert made == (0.25, 0.0, 0.75)


STATUSES = st.sampled_from(list(Status))


@given(rows=st.lists(st.tuples(st.integers(0, 2), STATUSES, st.floats(0, 100)), max_size=20), shuffled=st.randoms())
def test_values_are_those_of_a_slow_sum_in_any_order(rows, shuffled):
    saids = [
        row(p, value if status is Status.ANSWERED else math.nan, status, repeat=i)
        for i, (p, status, value) in enumerate(rows)
    ]
    shuffled.shuffle(saids)
    (made,) = value_of(saids, NUMBER)
    answers = [[value for p, status, value in rows if p == number and status is Status.ANSWERED] for number in range(3)]
    if all(answers):
        assert made == pytest.approx(statistics.fmean(statistics.fmean(each) for each in answers))
    else:
        assert math.isnan(made)

"""What one image's answers come to: means over paraphrases of means over repeats, and shares of no answer."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.spoken_answers import Said, Status
from transect.targets.words.questions import Code, Kind, WordQuestion
from transect.targets.words.reading import value_of

NUMBER = WordQuestion("n", Kind.NUMBER, ("a", "b", "c"), high=100.0)
YES = WordQuestion("y", Kind.YES_NO, ("a", "b"))
JOB = WordQuestion("j", Kind.CHOICE, ("a", "b"), options=("nurse", "pilot", "judge"))
PAIR = WordQuestion("p", Kind.PAIR, ("a",), options=("first", "second"))
TEXT = WordQuestion("t", Kind.TEXT, ("a",), codes=(Code("hat", ("hat",)), Code("cap", ("cap",))))


def row(paraphrase, value=math.nan, status=Status.ANSWERED, *, repeat=0, order=(), codes=(), likelihood=(), reason=""):
    return Said(paraphrase, order, repeat, "", "", "", status, value, codes, likelihood, reason=reason)


def test_paraphrases_weigh_the_same_however_many_repeats_they_have():
    """(10 + 20)/2 = 15, 30, 40 by hand; their mean is 85/3, and that of all four answers 25."""
    made = value_of([row(0, 10.0), row(0, 20.0, repeat=1), row(1, 30.0), row(2, 40.0)], NUMBER)
    assert made.scores == pytest.approx((85 / 3,))
    assert made.by_paraphrase == ((15.0,), (30.0,), (40.0,))
    assert made.complete
    assert (made.refusal, made.hedge, made.unreadable, made.failed) == (0, 0, 0, 0)


def test_a_paraphrase_without_an_answer_makes_the_image_incomplete():
    refused = [
        row(0, 1.0),
        row(0, status=Status.REFUSED, repeat=1),
        row(1, status=Status.HEDGED),
        row(1, status=Status.UNREADABLE, repeat=1),
    ]
    made = value_of(refused, YES)
    assert math.isnan(made.scores[0])
    assert made.by_paraphrase[0] == (1.0,)
    assert math.isnan(made.by_paraphrase[1][0])
    assert (made.refusal, made.hedge, made.unreadable) == (0.25, 0.25, 0.25)
    assert made.reason == "no answer in 1 of 2 paraphrases"


def test_a_failed_call_counts_nowhere_and_gives_its_reason():
    made = value_of([row(0, 1.0), row(0, status=Status.FAILED, repeat=1, reason="HTTP 500"), row(1, 0.0)], YES)
    assert (made.scores, made.refusal, made.failed, made.reason) == ((0.5,), 0, 1, "")
    made = value_of([row(0, 1.0), row(1, status=Status.FAILED, reason="HTTP 500")], YES)
    assert (made.reason, made.failed) == ("HTTP 500", 1)
    assert math.isnan(made.refusal)


def test_choices_are_shares_of_each_option():
    made = value_of(
        [row(0, 2.0, order=(2, 0, 1)), row(0, 0.0, repeat=1, order=(0, 1, 2)), row(1, 2.0, order=(1, 2, 0))], JOB
    )
    assert made.scores == (0.25, 0.0, 0.75)
    assert sum(made.scores) == 1


def test_a_pair_needs_both_orders_and_weighs_them_the_same():
    """A model that always says "first" prefers nobody."""
    always_first = [row(0, 0.0, order=(0, 1)), row(0, 1.0, order=(1, 0))]
    assert value_of(always_first, PAIR).scores == (0.5, 0.5)
    uneven = [row(0, 0.0, order=(0, 1)), row(0, 0.0, order=(0, 1), repeat=1), row(0, 1.0, order=(1, 0))]
    assert value_of(uneven, PAIR).scores == (0.5, 0.5)
    one = value_of([row(0, 0.0, order=(0, 1)), row(0, status=Status.REFUSED, order=(1, 0))], PAIR)
    assert not one.complete
    assert all(math.isnan(score) for score in one.scores)
    assert one.refusal == 0.5


def test_likelihoods_are_averaged_where_every_paraphrase_has_some():
    rows = [row(0, 0.0, likelihood=(0.2, 0.8)), row(1, status=Status.REFUSED, likelihood=(0.6, 0.4))]
    assert value_of(rows, YES).likelihood == pytest.approx((0.4, 0.6))
    assert value_of([rows[0], row(1, 0.0)], YES).likelihood == ()


STATUSES = st.sampled_from(list(Status))


@given(rows=st.lists(st.tuples(st.integers(0, 2), STATUSES, st.floats(0, 100)), max_size=20), shuffled=st.randoms())
def test_values_are_those_of_a_slow_sum_in_any_order(rows, shuffled):
    saids = [
        row(p, value if status is Status.ANSWERED else math.nan, status, repeat=i)
        for i, (p, status, value) in enumerate(rows)
    ]
    shuffled.shuffle(saids)
    made = value_of(saids, NUMBER)
    answers = [[value for p, status, value in rows if p == number and status is Status.ANSWERED] for number in range(3)]
    if all(answers):
        assert made.scores[0] == pytest.approx(statistics.fmean(statistics.fmean(each) for each in answers))
    else:
        assert math.isnan(made.scores[0])
        assert made.reason
    heard = [[status for p, status, _ in rows if p == number and status is not Status.FAILED] for number in range(3)]
    if all(heard):
        expected = statistics.fmean(each.count(Status.REFUSED) / len(each) for each in heard)
        assert made.refusal == pytest.approx(expected)
        answered = statistics.fmean(each.count(Status.ANSWERED) / len(each) for each in heard)
        assert made.refusal + made.hedge + made.unreadable + answered == pytest.approx(1)
    else:
        assert math.isnan(made.refusal)

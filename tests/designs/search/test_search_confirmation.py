"""Calls that confirm a rule: fresh, inside it, no more than its interval needs; and what the stopping costs."""

import numpy as np
import pytest
from planted_failures import conduct

from transect.designs.search import History
from transect.designs.search.phases import BLOCK, CONFIDENCE, ConfirmedSearch, enough
from transect.effects.intervals import wilson

STRATEGY = ConfirmedSearch(seed=2, budget=200)


def corner(points):
    return ((points[:, 0] > 0.7) & (points[:, 1] > 0.6)).astype(float)


def silent_later(after):
    """Answers as the corner's target does, and nothing at all from call number `after` on."""
    asked = 0

    def target(points):
        nonlocal asked
        asked += len(points)
        return corner(points) if asked <= after else np.full(len(points), np.nan)

    return target


@pytest.fixture(scope="module")
def history():
    return conduct(STRATEGY, History.empty(4), corner, budget=200, batch=8)


def test_confirming_calls_are_fresh_and_inside_their_rule(history):
    confirmed = STRATEGY.confirmed(history)
    assert confirmed
    rows = np.concatenate([rows for _, rows in confirmed])
    assert len(set(rows.tolist())) == len(rows)
    assert rows.min() == 150  # three quarters searched
    for rule, rows in confirmed:
        assert rule.holds(history.points[rows]).all()
        assert not history.explored[rows].any()


def test_a_rule_that_always_fails_has_sixteen_calls_and_the_others_go_back_to_the_search(history):
    # 16 of 16: Wilson's half-width is z² / (2 (16 + z²)) = .097, no more than .1; 8 of 8 would have .162.
    confirmed = STRATEGY.confirmed(history)
    sure = [rows for _, rows in confirmed if history.failed[rows].all()]
    assert sure
    assert all(len(rows) == 16 for rows in sure)
    used = sum(len(rows) for _, rows in confirmed)
    assert used < 50
    assert history.explored[150 + used :].any()


def test_calls_without_an_answer_end_with_the_budget():
    history = conduct(STRATEGY, History.empty(4), silent_later(152), budget=200, batch=8)
    assert len(history) == 200
    confirmed = STRATEGY.confirmed(history)
    assert confirmed
    assert sum(len(rows) for _, rows in confirmed) == 0  # all were asked inside the rules, none was answered
    for rule, _ in confirmed[:1]:
        assert rule.holds(history.points[150:158]).all()


def test_the_rows_of_a_rule_do_not_depend_on_how_much_came_after(history):
    whole = STRATEGY.confirmed(history)
    for n in (149, 150, 155, 163, 171, 199):
        part = STRATEGY.confirmed(History(history.points[:n], history.failures[:n], history.explored[:n]))
        assert len(part) == (len(whole) if n >= 150 else 0)
        for (_, rows), (_, until) in zip(whole, part, strict=False):
            assert until.tolist() == rows[rows < n].tolist()


@pytest.mark.parametrize("batch", [5])
def test_batches_do_not_change_what_confirms(history, batch):
    """The same first 150 calls, then other batches: points and rows of the confirmation stay, answers being equal."""
    begun = History(history.points[:150], history.failures[:150], history.explored[:150])
    other = conduct(STRATEGY, begun, corner, budget=200, batch=batch)
    for (_, rows), (_, same) in zip(STRATEGY.confirmed(history), STRATEGY.confirmed(other), strict=True):
        assert rows.tolist() == same.tolist()
        np.testing.assert_array_equal(history.points[rows], other.points[same])


def test_without_a_rule_the_search_goes_on():
    strategy = ConfirmedSearch(seed=2, budget=64)
    history = conduct(strategy, History.empty(4), lambda points: np.zeros(len(points)), budget=64, batch=8)
    assert strategy.confirmed(history) == []
    assert history.explored.all()


def coverage(rates, most, step=BLOCK, confidence=CONFIDENCE):
    """Exact chance that the interval of a rule holds each rate, and expected calls, by dynamic programming.

    alive[k]: chance of k failures in n calls that went on; looked at after every `step` calls; `most` calls end it.
    """
    alive, n = np.ones((len(rates), 1)), 0
    held, calls, p = np.zeros(len(rates)), np.zeros(len(rates)), rates[:, None]
    while n < most:
        for _ in range(min(step, most - n)):
            alive = np.pad(alive * (1 - p), ((0, 0), (0, 1))) + np.pad(alive * p, ((0, 0), (1, 0)))
            n += 1
        k = np.arange(n + 1)
        stops = np.array([n == most or enough(failures, n) for failures in k.tolist()])
        low, high = wilson(k, n, confidence)
        held += (alive * (stops & (low <= p) & (p <= high))).sum(axis=1)
        calls += n * (alive * stops).sum(axis=1)
        alive = alive * ~stops
    return held, calls


def beside_the_limits(most, confidence):
    """Rates from 2 to 98 % on either side of every limit that can be stated: between them the chance is smooth."""
    limits = []
    for n in [*range(BLOCK, most, BLOCK), most]:
        k = np.array([one for one in range(n + 1) if n == most or enough(one, n)])
        limits += [*np.concatenate(wilson(k, n, confidence))]
    rates = np.unique(np.add.outer([-1e-9, 1e-9], limits))
    return rates[(rates >= 0.02) & (rates <= 0.98)]


@pytest.mark.parametrize(
    ("most", "least"),
    [(8, 0.913), (16, 0.914), (24, 0.921), (25, 0.936), (33, 0.943), (50, 0.941), (100, 0.948)],
)
def test_intervals_of_calls_that_stop_hold_every_rate_so_often(most, least):
    held, calls = coverage(beside_the_limits(most, CONFIDENCE), most)
    assert held.min() == pytest.approx(least, abs=0.001)  # what docs/research/search.md says
    assert (calls <= most + 1e-9).all()


def test_intervals_hold_also_where_every_answer_is_looked_at():
    """Calls without an answer shift the looks: the worst is a look after each."""
    held, _ = coverage(np.arange(2, 99) / 100, 100, step=1)
    assert held.min() >= 0.93
    assert 0.95 <= held.mean() <= 0.98

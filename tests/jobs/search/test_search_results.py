"""What a search says of its answers: maps, reasons, the course, the page, and the cost over interruptions."""

import functools

import numpy as np
import pytest

from transect.analysis.search_numbers import CELLS, NO_REGION, summary
from transect.designs.search import History, eager
from transect.designs.search.phases import ConfirmedSearch
from transect.designs.search.space import Space
from transect.experiment.search_calls import best_rule
from transect.jobs.search import content_of
from transect.records import Attribute
from transect.reports import builder
from transect.runs.json_records import plain
from transect.targets import as_target

TONE = Attribute("tone", "continuous", "tone", low=0, high=10)
LIGHT = Attribute("light", "continuous", "light", unit="stops", low=-6, high=0)
SPACE = Space((TONE, LIGHT), np.array([np.linspace(0, 10, 4097), np.linspace(-6, 0, 4097)]))


class FakeSearch:
    target = as_target(lambda pixels: [0.5] * len(pixels), name="reader <b>", task="binary")
    space, goal, outcome, budget = SPACE, "regions", "miss", 40

    def __init__(self, strategy, **more):
        self.strategy = strategy
        vars(self).update(more)


def history(points, failures):
    points = np.array(points, dtype=float)
    return History(points, np.array(failures, dtype=float), np.ones(len(points), dtype=bool))


def test_a_map_counts_calls_and_failures_by_cell():
    """Cells of a sixth: (.1, .1) lies in the first of both, (.99, 0) in the last column of the first row, 1 in the last."""
    asked = history([[0.1, 0.1], [0.12, 0.1], [0.99, 0.0], [1.0, 1.0], [0.5, 0.5]], [1, 0, 1, 0, np.nan])
    (one,) = summary(FakeSearch(eager(0), goal="failures"), asked, (5, 0.5)).maps
    calls, failures = np.array(one.calls), np.array(one.failures)
    assert (one.x, one.y) == ("tone", "light")
    assert calls.sum() == 4, "a call without an answer is no call of a map"
    assert (calls[0, 0], failures[0, 0]) == (2, 1)
    assert (calls[0, CELLS - 1], failures[0, CELLS - 1]) == (1, 1)
    assert (calls[CELLS - 1, CELLS - 1], failures[CELLS - 1, CELLS - 1]) == (1, 0)
    assert (one.x_edges[0], one.x_edges[3], one.y_edges[-1]) == (0.0, 5.0, 0.0)


def test_what_cannot_be_said_has_its_reason():
    nothing = history(np.random.default_rng(0).random((40, 2)), np.zeros(40))
    made = summary(FakeSearch(eager(0), goal="failures"), nothing, (40, 0.0))
    assert made.regions_reason == "the goal failures confirms no regions: search with --goal regions"
    assert made.estimate.reason == ""
    assert made.goal == "failures"
    silent = history(nothing.points, np.full(40, np.nan))
    estimate = summary(FakeSearch(eager(0)), silent, (40, 0.0)).estimate
    assert plain(estimate)["rate"] is None
    assert estimate.reason == "the target answered no call drawn for the overall rate"


@pytest.mark.parametrize(
    ("failing", "reason"),
    [
        ((), "too few failures to find a region (0 in 29 calls); search further with a larger --budget"),
        # of 40 calls the first 30 look for rules, and one has no answer; failures of the others count for none
        (
            (0, 7, 29, 30, 39),
            "too few failures to find a region (3 in 29 calls); search further with a larger --budget",
        ),
        ((0, 7, 20, 29), NO_REGION),  # two for each half could be
    ],
)
def test_too_few_failures_are_told_from_failures_that_lie_anywhere(failing, reason):
    answers = np.zeros(40)
    answers[list(failing)] = 1
    answers[3] = np.nan
    asked = history(np.random.default_rng(0).random((40, 2)), answers)
    found = summary(FakeSearch(ConfirmedSearch(0, 40)), asked, (40, 0.0))
    assert (found.regions, found.regions_reason) == ((), reason)


@functools.cache
def searched():
    """200 calls to a target that fails where tone is high and light is low."""
    strategy = ConfirmedSearch(1, 200, SPACE.thresholds)
    asked = History.empty(2)
    while len(asked) < 200:
        chosen = strategy.suggest(asked, min(8, 200 - len(asked)))
        asked = asked.with_answers(chosen, ((chosen.points[:, 0] > 0.7) & (chosen.points[:, 1] < 0.4)).astype(float))
    return FakeSearch(strategy, budget=200), asked


def test_rules_stand_on_the_map_and_in_the_progress():
    search, asked = searched()
    found = summary(search, asked, (200, 0.25))
    assert found.regions[0].rate > 0.8
    (box,) = found.maps[0].rules
    assert box.x == pytest.approx([0.7, 1.0], abs=0.06)
    assert box.y == pytest.approx([0.0, 0.4], abs=0.06)
    assert best_rule(SPACE, asked).startswith("tone > ")
    assert best_rule(SPACE, history([[0.1, 0.2]], [0])) == ""
    assert found.curve[-1] == found.distinct_failures > 5
    assert np.diff(found.curve).min() >= 0
    assert (found.paid_calls, found.cost) == (200, 0.25)


def test_the_page_holds_every_rule_and_no_markup_of_a_name():
    search, asked = searched()
    found = summary(search, asked, (200, 0.25))
    page = builder.build(content_of(found).page())
    assert "reader &lt;b&gt;" in page
    assert "<b> fail" not in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")

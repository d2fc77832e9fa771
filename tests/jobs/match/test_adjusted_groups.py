"""Adjusted differences of several groups are corrected like unadjusted ones, and named only where there are any."""

import numpy as np
import pytest

import transect
from transect import MatchOptions

SETS = 15


def first_screen(result, folder):
    page = result.report(folder).read_text()
    return page[page.index('id="summary"') : page.index("</section>", page.index('id="summary"'))]


def of_four_groups(seed):
    """Sets of four images of like ages; the score follows age and is a little higher in group a."""
    rng = np.random.default_rng(seed)
    age = np.repeat(np.arange(SETS) * 10.0, 4) + rng.normal(size=4 * SETS)
    race = np.tile(list("abcd"), SETS)
    score = 0.5 * age + rng.normal(size=4 * SETS) + 0.7 * (race == "a")
    table = {"race": race.tolist(), "age": age.tolist(), "score": score.tolist()}
    features = np.repeat(np.arange(float(SETS)), 4)[:, None]
    return transect.match(features, "race", table, outcomes="score", covariates="age", options=MatchOptions(base="a"))


def test_an_adjusted_difference_that_is_one_of_three_is_corrected(tmp_path):
    """The least of three p values is .0217 by itself, and three times that by Holm: no difference is shown."""
    result = of_four_groups(28)
    c = {outcome.versus: outcome for outcome in result.numbers.outcomes}["c"]
    assert c.adjusted.p == min(outcome.adjusted.p for outcome in result.numbers.outcomes) < 0.025
    words = first_screen(result, tmp_path)
    assert words.count("which does not show a difference (p 0.") == 3
    assert "p is corrected for the 3 groups (Holm); each 95 % interval is of its group alone." in words
    assert "number of outcomes" not in words
    assert c.adjusted_p_groups == pytest.approx(3 * c.adjusted.p)


def unbalanced(pairs):
    """Pairs whose first image is older, by more and more; the outcome is 1 in every other of them."""
    table = {
        "hat": [1, 0] * pairs,
        "age": [value for place in range(pairs) for value in (50.0 + place**2, 40.0 + place)],
        "error": [value for place in range(pairs) for value in (place % 2, 0)],
    }
    features = np.repeat(np.arange(float(pairs)), 2)[:, None]
    return transect.match(features, "hat", table, outcomes="error", covariates="age")


@pytest.mark.parametrize(("pairs", "adjusted"), [(3, False), (12, True)])
def test_an_adjusted_difference_is_named_where_there_is_one(pairs, adjusted, tmp_path):
    """Of a slope and a level three pairs leave too little."""
    result = unbalanced(pairs)
    assert bool(np.isfinite(result.numbers.outcomes[0].adjusted.estimate)) is adjusted
    words = first_screen(result, tmp_path)
    assert "What still differs may explain a difference of the outcome" in words
    assert ("the adjusted one allows for it" in words) is adjusted

"""The max-T bootstrap of an observation's contrasts: one draw of signs for all, at the family's level."""

import numpy as np
import pytest

from transect.effects import Measure, analyse_population, holm, max_t
from transect.effects.analysis import adjust_together
from transect.records import Attribute


def observed(rng, people=40, images=5, attributes=6, effect=0.0):
    """Six binary attributes that come together, people of several images with errors of their own, and 0/1 outcomes."""
    who = np.repeat(np.arange(people), images)
    common = rng.normal(size=who.size)
    columns = {f"a{k}": (common + rng.normal(size=who.size) > 0).astype(float) for k in range(attributes)}
    own = rng.normal(0, 0.1, people)[who]
    y = (rng.random(who.size) < np.clip(0.3 + own + effect * columns["a0"], 0, 1)).astype(float)
    known = {name: Attribute(name, "binary", name, levels=("off", "on")) for name in columns}
    return y, columns, known, who


def analysed(y, columns, known, who):
    return analyse_population(
        y, np.full(len(y), "", dtype=object), columns, known, Measure("t", "error"), subjects=who, most_cells=1
    )


def test_adjusted_by_the_scores_of_the_subjects():
    made = analysed(*observed(np.random.default_rng(0), effect=0.15))
    adjusted = adjust_together(made.effects, made.differences)
    p = np.array([effect.p for effect in made.effects])
    expected = np.maximum(max_t(np.column_stack(made.differences)), p)
    np.testing.assert_allclose([effect.p_adjusted for effect in adjusted], expected)
    # six attributes that go together cost less than six that do not
    assert expected[0] < holm(p)[0]
    assert all("Kline and Santos 2012" in " ".join(effect.sources) for effect in adjusted)


@pytest.mark.coverage
def test_the_familys_level_is_kept():
    """400 null observations of 40 people: any of six rejected in 5 % of them, within 3 standard errors (1.1 points)."""
    rng = np.random.default_rng(1)
    wrong = 0
    for seed in range(400):
        y, columns, _, who = observed(rng)
        people = np.arange(40)
        scores = []
        for column in columns.values():
            x = column - column.mean()
            scores.append(np.bincount(who, weights=x * (y - y.mean()) / (x @ x))[people])
        wrong += (max_t(np.column_stack(scores), resamples=499, seed=seed) <= 0.05).any()
    assert wrong / 400 <= 0.05 + 0.033


@pytest.mark.coverage
def test_few_bearers_are_not_found_different_by_chance():
    """Two of forty people bear it, people differ much: errors by subject alone would reject 35 % of such nulls."""
    rng = np.random.default_rng(2)
    who = np.repeat(np.arange(40), 5)
    x = (who < 2) - 2 / 40
    wrong = 0
    for seed in range(200):
        y = (rng.random(200) < np.clip(0.3 + rng.normal(0, 0.25, 40), 0, 1)[who]).astype(float)
        scores = np.bincount(who, weights=x * (y - y.mean()) / (x @ x))
        wrong += max_t(scores[:, None], resamples=499, seed=seed)[0] <= 0.05
    assert wrong / 200 <= 0.05

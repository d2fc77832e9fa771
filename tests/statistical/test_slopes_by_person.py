"""Slopes and differences by person in a population: level and coverage with few people and with few errors (slow)."""

import numpy as np
import pytest

from transect.effects.generalized import gee_logit, logit, poisson
from transect.effects.linear import difference_in_means, ols
from transect.effects.observational import associations, cut
from transect.records import Attribute

GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))


@pytest.mark.slow
@pytest.mark.parametrize(("people", "spread"), [(4, 0.5), (6, 1.5), (15, 0.5), (15, 1.0), (15, 1.5)])
def test_slopes_on_a_skewed_attribute_hold_their_level(people, spread):
    """5 images a person, the attribute lognormal by person, no effect; errors of Cameron and Miller reject 11 to 22 %."""
    rng, tables, person = np.random.default_rng(int(10 * spread)), 1000, np.repeat(np.arange(people), 5)
    rejected = 0
    for _ in range(tables):
        x = np.exp(spread * rng.normal(size=people))[person]
        y = rng.normal(size=people)[person] + rng.normal(size=len(person))
        rejected += ols(y, {"age": x}, clusters=person)[0].p < 0.05
    print(f"{people} people, spread {spread}: type I error {100 * rejected / tables:.1f} %")
    assert rejected / tables <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / tables)


def drawn(rng, rates, people, images, alike):
    """Errors and arm of each image: a person repeats one answer in the share `alike` of the images."""
    person = np.repeat(np.arange(sum(people)), images)
    arm = (person >= people[0]).astype(float)
    rate = np.array(rates)[arm.astype(int)]
    own, same = rng.random(len(person)), rng.random(sum(people))[person]
    return (np.where(rng.random(len(person)) < np.sqrt(alike), same, own) < rate).astype(float), arm, person


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.3])
@pytest.mark.parametrize("people", [(15, 15), (10, 60)])
@pytest.mark.parametrize("rates", [(0.0, 0.05), (0.05, 0.0), (0.02, 0.1)])
def test_differences_cover_where_a_group_has_few_errors(rates, people, alike):
    """10 images a person; Student's t on clustered errors covers 71 to 96 %."""
    rng, tables, covered, known = np.random.default_rng(sum(people)), 300, 0, 0
    for _ in range(tables):
        y, arm, person = drawn(rng, rates, people, 10, alike)
        effect = difference_in_means(y, {"hat": arm}, clusters=person)
        known += np.isfinite(effect.low)
        covered += effect.low <= rates[1] - rates[0] <= effect.high
    print(f"{rates}, {people} people, alike {alike}: covers {100 * covered / max(known, 1):.1f} % of {known}")
    assert covered / known >= 0.93 - 2 * np.sqrt(0.07 * 0.93 / known)


@pytest.mark.slow
@pytest.mark.parametrize("people", [(300, 8), (60, 20)])
def test_differences_of_rare_errors_hold_their_level(people):
    """4 images a person, 2 % errors in both groups, alike within a person; clustered errors reject 64 and 8 %."""
    rng, tables, rejected = np.random.default_rng(7), 120, 0
    for _ in range(tables):
        y, arm, person = drawn(rng, (0.02, 0.02), people, 4, 0.3)
        (found,) = associations(
            y, np.full(len(y), "", dtype=object), cut(GLASSES, arm), arm, is_binary=True, subjects=person
        )
        rejected += found.p < 0.05
    print(f"{people} people: type I error {100 * rejected / tables:.1f} %")
    assert rejected / tables <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / tables)


@pytest.mark.slow
@pytest.mark.parametrize(("people", "rate"), [((25, 15), 0.15), ((40, 20), 0.08)])
def test_models_of_odds_and_rates_hold_their_level(people, rate):
    """5 images a person, alike within a person, adjusted for a trait of persons; none of both has an effect."""
    rng, tables, rejected = np.random.default_rng(sum(people)), 1000, {}
    for _ in range(tables):
        y, hat, person = drawn(rng, (rate, rate), people, 5, 0.3)
        columns = {"hat": hat, "trait": rng.normal(size=sum(people))[person]}
        fits = logit(y, columns, clusters=person), poisson(y, columns, clusters=person), gee_logit(y, columns, person)
        for model, effects in zip(("logit", "poisson", "gee"), fits, strict=True):
            for column, effect in zip(columns, effects, strict=True):
                below, known = rejected.get((model, column), (0, 0))
                rejected[model, column] = (below + (effect.p < 0.05), known + np.isfinite(effect.p))
    for (model, column), (below, known) in rejected.items():
        print(f"{people}, {rate}: {model}, {column}: type I error {100 * below / known:.1f} % of {known}")
        assert known > 0.95 * tables
        assert below / known <= 0.06 + 2 * np.sqrt(0.06 * 0.94 / known)

"""Slopes and differences by person in a population: level and coverage with few people and with few errors (slow)."""

import numpy as np

from transect.effects.generalized import poisson
from transect.effects.regression import difference_in_means, ols


def test_slopes_on_a_skewed_attribute_hold_their_level(size, people, spread):
    """5 images a person, the attribute lognormal by person, no effect; errors of Cameron and Miller reject 11 to 22 %."""
    rng, tables, person = np.random.default_rng(int(10 * spread)), size.tables, np.repeat(np.arange(people), 5)
    rejected = 0
    for _ in range(tables):
        x = np.exp(spread * rng.normal(size=people))[person]
        y = rng.normal(size=people)[person] + rng.normal(size=len(person))
        rejected += ols(y, {"age": x}, clusters=person)[0].p < 0.05
    size.rejects(rejected / tables)


def drawn(rng, rates, people, images, alike):
    """Errors and arm of each image: a person repeats one answer in the share `alike` of the images."""
    person = np.repeat(np.arange(sum(people)), images)
    arm = (person >= people[0]).astype(float)
    rate = np.array(rates)[arm.astype(int)]
    own, same = rng.random(len(person)), rng.random(sum(people))[person]
    return (np.where(rng.random(len(person)) < np.sqrt(alike), same, own) < rate).astype(float), arm, person


def test_differences_cover_where_a_group_has_few_errors(size, rates, people, alike):
    """10 images a person; Student's t on clustered errors covers 71 to 96 %."""
    rng, tables, covered, known = np.random.default_rng(sum(people)), size.tables, 0, 0
    for _ in range(tables):
        y, arm, person = drawn(rng, rates, people, 10, alike)
        effect = difference_in_means(y, {"hat": arm}, clusters=person)
        known += np.isfinite(effect.low)
        covered += effect.low <= rates[1] - rates[0] <= effect.high
    size.covers(covered / known, known)


def test_ratios_of_rates_hold_their_level(size, people, rate):
    """5 images a person, alike within a person, adjusted for a trait of persons; none of both has an effect."""
    rng, tables, rejected = np.random.default_rng(sum(people)), size.tables, {}
    for _ in range(tables):
        y, hat, person = drawn(rng, (rate, rate), people, 5, 0.3)
        columns = {"hat": hat, "trait": rng.normal(size=sum(people))[person]}
        for column, effect in zip(columns, poisson(y, columns, clusters=person), strict=True):
            below, known = rejected.get(column, (0, 0))
            rejected[column] = (below + (effect.p < 0.05), known + np.isfinite(effect.p))
    for below, known in rejected.values():
        assert known > 0.95 * tables
        size.rejects(below / known, known)

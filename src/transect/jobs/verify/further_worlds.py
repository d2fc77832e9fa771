"""More worlds whose answer is known: outcomes that are no yes or no, few or unequal subjects, causes nobody recorded.

As in `planted`, each truth is exactly as planted and derived where it is stated.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv, ndtr

from transect.jobs.verify.planted import PlantedWorld, Table, answers, log_odds_ratio

UNEQUAL: Final = np.repeat([2, 8, 20, 60], [30, 18, 8, 4])
"""Images of each of 60 subjects: four of them have two fifths of all images."""

_PRECISION: Final = 4.0
HIDDEN_RATIO: Final = 3.0
"""Risk ratio of the hidden cause with both the attribute and the outcome."""

HIDDEN_SHARES: Final = (0.16 / 1.16, 0.36)
"""Shares of what is left of outcome and attribute that the hidden cause explains; derived in `_hidden_line`."""

HIDDEN_ODDS: Final = 2.0
"""Odds of which of two similar people has the attribute, where the hidden cause acts."""

TWINS: Final = 60
"""Subjects of `_twins` that are photographed; they are the first."""

RATED: Final = 200
"""Images of each group that people rated in `_rare`; they are the first."""


def _fractions(rng: np.random.Generator, means: Float[np.ndarray, "n m"], rho: float) -> Float[np.ndarray, "n m"]:
    """Beta-distributed shares with these means; those of a row share a normal factor of correlation rho."""
    shared, noise = rng.standard_normal((len(means), 1)), rng.standard_normal(means.shape)
    place = ndtr(np.sqrt(rho) * shared + np.sqrt(1 - rho) * noise)
    return np.asarray(betaincinv(_PRECISION * means, _PRECISION * (1 - means), place))


def _absolute_errors(rng: np.random.Generator, on: float) -> Table:
    attribute = np.repeat([0.0, 1.0], 40)
    means = np.broadcast_to((0.2 + 0.1 * on * attribute)[:, None], (80, 10))
    return {"images": _fractions(rng, means, 0.6), "attribute": attribute}


def _multiplied(rng: np.random.Generator, on: float) -> Table:
    """Attribute and covariate multiply the rate; the covariate is correlated with the attribute."""
    covariate = rng.uniform(-1, 1, 2000)
    attribute = (rng.random(2000) < 0.5 + 0.4 * covariate).astype(float)
    rates = 0.25 * np.exp(np.log(1.5) * on * attribute + 0.5 * covariate)
    return {"outcome": answers(rng, rates[:, None], 0.0)[:, 0], "attribute": attribute, "covariate": covariate}


def _few_bearers(rng: np.random.Generator, on: float) -> Table:
    """Five of forty subjects have the attribute, with six images each."""
    attribute = np.repeat([0.0, 1.0], [35, 5])
    noise = rng.standard_normal((40, 1)) + 0.5 * rng.standard_normal((40, 6))
    return {"images": 1.5 * on * attribute[:, None] + noise, "attribute": attribute}


def _unequal(rng: np.random.Generator, on: float) -> Table:
    """Every second subject, from the one with fewest images to the one with most, has the attribute."""
    subject = np.repeat(np.arange(len(UNEQUAL)), UNEQUAL)
    bearer = np.arange(len(UNEQUAL)) % 2
    rates = 0.3 + 0.3 * on * bearer
    equal, unequal = (answers(rng, np.broadcast_to(r[:, None], (60, 60)), 0.5) for r in (np.full(60, 0.3), rates))
    taken = np.arange(60) < UNEQUAL[:, None]
    return {
        "unequal_rate": equal[taken],
        "outcome": unequal[taken],
        "attribute": bearer[subject].astype(float),
        "subject": subject.astype(float),
    }


def _kinds(rng: np.random.Generator, on: float) -> Table:
    """Four kinds without an order cause both."""
    kind = rng.integers(0, 4, 1500)
    attribute = (rng.random(1500) < np.array([0.2, 0.7, 0.3, 0.6])[kind]).astype(float)
    rates = np.array([0.1, 0.5, 0.15, 0.45])[kind] + 0.1 * on * attribute
    return {
        "outcome": answers(rng, rates[:, None], 0.0)[:, 0],
        "attribute": attribute,
        "kind": kind.astype(float),
    }


def _dragged_answers(rng: np.random.Generator, on: float) -> Table:
    """A hidden trait shows in the hair as perceived and in the answers, which are yes or no.

    Yes where -.3 + .6 hair - .9 trait + e > 0, hair = set + .8 trait + .5 e'. The average of .6 phi(index) over people,
    where the index is normal with mean -.3 or .3 and variance (.48 - .9)² + .09 = .2664, is .6 phi(.3 / sqrt(1.2664)) /
    sqrt(1.2664) = .6 * .38504 / 1.12534 = .20529.
    """
    trait, levels = rng.standard_normal((400, 1)), np.array([[0.0, 1.0]])
    hair = levels + 0.8 * trait + 0.5 * rng.standard_normal((400, 2))
    index = -0.3 + 0.6 * on * hair - 0.9 * trait
    return {"answers": (index + rng.standard_normal((400, 2)) > 0).astype(float), "hair": hair}


def _hidden_ratio(rng: np.random.Generator, on: float) -> Table:
    """Something hidden triples the rate, and is three times as common where the attribute is."""
    attribute = np.repeat([0.0, 1.0], 2000)
    hidden = rng.random(4000) < np.where(attribute > 0, 0.6, 0.2)
    rates = 0.05 * np.where(hidden, HIDDEN_RATIO, 1.0) * np.where(on * attribute > 0, 4.0, 1.0)
    return {"outcome": answers(rng, rates[:, None], 0.0)[:, 0], "attribute": attribute}


def _hidden_line(rng: np.random.Generator, on: float) -> Table:
    """Attribute .6 u + .8 v, score .5 attribute + .5 u + e: u explains .36 of the attribute.

    What of u the attribute leaves has variance 1 - .36 = .64: .25 * .64 = .16 of the 1.16 that it leaves of the score.
    """
    hidden = rng.standard_normal(500)
    attribute = 0.6 * hidden + 0.8 * rng.standard_normal(500)
    return {
        "outcome": 0.5 * on * attribute + 0.5 * hidden + rng.standard_normal(500),
        "attribute": attribute,
        "covariate": rng.uniform(-1, 1, 500),
    }


def _hidden_pairs(rng: np.random.Generator, on: float) -> Table:
    """Pairs that look the same; where their answers differ, the odds that the bearer errs are 2, and 3 times that."""
    odds = HIDDEN_ODDS * (3.0 if on else 1.0)
    differ = rng.random(400) < 0.4
    bearer = rng.random(400) < odds / (1 + odds)
    return {"differences": np.where(differ, np.where(bearer, 1.0, -1.0), 0.0)}


def _rare(rng: np.random.Generator, on: float) -> Table:
    """Two groups of 2,000 images; the machine sees nine of ten, and invents more of them in the second group."""
    people = rng.random((2, 2000)) < np.array([[0.03], [0.03 + 0.06 * on]])
    seen = rng.random((2, 2000)) < np.where(people, 0.9, np.array([[0.01], [0.05]]))
    return {"people": people.astype(float), "machine": seen.astype(float)}


def _twins(rng: np.random.Generator, on: float) -> Table:
    """1,000 subjects are rendered, the first 60 photographed too; rendering adds .08 and keeps four fifths."""
    photographed = 0.1 * on + 0.3 * rng.standard_normal(1000)
    return {"photographed": photographed, "rendered": 0.08 + 0.8 * photographed + 0.1 * rng.standard_normal(1000)}


def _several_worlds(rng: np.random.Generator, on: float) -> Table:
    """Six worlds around .1, with standard deviation .06; 25 to 400 subjects each, who differ by .4."""
    subjects = np.array([25, 50, 100, 100, 200, 400])
    own = 0.1 * on + 0.06 * rng.standard_normal(6)
    errors = 0.4 / np.sqrt(subjects)
    return {"estimates": own + errors * rng.standard_normal(6), "errors": errors}


FURTHER: Final = (
    PlantedWorld(
        "absolute errors",
        "errors are shares from 0 to 1, similar within a subject",
        _absolute_errors,
        {"effect": 0.1, "log odds": log_odds_ratio(0.2, 0.3)},
    ),
    PlantedWorld(
        "rates that multiply", "attribute and a common cause multiply the rate", _multiplied, {"ratio": np.log(1.5)}
    ),
    PlantedWorld("few bearers", "five subjects have the attribute", _few_bearers, {"between": 1.5}),
    PlantedWorld(
        "unequal subjects",
        "four of sixty subjects have two fifths of all images",
        _unequal,
        {"rate": 0.3, "between": 0.3},
        {"rate": 0.3},
    ),
    PlantedWorld("kinds", "a common cause of four kinds without an order", _kinds, {"effect": 0.1}),
    PlantedWorld(
        "dragged answers",
        "a hidden trait shows in the perceived attribute and in yes-or-no answers",
        _dragged_answers,
        {"effect": 0.20529},
    ),
    PlantedWorld(
        "rare outcome, rated by few",
        "people rated 400 of 4,000 images, and few of these have the outcome; a machine errs more in one group",
        _rare,
        {"rate": 0.03, "effect": 0.06},
        {"rate": 0.03},
    ),
    PlantedWorld("hidden cause, ratios", "a hidden cause triples the rate, and the attribute's", _hidden_ratio, {}),
    PlantedWorld("hidden cause, line", "a hidden cause explains a part of both", _hidden_line, {"effect": 0.5}),
    PlantedWorld(
        "rendered twins",
        "60 of 1,000 rendered subjects are photographed too; the rendering is wrong",
        _twins,
        {"effect": 0.1},
    ),
    PlantedWorld("several worlds", "six worlds, each with an effect of its own", _several_worlds, {"mean": 0.1}),
    PlantedWorld(
        "hidden cause, pairs", "in a matched pair, a hidden cause decides who has the attribute", _hidden_pairs, {}
    ),
)

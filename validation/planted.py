"""Worlds whose answer is known, since it was planted: one table of numbers per seed, without pictures.

Each world has one thing that makes an estimator's life hard. Its effect can be turned off, so that the same world
shows how often a test is wrong and how often it is right. Answers of 0 and 1 are yes where a normal factor that a
subject's images share, plus noise, is below a limit, so that each rate is exactly as planted. Each truth is derived
where it is stated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Float
from scipy.special import betaincinv, ndtr, ndtri

Table = Mapping[str, np.ndarray]


@final
@dataclass(frozen=True, slots=True)
class PlantedWorld:
    """name, meaning: as the proving ground's table says them. draw: one table, with the effect on (1) or off (0).

    truths: estimand -> its value with the effect on; off, it is `truths_off`, 0 where that lacks it. tested: whether
    the effect can be on at all. most: tables that are drawn at most, since one takes long; None for any number.
    """

    name: str
    meaning: str
    draw: Callable[[np.random.Generator, float], Table]
    truths: Mapping[str, float]
    truths_off: Mapping[str, float] = field(default_factory=dict)
    tested: bool = True
    most: int | None = None

    def tables(self, seeds: int, on: float) -> dict[str, np.ndarray]:
        """The tables of seeds 0 to seeds - 1, stacked: a table depends on its world, seed and effect alone."""
        draws = [self.draw(_generator(self.name, seed, on), on) for seed in range(seeds)]
        return {key: np.stack([table[key] for table in draws]) for key in draws[0]}


def _generator(world: str, seed: int, on: float) -> np.random.Generator:
    words = [int.from_bytes(world.encode(), "little") % 2**63, seed, int(on > 0)]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(words)))


def answers(rng: np.random.Generator, rates: Float[np.ndarray, "n ..."], rho: float) -> Float[np.ndarray, "n ..."]:
    """0/1 with these rates; those of a row share a normal factor of correlation rho.

    >>> rng = np.random.default_rng(0)
    >>> bool(abs(answers(rng, np.full((9000, 2), 0.2), 0.5).mean() - 0.2) < 0.01)
    True
    """
    shared = rng.standard_normal((len(rates),) + (1,) * (rates.ndim - 1))
    noise = rng.standard_normal(rates.shape)
    return np.asarray(np.sqrt(rho) * shared + np.sqrt(1 - rho) * noise < ndtri(rates), dtype=np.float64)


def _null(rng: np.random.Generator, on: float) -> Table:
    del on
    attribute = (rng.random(800) < 0.5).astype(float)
    return {
        "pairs": answers(rng, np.full((200, 2), 0.3), 0.5),
        "outcome": answers(rng, np.full((800, 1), 0.3), 0.0)[:, 0],
        "attribute": attribute,
        "covariate": rng.uniform(-1, 1, 800),
        "family": answers(rng, np.full((100, 20, 2), 0.3), 0.5),
    }


def _direct(rng: np.random.Generator, on: float) -> Table:
    attribute = (rng.random(800) < 0.5).astype(float)
    covariate = rng.uniform(-1, 1, 800)
    return {
        "pairs": answers(rng, np.broadcast_to([0.3, 0.3 + 0.1 * on], (200, 2)), 0.5),
        "outcome": answers(rng, (0.3 + 0.1 * on * attribute + 0.15 * covariate)[:, None], 0.0)[:, 0],
        "attribute": attribute,
        "covariate": covariate,
    }


def _interaction(rng: np.random.Generator, on: float) -> Table:
    """The attribute matters only where the other is on; in the population the two go together."""
    other = (rng.random(2000) < 0.5).astype(float)
    attribute = (rng.random(2000) < np.where(other > 0, 0.9, 0.5)).astype(float)
    rates = np.array([[0.2, 0.3], [0.2, 0.3 + 0.2 * on]])  # [attribute, other]
    return {
        "square": answers(rng, np.broadcast_to(rates, (200, 2, 2)), 0.5),
        "outcome": answers(rng, rates[attribute.astype(int), other.astype(int)][:, None], 0.0)[:, 0],
        "attribute": attribute,
        "covariate": other,
    }


def _confounded(rng: np.random.Generator, on: float) -> Table:
    """A recorded covariate causes attribute and outcome; an experiment on the same people sets the attribute."""
    covariate, noise = rng.uniform(-1, 1, 1000), rng.uniform(-1, 1, 200)
    attribute = (rng.random(1000) < 0.5 + 0.4 * covariate).astype(float)
    rates = 0.35 + 0.2 * noise[:, None] + 0.1 * on * np.array([0.0, 1.0])
    return {
        "pairs": answers(rng, rates, 0.3),
        "outcome": answers(rng, (0.35 + 0.2 * covariate + 0.1 * on * attribute)[:, None], 0.0)[:, 0],
        "attribute": attribute,
        "covariate": covariate,
    }


def _projected(rng: np.random.Generator, on: float) -> Table:
    """Two attributes with separate effects, each set; in the target population they are correlated."""
    rates = np.array([[0.2, 0.35], [0.2 + 0.1 * on, 0.35 + 0.1 * on]])
    return {"square": answers(rng, np.broadcast_to(rates, (200, 2, 2)), 0.5)}


def _entangled(rng: np.random.Generator, on: float) -> Table:
    """Setting the hair drags the beard along; a hidden trait of the subject shows in both the hair and the outcome."""
    trait = rng.standard_normal((200, 1, 1))
    hair_set, beard_set = (grid[None] for grid in np.meshgrid([0.0, 1.0], [0.0, 1.0], indexing="ij"))
    hair = hair_set + 0.5 * trait + 0.3 * rng.standard_normal((200, 2, 2))
    beard = beard_set + 0.6 * hair_set + 0.3 * rng.standard_normal((200, 2, 2))
    score = 0.3 * on * hair + 0.3 * beard + trait + 0.5 * rng.standard_normal((200, 2, 2))
    wide = np.broadcast_to
    return {
        "square": score,
        "hair": hair,
        "beard": beard,
        "hair_set": wide(hair_set, score.shape),
        "beard_set": wide(beard_set, score.shape),
    }


def _earrings(rng: np.random.Generator, on: float) -> Table:
    """Nobody recorded the earrings, which come with the attribute in the population, and with a learned direction."""
    attribute = (rng.random(1000) < 0.5).astype(float)
    earrings = rng.random(1000) < np.where(attribute > 0, 0.7, 0.2)
    dragged = rng.random(200) < 0.5
    effect = 0.1 * on * np.array([0.0, 1.0])
    riding = 0.2 * dragged[:, None] * np.array([0.0, 1.0])
    return {
        "pairs": answers(rng, np.broadcast_to(0.3 + effect, (200, 2)), 0.5),
        "dragging": answers(rng, 0.3 + effect + riding, 0.5),
        "outcome": answers(rng, (0.3 + 0.1 * on * attribute + 0.2 * earrings)[:, None], 0.0)[:, 0],
        "attribute": attribute,
        "covariate": rng.uniform(-1, 1, 1000),
        "perceived": np.array([0.0, 1.0]) + 0.3 * rng.standard_normal((200, 2)),
    }


def _rater_noise(rng: np.random.Generator, on: float) -> Table:
    """An attribute that was set on five levels and is seen through three raters' noisy answers."""
    intended = np.broadcast_to(np.linspace(-1, 1, 5), (200, 5))
    true = intended + 0.5 * rng.standard_normal((200, 1))
    perceived = true + rng.standard_normal((200, 5, 3)).mean(axis=2)
    score = 0.3 * on * true + 0.5 * rng.standard_normal((200, 1)) + 0.5 * rng.standard_normal((200, 5))
    return {"score": score, "perceived": perceived, "intended": intended}


def _rater_bias(rng: np.random.Generator, on: float) -> Table:
    """Two groups of 1,050 images, 50 rated by people; the machine rates one group .3 too high."""
    people = rng.standard_normal((2, 1050)) + 0.4 * on * np.array([[0.0], [1.0]])
    machine = people + 0.5 * rng.standard_normal((2, 1050)) + np.array([[0.0], [0.3]])
    return {"people": people, "machine": machine}


def _near_separated(rng: np.random.Generator, on: float) -> Table:
    """Hardly any error without the attribute."""
    return {"pairs": answers(rng, np.broadcast_to([0.005, 0.005 + 0.06 * on], (300, 2)), 0.3)}


def _clustered(rng: np.random.Generator, on: float) -> Table:
    """Ten images a subject that nearly agree; the attribute goes with the subject, or is set on each."""
    attribute = np.repeat([0.0, 1.0], 40)
    rates = np.broadcast_to((0.35 + 0.2 * on * attribute)[:, None], (80, 10))
    paired = np.broadcast_to(0.35 + 0.1 * on * np.array([0.0, 1.0]), (100, 10, 2))
    return {
        "images": answers(rng, rates, 0.8),
        "attribute": attribute,
        "cells": answers(rng, paired, 0.8),
        "one_rate": answers(rng, np.full((80, 10), 0.35), 0.8),
    }


def log_odds_ratio(first: float, second: float) -> float:
    """The logarithm of the ratio of the odds of two rates, second over first."""
    return float(np.log(second / (1 - second)) - np.log(first / (1 - first)))


SIMPLE: Final = (
    PlantedWorld("null", "nothing has an effect", _null, {"effect": 0.0}, {}, tested=False),
    PlantedWorld("direct effect", "one attribute has an effect", _direct, {"effect": 0.1}),
    PlantedWorld(
        "interaction",
        "an effect only where another attribute is on; the two are correlated in the population",
        _interaction,
        {"effect": 0.1, "interaction": 0.2},
    ),
    PlantedWorld(
        "confounded population", "a recorded cause of both attribute and outcome", _confounded, {"effect": 0.1}
    ),
    PlantedWorld(
        "another population",
        "an experiment, projected to a population in which attributes are correlated",
        _projected,
        # Shares .4 .1 / .2 .3: the groups have .8 and .4 of the second attribute off, and .15 more with it on.
        {"impact": 0.1 + 0.15 * (0.6 - 0.2)},
        {"impact": 0.15 * (0.6 - 0.2)},
    ),
    PlantedWorld("entangled manipulation", "setting one attribute drags another along", _entangled, {"effect": 0.3}),
    PlantedWorld(
        "hidden attribute", "an attribute that nobody recorded changes together with it", _earrings, {"effect": 0.1}
    ),
    PlantedWorld("rater noise", "the attribute is seen through noisy ratings", _rater_noise, {"effect": 0.3}),
    PlantedWorld("rater bias", "a machine that rates one group too high", _rater_bias, {"effect": 0.4}),
    PlantedWorld(
        "near-separated",
        "almost no errors without the attribute",
        _near_separated,
        {"effect": 0.06, "log odds": log_odds_ratio(0.005, 0.065)},
    ),
    PlantedWorld(
        "heavy clustering",
        "a subject's images nearly agree",
        _clustered,
        {"between": 0.2, "within": 0.1, "rate": 0.35, "log odds": log_odds_ratio(0.35, 0.55)},
        {"rate": 0.35},
    ),
)


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


FURTHER: Final = (
    PlantedWorld(
        "absolute errors",
        "errors are shares from 0 to 1, similar within a subject",
        _absolute_errors,
        {"effect": 0.1},
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
    PlantedWorld(
        "hidden cause, pairs", "in a matched pair, a hidden cause decides who has the attribute", _hidden_pairs, {}
    ),
)


NAME: Final = "faces of a confounded population"
EFFECT: Final = 0.1
COVARIATES: Final = ("face_shape", "skin_tone", "age")
OBSERVED, SUBJECTS = 400, 200
_POOL: Final = 8000
_LONG: Final = 0.5
_LENGTHS: Final = (0.2, 0.8)
_SEED: Final = 20_000


def rates(columns: Mapping[str, Float[np.ndarray, " n"]], on: float) -> Float[np.ndarray, " n"]:
    """The model's rate of error: .1 more with long hair, more for feminine faces below a bend, and for dark skin.

    >>> face = {"face_shape": np.array([0.5]), "skin_tone": np.array([1.0]), "hair_length": np.array([0.8])}
    >>> rates(face, 1.0), rates(face, 0.0)
    (array([0.2]), array([0.1]))
    """
    long = (columns["hair_length"] >= _LONG).astype(np.float64)
    bend = np.maximum(0.5 - columns["face_shape"], 0.0)
    return np.asarray(0.1 + EFFECT * on * long + 0.9 * bend + 0.1 * (columns["skin_tone"] - 1) / 9)


@functools.cache
def _people() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Columns of the pool as it comes, and the same people with short and long hair, [n, 2]."""
    from transect.generators.faceworld.world import FaceWorld

    world = FaceWorld(image_size=64, population="celebrity-like")
    subjects = world.sample(_SEED + np.arange(_POOL))
    names = (*COVARIATES, "hair_length")
    observed = world.read(subjects)
    both = [world.read(world.set(subjects, {"hair_length": np.full(_POOL, length)})) for length in _LENGTHS]
    as_they_come = {name: observed[name].to_numpy().astype(np.float64) for name in names}
    return as_they_come, {name: np.stack([table[name].to_numpy() for table in both], axis=1) for name in names}


def _faces(rng: np.random.Generator, on: float) -> dict[str, np.ndarray]:
    observed, both = _people()
    chosen = rng.choice(_POOL, OBSERVED + SUBJECTS, replace=False)
    seen, tried = chosen[:OBSERVED], chosen[OBSERVED:]
    columns = {name: column[seen] for name, column in observed.items()}
    cells = {name: column[tried].ravel() for name, column in both.items()}
    return {
        "pairs": answers(rng, rates(cells, on).reshape(-1, 2), 0.3),
        "outcome": answers(rng, rates(columns, on)[:, None], 0.0)[:, 0],
        "attribute": (columns["hair_length"] >= _LONG).astype(np.float64),
        "covariates": np.column_stack([columns[name] for name in COVARIATES]),
    }


FACES: Final = (
    PlantedWorld(
        NAME,
        "FaceWorld's people, whose long hair is correlated with face shape, skin tone and age",
        _faces,
        {"effect": EFFECT},
    ),
)


WORDINGS: Final = 8
_APART: Final = 0.15
BY_PLACE: Final = 0.2
"""Share of questions in which the stub takes the first place, whatever stands there."""

OPTIONS: Final = np.array([[0.5, 0.3, 0.2], [0.35, 0.3, 0.35]])
"""What the stub chooses otherwise, by level."""

ABILITIES: Final = (0.0, 0.3, 0.6)
FIRST: Final = 20
"""Images that a query finds first, of 120."""


def _wordings(rng: np.random.Generator, on: float) -> Table:
    """Eight paraphrases drawn from all: each has an effect within .15 of the mean of all, .15 on and 0 off."""
    effect = 0.15 * on + rng.uniform(-_APART, _APART, WORDINGS)
    rates = np.stack([np.full(WORDINGS, 0.4), 0.4 + effect])
    return {"answers": answers(rng, np.broadcast_to(rates, (80, 2, WORDINGS)), 0.4)}


def _refusals(rng: np.random.Generator, on: float) -> Table:
    """Few images are refused, and if one wording is refused the others mostly are."""
    rates = np.array([0.02, 0.02 + 0.06 * on])
    of_subject, of_image = rng.standard_normal((150, 1, 1)), rng.standard_normal((150, 2, 1))
    factor = np.sqrt(0.3) * of_subject + np.sqrt(0.5) * of_image + np.sqrt(0.2) * rng.standard_normal((150, 2, 3))
    return {"refused": (ndtr(factor) < rates[:, None]).astype(float)}


def _options(rng: np.random.Generator, on: float) -> Table:
    """Three options in an order drawn for each image; two wordings; a fifth of the choices are of the first place.

    An option's share is a third of that fifth, and .8 of what is preferred: option 2 rises by .8 * .15 = .12. The first
    place is chosen .2 + .8 / 3, by (3 * .46667 - 1) / 2 = .2 more often than elsewhere.
    """
    chances = OPTIONS[[0, 1 if on else 0]].cumsum(axis=1)
    factor = np.sqrt(0.5) * rng.standard_normal((100, 1, 1)) + np.sqrt(0.5) * rng.standard_normal((100, 2, 2))
    chosen = (ndtr(factor)[..., None] > chances[None, :, None, :-1]).sum(axis=-1)
    order = np.argsort(rng.random((100, 2, 3)), axis=2)[:, :, None, :]
    by_place = rng.random(chosen.shape) < BY_PLACE * on
    chosen = np.where(by_place, order[..., 0], chosen)
    place = (order == chosen[..., None]).argmax(axis=-1)
    return {"chosen": chosen.astype(float), "place": place.astype(float)}


def _two_images(rng: np.random.Generator, on: float) -> Table:
    """Three levels, two at a time, in both orders: log odds .3 between neighbours, and .5 for the second place."""
    abilities = np.array(ABILITIES) * on
    pairs = np.array([(a, b) for a in range(3) for b in range(3) if a != b])
    odds = abilities[pairs[:, 1]] - abilities[pairs[:, 0]] + 0.5
    chosen = rng.random((60, len(pairs))) < 1 / (1 + np.exp(-odds))
    return {"first": np.tile(pairs[:, 0], (60, 1)), "second": np.tile(pairs[:, 1], (60, 1)), "chosen": chosen}


def _retrieval(rng: np.random.Generator, on: float) -> Table:
    """Similarities of 60 subjects at two levels, the second by half a standard deviation more similar to the query."""
    own, of_image = rng.standard_normal((60, 1, 1)), rng.standard_normal((60, 2, 1))
    shift = np.array([0.0, 0.5 * on])[None, :, None]
    return {"similarities": np.sqrt(0.5) * own + np.sqrt(0.5) * of_image + shift}


def _decided() -> float:
    """Share of subjects that prefer level 2 to level 0, of those that prefer either, less 1/2.

    Level 2 is chosen with p = expit(.6 + .5) in the second place and q = expit(.6 - .5) in the first.
    """
    p, q = (1 / (1 + np.exp(-(ABILITIES[2] + place))) for place in (0.5, -0.5))
    return float(p * q / (p * q + (1 - p) * (1 - q)) - 0.5)


def _share_of_first() -> float:
    """The share of the second level above the similarity that 20 of 120 images exceed, by bisection."""
    low, high = -5.0, 5.0
    for _ in range(80):
        middle = (low + high) / 2
        above = (ndtr(-middle) + ndtr(0.5 - middle)) / 2
        low, high = (middle, high) if above > FIRST / 120 else (low, middle)
    return float(ndtr(0.5 - low) / (ndtr(-low) + ndtr(0.5 - low)))


SPOKEN: Final = (
    PlantedWorld(
        "wordings", "a question in eight paraphrases, whose effects differ by up to .15 from the mean of all that "
        "could have been asked", _wordings, {"effect": 0.15},
    ),
    PlantedWorld(
        "refusals", "a model refuses 2 % of the images, and mostly all three paraphrases of one", _refusals,
        {"effect": 0.06},
    ),
    PlantedWorld(
        "options and places", "three options in random order; a fifth of the choices are of the first place", _options,
        {"effect": 0.12, "place": BY_PLACE},
    ),
    PlantedWorld(
        "two images", "three levels, two at a time in both orders; the second place is preferred", _two_images,
        {"preference": _decided(), "log odds": ABILITIES[2]},
    ),
    PlantedWorld(
        "retrieval", "a query finds one level first, of subjects that differ among themselves", _retrieval,
        {"share": _share_of_first() - 0.5, "skew": float(np.log(2 * _share_of_first()))},
    ),
)  # fmt: skip

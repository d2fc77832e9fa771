"""Worlds whose answer is known, since it was planted: one table of numbers per seed, without pictures.

Each world has one thing that makes an estimator's life hard. Its effect can be turned off, so that the same world
shows how often a test is wrong and how often it is right. Answers of 0 and 1 are yes where a normal factor that a
subject's images share, plus noise, is below a limit, so that each rate is exactly as planted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

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

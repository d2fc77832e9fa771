"""Worlds that ask much of an interval: heavy tails, ties, unequal spread, unequal people, rare answers, mirrors.

The mean of a score is linear in its level, so that a contrast, a slope and a difference of groups have one truth: the
planted effect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from jaxtyping import Float

from validation.planted import PlantedWorld, Table, answers

SUBJECTS: Final = 30
CELLS: Final = 24
"""Images of a subject in the widest contrast, half of them at either level."""

GROUPS: Final = np.repeat([0.0, 1.0], [40, 20])
"""The smaller group is the one with the larger spread."""

ALONG, POPULATION = 150, 300
STEPS: Final = np.linspace(0.0, 1.0, 5)
SIZES: Final = np.tile([1, 1, 2, 3, 4, 6, 10, 15, 22, 30], 4)
"""Photographs of each of 40 people."""

PEOPLE: Final = np.repeat(np.arange(len(SIZES)), SIZES)
"""The person on each photograph."""

_TAKEN: Final = np.arange(SIZES.max()) < SIZES[:, None]
TEXTS: Final = 4
FAMILY: Final = 8
FEW: Final = 0.05
"""Share of subjects with an effect in the world in which few have one."""

_MISSED, _INVENTED = 0.1, 0.1
COMMON, RARE = (0.3, 0.2), (0.03, 0.12)
"""A rate of yes, and how much the level adds to it."""

Scores = Callable[[np.random.Generator, np.ndarray, float], np.ndarray]
"""Scores at levels from 0 to 1, [subjects, ...], with the effect on or off; those of a row are of one subject."""


def _own(rng: np.random.Generator, level: np.ndarray) -> Float[np.ndarray, "n ..."]:
    """A standard normal value of each subject."""
    return rng.standard_normal((len(level),) + (1,) * (level.ndim - 1))


def _normal(rng: np.random.Generator, level: np.ndarray, on: float) -> np.ndarray:
    return np.asarray(_own(rng, level) + rng.standard_normal(level.shape) + 0.5 * on * level)


def _lognormal(rng: np.random.Generator, level: np.ndarray, on: float) -> np.ndarray:
    """Lognormal with sigma 1, of mean exp(1/2), which the level multiplies by up to 1.5."""
    logarithm = 0.6 * _own(rng, level) + 0.8 * rng.standard_normal(level.shape)
    return np.asarray(np.exp(logarithm) * (1 + 0.5 * on * level))


def _t3(rng: np.random.Generator, level: np.ndarray, on: float) -> np.ndarray:
    return np.asarray(_own(rng, level) + rng.standard_t(3, level.shape) + on * level)


def _tied(rng: np.random.Generator, level: np.ndarray, on: float) -> np.ndarray:
    """0 in 80 % of the images; else uniform from 0 to .5, which level 1 doubles: .2 * .25 more on average."""
    some = answers(rng, np.full(level.shape, 0.2), 0.3)
    return np.asarray(some * rng.uniform(0, 0.5, level.shape) * (1 + on * level))


def _unequal(rng: np.random.Generator, level: np.ndarray, on: float) -> np.ndarray:
    """A tenth of subjects differ ten times as much as the others, and images at level 1 three times as much."""
    scale = rng.choice([0.3, 3.0], p=[0.9, 0.1], size=(len(level),) + (1,) * (level.ndim - 1))
    return np.asarray(scale * rng.standard_normal(level.shape) * (1 + 2 * level) + 0.5 * on * level)


def _yes(rate: float, effect: float) -> Scores:
    return lambda rng, level, on: answers(rng, rate + effect * on * level, 0.5)


def _experiment(scores: Scores) -> Callable[[np.random.Generator, float], Table]:
    """An experiment, two observed groups, an observed amount, and an attribute with a recorded cause."""

    def draw(rng: np.random.Generator, on: float) -> Table:
        cause, amount = rng.uniform(-1, 1, POPULATION), rng.random(ALONG)
        treated = (rng.random(POPULATION) < 0.5 + 0.3 * cause).astype(float)
        return {
            "cells": scores(rng, np.broadcast_to([0.0, 1.0], (SUBJECTS, CELLS // 2, 2)), on),
            "steps": scores(rng, np.broadcast_to(STEPS, (SUBJECTS, len(STEPS))), on),
            "grouped": scores(rng, GROUPS[:, None], on)[:, 0],
            "group": GROUPS,
            "along": scores(rng, amount[:, None], on)[:, 0],
            "amount": amount,
            "outcome": scores(rng, treated[:, None], on)[:, 0],
            "attribute": treated,
            "covariate": cause,
        }

    return draw


def _questions(rate: float, effect: float) -> Callable[[np.random.Generator, float], Table]:
    """`_experiment` of yes and no, with a judge of texts: it misses a tenth of people's yes and invents as many.

    With the effect on it invents another tenth of people's no: its rate is higher by that.
    """
    invented = _MISSED * rate / (1 - rate)

    def draw(rng: np.random.Generator, on: float) -> Table:
        people = answers(rng, np.full((SUBJECTS, TEXTS), rate), 0.5)
        off = answers(rng, np.where(people > 0, _MISSED, invented + _INVENTED * on), 0.3)
        return {**_experiment(_yes(rate, effect))(rng, on), "people": people, "judge": np.abs(people - off)}

    return draw


def _photographs(scores: Scores) -> Callable[[np.random.Generator, float], Table]:
    """Photographs of people who have 1 to 30: each changed by an experiment, and as they come."""

    def draw(rng: np.random.Generator, on: float) -> Table:
        shape = (len(SIZES), int(SIZES.max()))
        bearer, age = np.tile([0.0, 1.0], len(SIZES) // 2), rng.random(len(SIZES))
        levels = {"grouped": bearer, "along": age}
        observed = {name: scores(rng, np.broadcast_to(of[:, None], shape), on)[_TAKEN] for name, of in levels.items()}
        pairs = scores(rng, np.broadcast_to([0.0, 1.0], (*shape, 2)), on)[_TAKEN]
        return {**observed, "photographs": pairs, "group": bearer[PEOPLE], "amount": age[PEOPLE]}

    return draw


def _of_few(rng: np.random.Generator, on: float) -> Table:
    """Of twenty subjects one in twenty says yes to all images at the higher level; others say it to a tenth of all."""
    cells = answers(rng, np.full((20, CELLS // 2, 2), 0.1), 0.8)
    cells[..., 1] = np.maximum(cells[..., 1], rng.random((20, 1)) < FEW * on)
    return {"cells": cells}


def _mirrored(rng: np.random.Generator, on: float) -> Table:
    """Answers before and after each of eight changes, of which the first has an effect."""
    rates = np.full((FAMILY, 2), 0.3)
    rates[0, 1] += 0.3 * on
    return {"family": answers(rng, np.broadcast_to(rates, (60, FAMILY, 2)), 0.3)}


def _excess(rate: float) -> dict[str, float]:
    return {"rate": rate, "excess": _INVENTED * (1 - rate)}


_MEAN: Final = float(np.exp(0.5))
DIFFICULT: Final = (
    PlantedWorld(
        "lognormal scores",
        f"scores with a long tail (σ = 1) of {SUBJECTS} subjects, 60 and {ALONG} images, and {POPULATION} with a "
        "recorded cause; the effect multiplies them",
        _experiment(_lognormal),
        {"effect": 0.5 * _MEAN, "mean": _MEAN},
        {"mean": _MEAN},
    ),
    PlantedWorld("t3 scores", "the same sizes; two long tails", _experiment(_t3), {"effect": 1.0, "mean": 0.0}),
    PlantedWorld(
        "tied scores",
        "the same sizes; 80 % of the scores, which are between 0 and 1, are equal",
        _experiment(_tied),
        {"effect": 0.05, "mean": 0.05},
        {"mean": 0.05},
    ),
    PlantedWorld(
        "unequal spread",
        "the same sizes; a tenth of subjects differ ten times as much as the others, the smaller group and the higher "
        "level three times as much",
        _experiment(_unequal),
        {"effect": 0.5, "mean": 0.0},
    ),
    PlantedWorld(
        "common answers",
        "the same sizes; yes in 30 to 50 % of the images",
        _questions(*COMMON),
        _excess(COMMON[0]) | {"effect": COMMON[1]},
        {"rate": COMMON[0]},
    ),
    PlantedWorld(
        "rare answers",
        "the same sizes; yes in 3 to 15 % of the images",
        _questions(*RARE),
        _excess(RARE[0]) | {"effect": RARE[1]},
        {"rate": RARE[0]},
    ),
    PlantedWorld(
        "an effect in few subjects",
        f"{CELLS} images of each of 20 subjects, of whom one in twenty says yes to every image at the higher level",
        _of_few,
        {"effect": FEW * 0.9},
    ),
    PlantedWorld(
        "people of many photographs, scores",
        f"{len(SIZES)} people with 1 to {SIZES.max()} photographs each",
        _photographs(_normal),
        {"effect": 0.5, "mean": 0.0},
    ),
    PlantedWorld(
        "people of many photographs, answers",
        f"{len(SIZES)} people with 1 to {SIZES.max()} photographs each; yes in 30 to 50 %",
        _photographs(_yes(*COMMON)),
        {"effect": COMMON[1], "rate": COMMON[0]},
        {"rate": COMMON[0]},
    ),
    PlantedWorld(
        "mirror outcomes",
        f"{FAMILY} changes, each tested on answers and on errors, which are 1 - answer; the first has an effect",
        _mirrored,
        {},
    ),
)

"""Worlds of models that answer in words: a stub with known preferences, refusals, places and wordings.

As in `planted`, each truth is exactly as planted and derived where it is stated. With the effect off the attribute
changes nothing; wordings still differ, unless their world says otherwise.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import ndtr

from transect.jobs.verify.planted import PlantedWorld, Table, answers

WORDINGS: Final = 6
_APART: Final = 0.15
BY_PLACE: Final = 0.2
"""Share of questions in which the stub takes the first place, whatever stands there."""

OPTIONS: Final = np.array([[0.5, 0.3, 0.2], [0.35, 0.3, 0.35]])
"""What the stub chooses otherwise, by level."""

ABILITIES: Final = (0.0, 0.3, 0.6)
FIRST: Final = 20
"""Images that a query finds first, of 120."""


def _wordings(rng: np.random.Generator, on: float) -> Table:
    """Six paraphrases drawn from all: each has an effect within .15 of the mean of all, .15 on and 0 off."""
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
        "wordings", "a question in six paraphrases, whose effects differ by up to .15 from the mean of all that could "
        "have been asked", _wordings, {"effect": 0.15},
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

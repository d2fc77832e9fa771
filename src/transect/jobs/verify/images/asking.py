"""Subjects that do not smile, as they are and with one attribute set: the model's scores, stored in parts.

Subjects that do not smile stay so under every intervention, since no audited attribute causes the smile. "The model
is wrong" means on these subjects that it sees a smile.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.jobs.verify.cache import Cache
from transect.jobs.verify.images.sizes import AUDITED, SMILING
from transect.records import Latents
from transect.runs.progress import Progress

if TYPE_CHECKING:
    from transect.generators.faceworld.world import FaceWorld

PER_PART: Final = 500
_SEEDS_AT_ONCE: Final = 4096


@final
@dataclass(frozen=True, slots=True)
class Model:
    """The audited model. scores: of latents, above 0 where it sees a smile; settings: what identifies the model."""

    scores: Callable[[Latents], Float[np.ndarray, " n"]]
    settings: Mapping[str, object]


def not_smiling(world: FaceWorld, first_seed: int, count: int) -> Int[np.ndarray, " n"]:
    """The seeds of the first `count` subjects from first_seed on who do not smile, int64.

    >>> from transect.generators.faceworld.world import FaceWorld
    >>> world = FaceWorld(image_size=32)
    >>> bool((world.read(world.sample(not_smiling(world, 7, 5)))["smile"].to_numpy() <= SMILING).all())
    True
    """
    seeds_found: list[np.ndarray] = []
    while sum(map(len, seeds_found)) < count:
        seeds = np.arange(first_seed, first_seed + _SEEDS_AT_ONCE)
        smile = world.read(world.sample(seeds))["smile"].to_numpy()
        seeds_found.append(seeds[smile <= SMILING])
        first_seed += _SEEDS_AT_ONCE
    return np.concatenate(seeds_found)[:count]


def other_value(name: str, has: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The value of an audited attribute that each subject does not have; has: whether it has the higher one.

    >>> other_value("skin_tone", np.array([True, False]))
    array([3., 8.])
    """
    low, high = AUDITED[name]
    return np.where(has, low, high)


def has_higher(name: str, values: Float[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Whether each value of an audited attribute is the higher of its two."""
    return np.asarray(values > np.mean(AUDITED[name]))


def observed(cache: Cache, world: FaceWorld, model: Model, first_seed: int, count: int, *, quiet: bool) -> pa.Table:
    """One row per subject: its attributes, its smile and the model's score of its picture, float64.

    Columns: seed (int64), smile, the audited attributes as 0 (lower value) and 1, score.
    """
    return _scored(cache, world, model, "observed", first_seed, count, {}, quiet=quiet)


def intervened(
    cache: Cache, world: FaceWorld, model: Model, name: str, first_seed: int, count: int, *, quiet: bool
) -> pa.Table:
    """As `observed`, with the scores under both values of each audited attribute, all else unchanged.

    Further columns: low.<attribute> and high.<attribute>, of which one is the score of the subject as it is.
    """
    return _scored(cache, world, model, name, first_seed, count, AUDITED, quiet=quiet)


def _scored(
    cache: Cache,
    world: FaceWorld,
    model: Model,
    name: str,
    first_seed: int,
    count: int,
    vary: Mapping[str, tuple[float, float]],
    *,
    quiet: bool,
) -> pa.Table:
    seeds, parts = not_smiling(world, first_seed, count), []
    key = {"world": world.describe(), "model": dict(model.settings), "first_seed": first_seed}
    key |= {"audited": {attribute: list(ends) for attribute, ends in AUDITED.items()}, "varied": list(vary)}
    with Progress(f"{name} pictures", count * (1 + len(vary)), quiet=quiet) as progress:
        for start in range(0, count, PER_PART):
            chosen = seeds[start : start + PER_PART]
            settings = {**key, "first": start, "rows": len(chosen)}
            compute = functools.partial(_part, world, model, chosen, tuple(vary))
            parts.append(cache.table(f"{name}-{start // PER_PART:04d}", settings, compute))
            progress.advance(len(chosen) * (1 + len(vary)))
    return pa.concat_tables(parts)


def _part(world: FaceWorld, model: Model, seeds: Int[np.ndarray, " n"], vary: tuple[str, ...]) -> pa.Table:
    latents = world.sample(seeds)
    values = world.read(latents)
    has = {name: has_higher(name, values[name].to_numpy()) for name in AUDITED}
    score = model.scores(latents)
    columns: dict[str, np.ndarray] = {"seed": seeds, "smile": values["smile"].to_numpy()}
    columns |= {name: higher.astype(np.float64) for name, higher in has.items()} | {"score": score}
    for name in vary:
        other_score = model.scores(world.set(latents, {name: other_value(name, has[name])}))
        columns |= {
            f"low.{name}": np.where(has[name], other_score, score),
            f"high.{name}": np.where(has[name], score, other_score),
        }
    return pa.table(columns)

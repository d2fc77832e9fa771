"""Checks of edits on photographs: what is compared with what, and what the set attribute should read as.

The photograph itself is the subject's unedited image. Limits come from photographs as they are, each once, those of the
study only where there are no others.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Bool, Int

from transect.controls.world import LearnedWorld
from transect.datasets.labelled import SUBJECT
from transect.designs.edit_validity import MOST_DRIFT, OUTSIDE, REFERENCE, YES_OR_NO, Judged, Measured
from transect.designs.intended import Intended, Moved, Stated
from transect.designs.steps import Steps
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.inversion.photographs import InvertedPhotographs
from transect.protocols import EditsPhotographs, World
from transect.records import SUBJECTS_PER_SEED, Attribute, Design, Images, Latents
from transect.runs.capabilities import truths

_UNSTATED: Final = "what it should read as at its levels is not stated"


def edited(world: World) -> EditsPhotographs | None:
    """The world as one that edits photographs; None for others, and for prompts without photographs."""
    plain = world.world if isinstance(world, Steps) else world
    return plain if isinstance(plain, EditsPhotographs) and plain.photographs else None


def reference(world: World, design: Design) -> Int[np.ndarray, " m"]:
    """The seeds of unedited photographs that set the limits: each once, first those that the study does not show."""
    photographs = edited(world)
    count = 0 if photographs is None else photographs.photographs
    places = [*range(design.subjects, count), *range(min(design.subjects, count))][:REFERENCE]
    return design.seed * SUBJECTS_PER_SEED + np.array(places, dtype=np.int64)


def with_people(measured: Measured, world: World, latents: Latents) -> Measured:
    """The measures, and who is on each image where the world knows that people repeat."""
    known = truths(world, latents)
    if SUBJECT not in known.column_names:
        return measured
    return replace(measured, people=known[SUBJECT].to_numpy().astype(np.int64))


def intentions(
    world: EditsPhotographs, attributes: dict[str, Attribute], measures: Measured, own_models: Collection[str]
) -> dict[str, Intended | str]:
    """What each attribute should read as, or why that is not known.

    attributes: those that vary. own_models: attributes that a model of the user's reads; of others the network that
    ships knows the levels by their names.
    """
    return {
        name: _intended(world, attribute, measures, named=name not in own_models)
        for name, attribute in attributes.items()
    }


def _intended(world: EditsPhotographs, attribute: Attribute, measures: Measured, *, named: bool) -> Intended | str:
    as_it_is, name = world.as_they_are[attribute.name], attribute.name
    stated = world.intended_readings().get(name) or (_by_name(attribute) if named else {})
    if not stated:
        return _UNSTATED if attribute.discrete else Moved(as_it_is)
    if name in measures.levels or set(stated.values()) <= {0.0, 1.0}:
        return Stated(stated, as_it_is, YES_OR_NO)
    readings = measures.readings.get(name, np.full(1, np.nan))
    spread = float(np.nanstd(readings)) if np.isfinite(readings).any() else np.nan
    return Stated(stated, as_it_is, MOST_DRIFT * spread)


def _by_name(attribute: Attribute) -> dict[float, float]:
    """Levels that are called as the reading network's own, by the number that it reads them as."""
    own = next((each.levels for each in ATTRIBUTES if each.name == attribute.name), ())
    return {float(at): float(own.index(level)) for at, level in enumerate(attribute.levels) if level in own}


@functools.lru_cache(maxsize=1)
def well_read() -> frozenset[str]:
    """Attributes that pictures show well enough for the network that ships: those of the reference's directions."""
    from transect.controls.files import read_directions
    from transect.generators.reference import DIRECTIONS

    return frozenset(direction.name for direction in read_directions(DIRECTIONS).directions)


@functools.lru_cache(maxsize=1)
def read_as_levels() -> frozenset[str]:
    """Attributes that this network reads as one of several levels in no order."""
    from transect.perceptual.features import load

    return frozenset(answer.name for answer in load().answers if answer.levels > len((False, True)))


def with_outside(judged: Judged, world: World, latents: Latents, images: Images, own: Images) -> Judged:
    """The judgement, and which images changed outside of what was to be edited; as it is where nothing is outside.

    own: the subjects as they are, in order; as many images of each follow one another.
    """
    masks = _masks(world, latents)
    if masks is None or masks.all():
        return judged
    rows = np.arange(len(images)) // (len(images) // len(own))
    differ = [(image != own.pixels[row]).any(axis=2) for image, row in zip(images.pixels, rows, strict=True)]
    changed = (np.array(differ) & ~masks).any(axis=(1, 2))
    everything = np.asarray(masks.all(axis=(1, 2)))
    fails, unknown = {**judged.fails, OUTSIDE: changed}, {**judged.unknown, OUTSIDE: everything}
    return replace(judged, fails=fails, unknown=unknown)


def _masks(world: World, latents: Latents) -> Bool[np.ndarray, "n h w"] | None:
    photographs = edited(world)
    if photographs is not None:
        return photographs.edit_masks(latents)
    plain = world.world if isinstance(world, Steps) else world
    generator = plain.generator if isinstance(plain, LearnedWorld) else None
    if isinstance(generator, InvertedPhotographs) and generator.backgrounds is not None:
        return generator.edit_masks(latents)
    return None

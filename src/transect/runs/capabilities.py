"""The optional members of generators and worlds, with the default of each; no other module probes for them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.errors import BadInput
from transect.protocols import (
    ChoosesSubjects,
    Controls,
    DescribesItself,
    DrawsUnedited,
    Generator,
    KnowsTruth,
    LimitsSubjects,
    StatesValidity,
    SuggestsLevels,
    World,
)
from transect.records import Attribute, Latents
from transect.runs.json_records import json_of, record_of
from transect.runs.spec import GeneratorDescription, Reading, WorldEntry
from transect.texts import words_of

_FIGURES: Final = tuple(field.name for field in fields(Reading) if field.name != "attribute")


def description(generator: Generator) -> dict[str, Any]:
    """The generator's own description, or name, size and class where it gives none."""
    if isinstance(generator, DescribesItself):
        return dict(generator.describe())
    return {"name": generator.name, "image_size": generator.image_size, "class": type(generator).__qualname__}


def generator_entry(generator: Generator) -> GeneratorDescription:
    """The description as a run's spec holds it."""
    return GeneratorDescription(json_of(description(generator)))


def validity(generator: Generator) -> dict[str, Any]:
    """The figures that the generator states; one that states none is not validated."""
    if isinstance(generator, StatesValidity):
        return dict(generator.validity())
    return {"photometry_validated": False, "statement": f"The generator {generator.name} states no validity figures."}


def world_entry(world: World) -> WorldEntry:
    """What the report states of the world."""
    stated = validity(world)
    return WorldEntry(
        world.name,
        stated["photometry_validated"],
        stated["statement"],
        json_of(stated.get("photometry")),
        json_of(stated.get("identity")),
        generator_entry(world).maximum_gain,
    )


def readings(world: World, names: Iterable[str]) -> tuple[Reading, ...]:
    """How well each of these attributes is read back from the world's pictures; the reason where that is not known."""
    stated = validity(world)
    figures, reason = stated.get("readings", {}), stated.get("not_measured") or "not measured"
    outside = stated.get("readers", {})
    found = []
    for name in names:
        stated_of = {**figures.get(name, {"reason": reason}), "outside": outside.get(name, [])}
        known = {key: json_of(stated_of[key]) for key in _FIGURES if key in stated_of}
        found.append(record_of(Reading, {"attribute": name, **known}, f"validity of {world.name}: readings.{name}"))
    return tuple(found)


def attributes(generator: Generator) -> tuple[Attribute, ...]:
    """What can be read and set; nothing of a generator without controls, which draws images alone."""
    return tuple(generator.attributes) if isinstance(generator, Controls) else ()


def truth_attributes(world: World) -> tuple[Attribute, ...]:
    """What a truth may be about: what the world knows of its images, or else what it sets."""
    return tuple(world.truth_attributes if isinstance(world, KnowsTruth) else attributes(world))


def truths(world: World, latents: Latents) -> pa.Table:
    """The value that each attribute took, where the world distinguishes it from the value set."""
    return world.truths(latents) if isinstance(world, KnowsTruth) else world.read(latents)


def landmarks(world: World, latents: Latents) -> Float[np.ndarray, "n k 2"]:
    """The landmarks of each face. Raises BadInput for a world that knows none."""
    known = getattr(world, "landmarks", None)
    points = known(latents) if callable(known) else None
    if points is None:
        raise BadInput(
            f"align: {world.name} has no landmarks; set landmarks = FILE, dlib's shape predictor of 68 "
            "points, in the preprocessing"
        )
    return np.asarray(points, dtype=np.float64)


def usual_levels(world: World) -> Mapping[str, tuple[float, ...]] | None:
    """Levels of attributes that are varied without any; None where the world suggests none."""
    return world.usual_levels if isinstance(world, SuggestsLevels) else None


def sample_unedited(generator: Generator, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
    """Subjects by which limits of edits are set: the generator's own draws."""
    return generator.sample_unedited(seeds) if isinstance(generator, DrawsUnedited) else generator.sample(seeds)


def check_subjects(generator: Generator, subjects: int) -> None:
    """Raises BadInput for more subjects than the generator has, where their number is limited."""
    if isinstance(generator, LimitsSubjects):
        generator.check_subjects(subjects)


def for_attributes(world: World, names: Collection[str]) -> World:
    """The world with the subjects alone on which these attributes (or levels of them) can be set; else itself."""
    return world.for_attributes(names) if isinstance(world, ChoosesSubjects) else world


def faults(world: World, latents: Latents) -> Iterator[tuple[str, str, str]]:
    """Clause, expectation and finding where an optional member of a world breaks its protocol."""
    if isinstance(world, DescribesItself):
        yield from description_faults(world)
    if isinstance(world, StatesValidity):
        stated = world.validity()
        if not isinstance(stated.get("photometry_validated"), bool) or not isinstance(stated.get("statement"), str):
            yield "validity", "photometry_validated (true or false) and statement (text)", ", ".join(map(str, stated))
    known = {attribute.name: attribute for attribute in world.attributes}
    for name, levels in (usual_levels(world) or {}).items():
        if name not in known or any(not low <= level <= high for level in levels for low, high in [known[name].bounds]):
            yield "usual_levels", "allowed values of attributes that it sets", f"{name}: {list(levels)}"
    if isinstance(world, KnowsTruth):
        columns = set(world.truths(latents).column_names)
        missing = [attribute.name for attribute in world.truth_attributes if attribute.name not in columns]
        if missing:
            yield "truths", "a column for each of truth_attributes", f"none for {', '.join(missing)}"
    if isinstance(world, DrawsUnedited) and len(world.sample_unedited(latents.seeds)) != len(latents):
        yield "sample_unedited", "one row per seed", "another number of rows"


def description_faults(plugin: DescribesItself) -> Iterator[tuple[str, str, str]]:
    """Clause, expectation and finding where a description is not plain, or not the same each time."""
    try:
        first, second = (json.dumps(dict(plugin.describe()), sort_keys=True, allow_nan=False) for _ in range(2))
    except (TypeError, ValueError) as error:
        yield "describe", "plain values that JSON can hold", words_of(error)
        return
    if first != second:
        yield "describe", "the same description each time", "another one"

"""The validation by raters that a later stage requires: the file of `transect annotate validate` and what it covers.

DIR/required_validation.json   a copy of the validation, in the folder of a run that requires it

A generator that does not meet its gates is refused. So is a condition, before rendering; of images that are
there already, those of a condition that fails are left out and counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, final

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from transect.errors import BadInput
from transect.protocols import World
from transect.runs import tables as columns
from transect.runs.capabilities import generator_entry
from transect.runs.folder import read_spec, write_atomically
from transect.runs.json_records import loads
from transect.runs.layout import runs_of
from transect.runs.spec import GeneratorDescription, RunSpec
from transect.texts import words_of

FILE: Final = "required_validation.json"
_OPTION: Final = "--require-validation"
_ANYWHERE: Final = "device"
"""What a generator's description says of the machine and not of the images."""
HAVE_RATED: Final = "have people rate the images"
_MAKE_ONE: Final = "make one: transect annotate validate RUN"


class RatedGroup(BaseModel):
    """What raters said of the images of one level of an attribute; of all images where it has no name."""

    model_config = ConfigDict(frozen=True)

    attribute: str
    level: float | None
    judged: int
    rated: int
    failures: list[str]
    differing: int | None = None
    share: float | None = None
    between: int | None = None
    quality: float | None = None

    @model_validator(mode="after")
    def _has_a_level(self) -> RatedGroup:
        if self.attribute and self.level is None:
            raise ValueError("expected the level of an attribute")
        return self


class RatedStudy(BaseModel):
    """What raters said of one study. groups: all images first. failures: of gates, by their names."""

    model_config = ConfigDict(frozen=True)

    generator: dict[str, object]
    passed: bool
    failures: dict[str, str]
    gates: dict[str, float | None]
    groups: Annotated[list[RatedGroup], Field(min_length=1)]
    equal_quality: list[object] = []
    simulated: int = 0


_STUDIES: Final = TypeAdapter(Annotated[dict[str, RatedStudy], Field(min_length=1)])


@final
@dataclass(frozen=True, slots=True)
class Required:
    """A validation file. studies: what it says of each study that was rated; text: the file as it is."""

    path: Path
    studies: Mapping[str, RatedStudy]
    text: bytes

    @property
    def sha256(self) -> str:
        """The file's hash, by which a report names it."""
        return hashlib.sha256(self.text).hexdigest()


def read(path: Path) -> Required:
    """The validation in a file. Raises BadInput for a file that cannot be read or holds none."""
    try:
        text = path.read_bytes()
        return Required(path, _STUDIES.validate_python(loads(text)), text)
    except ValidationError:
        raise BadInput(f"{_OPTION} {path}: expected a validation by raters, got other data; {_MAKE_ONE}") from None
    except (OSError, ValueError) as error:
        reason = words_of(error)
        raise BadInput(f"{_OPTION} {path}: expected a validation by raters, got {reason}; {_MAKE_ONE}") from None


def required_for(
    path: str | Path | None, studies: Sequence[tuple[World, Mapping[str, Sequence[float]]]]
) -> Required | None:
    """The validation in a file, which all of these worlds met with their levels; photographs are left alone."""
    if path is None:
        return None
    required = read(Path(path))
    entries = [(generator_entry(world), levels) for world, levels in studies]
    generated = [(generator, levels) for generator, levels in entries if not generator.of_photographs]
    if not generated:
        raise _no_generator(required)
    for generator, levels in generated:
        check(required, generator, levels)
    return required


def check(required: Required, generator: GeneratorDescription, levels: Mapping[str, Sequence[float]]) -> None:
    """Raises BadInput unless the generator met every gate, and so did each condition that is about to be set.

    A value between two that were rated is vouched for by both.
    """
    failed = [text for name, values in levels.items() for text in _failing(required, generator, name, values).values()]
    if failed:
        raise BadInput(
            f"{_OPTION} {required.path}: expected conditions that met every gate, got {'; '.join(failed)}; leave them "
            "out of --vary, or fix the generator"
        )
    entries_of(required, generator)


def check_range(required: Required, generator: GeneratorDescription, name: str, low: float, high: float) -> None:
    """As `check`, of all values from low to high: those that were rated between them are set too."""
    rated = [group.level for group in _groups_of(required, generator, name) if group.level is not None]
    inside = [value for value in rated if low <= value <= high]
    check(required, generator, {name: sorted({low, *inside, high})})


def entries_of(required: Required, generator: GeneratorDescription) -> list[RatedStudy]:
    """What the validation says of studies of this generator, which people must have found to meet every gate."""
    wanted, entries = _described(generator.facts), []
    for entry in required.studies.values():
        if _described(entry.generator) == wanted:
            entries.append(entry)
    if not entries:
        other = _described(next(iter(required.studies.values())).generator)
        difference = _differing(other, wanted)
        raise BadInput(
            f"{_OPTION} {required.path}: expected a validation of this generator, got one with {difference}; have "
            "raters rate images of this one"
        )
    failed = [text for entry in entries for text in entry.failures.values()]
    if failed:
        raise BadInput(
            f"{_OPTION} {required.path}: expected a generator that met every gate, got {'; '.join(failed)}; fix the "
            "generator"
        )
    if simulated := sum(entry.simulated for entry in entries):
        raise BadInput(
            f"{_OPTION} {required.path}: expected answers from people, got {simulated:,} from simulated "
            f"raters; {HAVE_RATED}"
        )
    return entries


def _groups_of(required: Required, generator: GeneratorDescription, name: str) -> list[RatedGroup]:
    """The rated levels of an attribute."""
    return [group for entry in entries_of(required, generator) for group in entry.groups if group.attribute == name]


def _described(facts: Mapping[str, object]) -> dict[str, object]:
    plain = loads(json.dumps(facts))
    return {key: value for key, value in plain.items() if key != _ANYWHERE}


def _differing(other: Mapping[str, object], wanted: Mapping[str, object]) -> str:
    """The first keys that differ, for a message; hashes only where nothing else does."""
    keys = [key for key in {**wanted, **other} if other.get(key) != wanted.get(key)]
    plain = [key for key in keys if not isinstance({**wanted, **other}[key], dict | list) and "sha256" not in key]
    differences = [f"{key} {other.get(key, 'none')} instead of {wanted.get(key, 'none')}" for key in plain[:3]]
    return ", ".join(differences or [f"another {key}" for key in keys[:3]])


def _failing(
    required: Required, generator: GeneratorDescription, name: str, values: Sequence[float]
) -> dict[float, str]:
    """Values whose condition fails, and what fails. Raises BadInput for an unrated value."""
    # Where two studies rated one level, it has to pass in both.
    groups = sorted(_groups_of(required, generator, name), key=lambda group: bool(group.failures))
    rated = {group.level: group for group in groups if group.rated and group.level is not None}
    failing = {}
    for value in values:
        # The rated level that a value is, else those next to it on both sides; nothing outside of them.
        exact = [at for at in rated if np.isclose(at, value, rtol=1e-6, atol=1e-9)]
        below, above = [at for at in rated if at < value], [at for at in rated if at > value]
        around = exact or ([max(below), min(above)] if below and above else [])
        if not around:
            rated_range = f"{min(rated):g} to {max(rated):g}" if rated else "no level of it"
            raise BadInput(
                f"{_OPTION} {required.path}: expected images with {name} {value:g} to have been rated, got "
                f"{rated_range}; have some rated, or vary it between those"
            )
        failed = [f"{name} {at:g} ({', '.join(rated[at].failures)})" for at in around if rated[at].failures]
        if failed:
            failing[float(value)] = " and ".join(failed)
    return failing


def store(folder: Path, required: Required | None) -> None:
    """Store the validation in a run's folder, so that its report applies it; None leaves what is there."""
    if required is not None:
        write_atomically(folder / FILE, required.text)


def attach(folder: Path, required: Required) -> None:
    """Store it in a finished run's folder, or in every study under it, if it fits all; photographs are left alone."""
    runs = runs_of(folder)
    specs = {run: read_spec(run) for run in runs}
    generated = {run: spec for run, spec in specs.items() if not spec.generator.of_photographs}
    if not generated:
        raise _no_generator(required)
    for spec in generated.values():
        for name, values in spec.design.levels.items():
            _failing(required, spec.generator, name, values)
        entries_of(required, spec.generator)
    for run in generated:
        store(run, required)


def _no_generator(required: Required) -> BadInput:
    return BadInput(f"{_OPTION} {required.path}: expected images of a generator, got photographs; leave it out")


def stored(folder: Path) -> Required | None:
    """The validation in a run's folder; None where none is required. Raises BadInput for a file that holds none."""
    path = folder / FILE
    return read(path) if path.exists() else None


def reasons(folder: Path, spec: RunSpec, images: pa.Table) -> np.ndarray:
    """Why each image of a run is left out, "" where it is not: its condition failed in the stored validation."""
    reasons, required = np.full(len(images), "", dtype=object), stored(folder)
    if required is None:
        return reasons
    intended = columns.columns_of(images, "intended")
    for name, values in spec.design.levels.items():
        for value, text in _failing(required, spec.generator, name, values).items():
            hit = np.isclose(intended[name], value, rtol=1e-6, atol=1e-9) & (reasons == "")
            reasons[hit] = f"condition failed in raters' validation: {text}"
    return reasons

"""Controls over a learned generator: attributes are read and set along fitted directions of its latent space.

`LearnedControls` reads and sets, `FittedDirections` is what a file holds (arrays as tensors, the rest as JSON;
reading runs no code), `LearnedWorld` is a generator and its directions as one world. Codes with one w for each
layer (w+) are read by their mean and moved in every layer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.controls.directions import DECISION, Direction, hyperplanes, labelled_by_a_model, steps_along
from transect.errors import BadInput, UnknownName
from transect.generators.requests import requested_columns
from transect.protocols import Generator, HasLayers, KnowsTruth, MapsSpaces, Table
from transect.records import FITTED, Attribute, Images, Latents
from transect.runs import capabilities, model_files
from transect.runs.folder import write_atomically
from transect.runs.json_records import loads, plain
from transect.runs.model_files import Arrays, Facts, content_of, read_content
from transect.runs.wording import spaced

ONE, EACH = "w", "w+"


def takes(space: str, latent_space: str) -> bool:
    """Whether controls of `space` move latents of `latent_space`: their own, and codes of w+ where they are of w.

    >>> takes("w", "w+"), takes("w+", "w")
    (True, False)
    """
    return latent_space == space or (space, latent_space) == (ONE, EACH)


def layered(latents: Latents, space: str, width: int) -> Float[np.ndarray, "n layers d"]:
    """The rows as controls of that space and number of coordinates see them: one layer, or those of w+ codes."""
    size = np.asarray(latents.values)[:1].size
    several = latents.space == EACH and space == ONE
    if not takes(space, latents.space) or (len(latents) and (size % width if several else size != width)):
        raise BadInput(
            f"latents: expected space {space} with {width} coordinates, got {latents.space} with {size}; map them first"
        )
    return np.asarray(latents.values, dtype=np.float64).reshape(len(latents), size // width if size else 1, width)


def of_one(latents: Latents, width: int) -> Latents:
    """Codes of w+ as their mean w, of `width` coordinates: what directions in w are fitted to."""
    return replace(latents, values=layered(latents, ONE, width).mean(axis=1), space=ONE)


USUAL: Final = 5
"""Number of levels where the user names none."""


@final
class LearnedControls:
    """Reads and sets attributes of latents of one space; a setting leaves the other fitted attributes alone.

    A continuous attribute has the label's unit; a binary one is the signed distance from its hyperplane, yes above 0.
    Ways are those of the directions (`Direction.way`), corrected so that no other attribute's reading changes.
    Ranges are those of the fits' middle 99 %; what lies beyond is read as the end. What the directions do not hold
    (attributes that were not fitted) may change too: raters judge that. Directions of w also take codes of w+,
    as inversion finds them: they read the mean of the layers' w, and move all layers by the same step. plain: moves
    go along each attribute's own normal, and others change with it (without orthogonalization, Fig. 5 of Balakrishnan
    et al. 2020). Raises BadInput for no directions, two of one name, or collinear ones.
    """

    def __init__(self, directions: Sequence[Direction], space: str, *, plain: bool = False) -> None:
        names = [direction.name for direction in directions]
        if not names or len(set(names)) < len(names):
            raise BadInput(f"directions: expected at least one, each with a name, got {', '.join(names) or 'none'}")
        self.space = space
        self.directions = {direction.name: direction for direction in directions}
        self._planes = hyperplanes(directions)
        ways = np.array([direction.way for direction in directions])
        self._steps = self._planes.normals if plain else steps_along(self._planes, ways)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be read and set."""
        return tuple(_attribute(direction) for direction in self.directions.values())

    @property
    def usual_levels(self) -> dict[str, tuple[float, ...]]:
        """Five values of each attribute, from where its labels see little of it to where they see much."""
        known = self.directions.items()
        return {
            name: evenly((direction.shown_low, direction.shown_high), (direction.low, direction.high))
            for name, direction in known
        }

    def read(self, latents: Latents) -> pa.Table:
        """The value of every attribute, float64 columns, within the attributes' ranges."""
        return pa.table(
            {
                name: pa.array(np.clip(column, self.directions[name].low, self.directions[name].high), pa.float64())
                for name, column in self._values(latents).items()
            }
        )

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """Latents moved to those values, along directions that leave all other fitted attributes where they are.

        hold: named attributes stay; they do anyway. Raises UnknownName (attribute) and BadInput (range, held and set
        at once, latents of another space).
        """
        requested = requested_columns(self.attributes, values, hold, len(latents))
        now = self._values(latents)
        layers = self._layers(latents)
        for number, name in enumerate(self.directions):
            if name in requested:
                change = requested[name] - now[name]
                layers = layers + ((change / self._slope(name))[:, None] * self._steps[number])[:, None]
        return replace(latents, values=layers.reshape(np.shape(latents.values)))

    def move(self, latents: Latents, name: str, lengths: Float[np.ndarray, " n"]) -> Latents:
        """Z + length d, d the attribute's own unit direction: other attributes may move too, and no range stops it.

        Codes of w+ move by that in every layer. Raises UnknownName.
        """
        if name not in self.directions:
            raise UnknownName("attribute", name, self.directions)
        change = np.asarray(lengths, dtype=np.float64)[:, None] * self.directions[name].normal
        return replace(latents, values=(self._layers(latents) + change[:, None]).reshape(np.shape(latents.values)))

    def _values(self, latents: Latents) -> dict[str, Float[np.ndarray, " n"]]:
        # Row by row: the last bit of one product of all rows would depend on their number.
        rows = [self._planes.normals @ row + self._planes.offsets for row in self._layers(latents).mean(axis=1)]
        decisions = np.array(rows).reshape(len(latents), len(self.directions))
        return {
            name: direction.mean + self._slope(name) * decisions[:, number]
            for number, (name, direction) in enumerate(self.directions.items())
        }

    def _slope(self, name: str) -> float:
        direction = self.directions[name]
        return 1.0 if direction.kind == "binary" else direction.slope

    def _layers(self, latents: Latents) -> Float[np.ndarray, "n layers d"]:
        return layered(latents, self.space, self._planes.normals.shape[1])


def evenly(shown: tuple[float, float], whole: tuple[float, float]) -> tuple[float, ...]:
    """Five values from where labels see little of an attribute to where they see much, or over its whole range.

    >>> evenly((float("nan"), float("nan")), (0.0, 4.0))
    (0.0, 1.0, 2.0, 3.0, 4.0)
    """
    in_order = np.isfinite(shown).all() and shown[0] < shown[1]
    return tuple(np.linspace(*(shown if in_order else whole), USUAL).tolist())


def _attribute(direction: Direction) -> Attribute:
    known = math.isfinite(direction.quality)
    quality = f"held-out {direction.quality_measure} {direction.quality:.2f}" if known else "quality unknown"
    source = f"{FITTED} {direction.origin.get('labels', 'labels')}, {quality}"
    meaning = f"{direction.name}, along a fitted direction"
    signed = direction.kind == "binary" or direction.origin.get("values") == DECISION
    unit = "distance from the hyperplane" if signed else ""
    return Attribute(direction.name, "continuous", meaning, unit, direction.low, direction.high, source=source)


LINEAR: Final = "transect.directions"
_NUMBERS: Final = ("offset", "mean", "low", "high", "labels", "held_out")
_TEXTS: Final = ("name", "kind", "quality_measure")
_MAY_BE_UNKNOWN: Final = ("slope", "quality", "shown_low", "shown_high")
_LONGEST_NAME: Final = 100


@final
@dataclass(frozen=True, slots=True)
class FittedDirections:
    """Directions of one latent space; origin: generator, labels, seeds; sha256: of the file they were read from."""

    directions: tuple[Direction, ...]
    space: str
    origin: Mapping[str, object] = field(default_factory=dict)
    sha256: str = ""

    def controls(self, *, plain: bool = False) -> LearnedControls:
        """The controls that read and set along them. Raises BadInput where they are collinear."""
        return LearnedControls(self.directions, self.space, plain=plain)

    def describe(self) -> dict[str, object]:
        """The description in a run's spec: numbers and texts, null for what is not a number."""
        normals = np.array([entry.normal for entry in self.directions])
        return {
            "kind": LINEAR,
            "sha256": self.sha256,
            "space": self.space,
            "origin": dict(self.origin),
            "attributes": [
                {**_facts(entry), "of_a_model": labelled_by_a_model(entry.origin)} for entry in self.directions
            ],
            "cosines": np.clip(normals @ normals.T, -1.0, 1.0).round(6).tolist(),
        }


def _facts(entry: Direction) -> dict[str, object]:
    """All but the arrays, in JSON's types."""
    facts = {
        name: value for name, value in asdict(entry).items() if name != "along" and not isinstance(value, np.ndarray)
    }
    return dict(plain(facts))


def write_directions(path: Path, fitted: FittedDirections) -> None:
    """Write directions as a safetensors file. Raises RunFolderError where the disk refuses."""
    facts = [_facts(entry) for entry in fitted.directions]
    tensors = {
        "normals": np.array([entry.normal for entry in fitted.directions]),
        "along": np.array([entry.way for entry in fitted.directions]),
    }
    content = content_of(LINEAR, tensors, space=fitted.space, directions=facts, origin=dict(fitted.origin))
    write_atomically(path, content)


def read_directions(path: Path) -> FittedDirections:
    """The directions of a file of `transect directions fit`. Raises BadInput for other or invalid ones."""
    remedy = "make one: transect directions fit"
    fitted = read_content(path, {LINEAR: _parsed}, expected="a file of directions", remedy=remedy)
    return replace(fitted, sha256=model_files.sha256(path))


def _parsed(tensors: Arrays, facts: Facts) -> FittedDirections:
    rows = zip(_entries(facts["directions"]), tensors["normals"], tensors["along"], strict=True)
    origin = loads(facts.get("origin", "{}"))
    if not isinstance(origin, dict):
        raise ValueError("its origin must be an object")
    return FittedDirections(tuple(_direction(*row) for row in rows), facts["space"], origin)


def _entries(text: str) -> list[dict[str, object]]:
    entries = loads(text)
    if not (isinstance(entries, list) and entries and all(isinstance(entry, dict) for entry in entries)):
        raise ValueError("it has no list of directions")
    return entries


def _check_entry(entry: Mapping[str, object]) -> dict[str, Any]:
    """The entry with NaN for numbers that are unknown; raises ValueError for names and numbers that are none."""
    for key in _TEXTS:
        text = entry[key]
        if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) <= _LONGEST_NAME:
            raise ValueError(f"{key} must be a short text")
    if not isinstance(entry["origin"], dict):
        raise ValueError(f"the origin of {entry['name']} must be an object")
    unknown = {key: math.nan for key in _MAY_BE_UNKNOWN if key in entry and entry[key] is None}
    for key in (*_NUMBERS, *(key for key in _MAY_BE_UNKNOWN if key in entry and key not in unknown)):
        value = entry[key]
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError(f"{key} of {entry['name']} must be a number")
    return {**entry, **unknown}


def _direction(entry: Mapping[str, object], normal: np.ndarray, along: np.ndarray) -> Direction:
    """One linear direction; raises ValueError, KeyError or TypeError if it is not one."""
    row, way = np.asarray(normal, dtype=np.float64), np.asarray(along, dtype=np.float64)
    units = all(abs(float(np.linalg.norm(each)) - 1) <= 1e-6 for each in (row, way))
    if row.ndim != 1 or row.shape != way.shape or not units:
        raise ValueError(f"the normal of {entry['name']}, and the way along it, must have length 1")
    if not row @ way > 0:
        raise ValueError(f"the way along {entry['name']} must lead across its hyperplane")
    direction = Direction(normal=row, along=way, **_check_entry(entry))
    if not direction.low < direction.high or (direction.kind != "binary" and not abs(direction.slope) > 0):
        raise ValueError(f"{direction.name} has no range")
    return direction


def in_space(generator: Generator, latents: Latents, space: str) -> Latents:
    """The latents in the space of directions: w as the mean of w+, or repeated. Raises BadInput where it cannot map."""
    if latents.space == space:
        return latents
    if {latents.space, space} == {ONE, EACH} and isinstance(generator, HasLayers) and generator.layers:
        rows = np.asarray(latents.values, dtype=np.float64).reshape(len(latents), -1)
        if space == ONE:
            return of_one(latents, rows.shape[1] // generator.layers)
        return replace(latents, values=np.tile(rows, (1, generator.layers)), space=EACH)
    if not isinstance(generator, MapsSpaces):
        raise BadInput(
            f"directions: expected space {latents.space}, which {generator.name} samples, got space {space}; fit them"
            " on this generator: transect directions fit"
        )
    return generator.to_space(latents, space)


@final
class LearnedWorld:
    """Generator and controls in one, for designs and audits.

    Raises BadInput for directions of another space, another number of coordinates, or that were fitted on other
    weights than the generator's.
    """

    def __init__(self, generator: Generator, fitted: FittedDirections, *, plain: bool = False) -> None:
        self.generator, self.fitted = generator, fitted
        self.controls = fitted.controls(plain=plain)
        self.name, self.image_size, self.latent_dim = generator.name, generator.image_size, generator.latent_dim
        self._check_weights()
        self.controls.read(self.sample(np.zeros(1, dtype=np.int64)))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that the directions set."""
        return self.controls.attributes

    @property
    def truth_attributes(self) -> tuple[Attribute, ...]:
        """What `truths` has a column of: the generator's, where it knows them, before those of the directions."""
        known = self.generator.truth_attributes if isinstance(self.generator, KnowsTruth) else ()
        names = {attribute.name for attribute in known}
        return (*known, *(attribute for attribute in self.attributes if attribute.name not in names))

    @property
    def usual_levels(self) -> Mapping[str, tuple[float, ...]]:
        """Five evenly spaced values from where the labels see little of an attribute to where they see much of it."""
        return self.controls.usual_levels

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The generator's subjects, in the space of the directions, or in w+ where directions are of w."""
        return self._map_latents(self.generator.sample(seeds))

    def sample_unedited(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Subjects by which limits of edits are set: the generator's own draws, also where the study's are inverted."""
        return self._map_latents(capabilities.sample_unedited(self.generator, seeds))

    def render(self, latents: Latents) -> Images:
        """The generator's images."""
        return self.generator.render(latents)

    def read(self, latents: Latents) -> pa.Table:
        """Values along the directions, as `LearnedControls.read` has them."""
        return self.controls.read(latents)

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """Latents moved along the directions, as `LearnedControls.set` does."""
        return self.controls.set(latents, values, hold=hold)

    def move(self, latents: Latents, name: str, lengths: Float[np.ndarray, " n"]) -> Latents:
        """Latents along the attribute's unit direction, as `LearnedControls.move` does."""
        return self.controls.move(latents, name, lengths)

    def truths(self, latents: Latents) -> pa.Table:
        """The resulting attributes: by the generator where it knows them, else the values along the directions."""
        known = self.generator.truths(latents) if isinstance(self.generator, KnowsTruth) else None
        along = self.read(latents)
        if known is None:
            return along
        for name in along.column_names:
            known = known if name in known.column_names else known.append_column(name, along[name])
        return known

    def describe(self) -> dict[str, object]:
        """The generator's description, and where the directions come from."""
        truth_known = isinstance(self.generator, KnowsTruth)
        directions = {**self.fitted.describe(), "truth_known": truth_known}
        return {**capabilities.description(self.generator), "directions": directions}

    def validity(self) -> dict[str, object]:
        """The generator's validity; empty where it states none."""
        return capabilities.validity(self.generator)

    def check_subjects(self, wanted: int) -> None:
        """Raises BadInput for more subjects than the generator has, where their number is limited."""
        capabilities.check_subjects(self.generator, wanted)

    def _map_latents(self, latents: Latents) -> Latents:
        if takes(self.fitted.space, latents.space):
            return latents
        return in_space(self.generator, latents, self.fitted.space)

    def _check_weights(self) -> None:
        description = capabilities.description(self.generator)
        recorded = self.fitted.origin.get("generator")
        recorded = recorded if isinstance(recorded, Mapping) else {}
        for key in ("architecture", "weights_sha256"):
            if key in recorded and recorded[key] != description.get(key):
                raise BadInput(
                    f"directions: expected directions of generator {self.name}, got some fitted on "
                    f"{recorded.get('name')} (another {spaced(key)}); fit them on this one: transect "
                    "directions fit"
                )

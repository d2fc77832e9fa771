"""Whether images became what was set: the gates of edits, of generators and of photographs."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from transect.controls.learned import LearnedWorld
from transect.datasets.labelled import SUBJECT
from transect.designs import edit_validity, transect_latents
from transect.designs.edit_validity import Intended, Judged, Limits, Measured, Moved, Stated, judge
from transect.designs.steps import Steps
from transect.errors import BadInput
from transect.experiment.audit_request import CheckSettings
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.inversion.pictures import InvertedPhotographs
from transect.protocols import EditsPhotographs, Generator, KnowsIdentities, KnowsTruth, Target, World
from transect.records import SUBJECTS_PER_SEED, Attribute, Design, Images, Latents, Task
from transect.runs.capabilities import sample_unedited, truths
from transect.runs.folder import RunFolder
from transect.runs.spec import EditsEntry

_UNSTATED: Final = "what it should read as at its levels is not stated"


def edited(world: World) -> EditsPhotographs | None:
    """The world as one that edits photographs; None for others, and for prompts without photographs."""
    plain = plain_world(world)
    return plain if isinstance(plain, EditsPhotographs) and plain.photographs else None


def reference(world: World, design: Design) -> Int[np.ndarray, " m"]:
    """The seeds of unedited photographs that set the limits: each once, first those that the study does not show."""
    photographs = edited(world)
    count = 0 if photographs is None else photographs.photographs
    places = [*range(design.subjects, count), *range(min(design.subjects, count))][: edit_validity.REFERENCE]
    return design.seed * SUBJECTS_PER_SEED + np.array(places, dtype=np.int64)


def with_people(measured: Measured, world: World, latents: Latents) -> Measured:
    """The measures, and who is on each image where the world knows that people repeat."""
    known = truths(world, latents)
    if SUBJECT not in known.column_names:
        return measured
    return replace(measured, people=known[SUBJECT].to_numpy().astype(np.int64))


def _intended(world: EditsPhotographs, attribute: Attribute, measures: Measured, *, named: bool) -> Intended | str:
    as_it_is, name = world.as_they_are[attribute.name], attribute.name
    stated = world.intended_readings().get(name) or (_by_name(attribute) if named else {})
    if not stated:
        return _UNSTATED if attribute.discrete else Moved(as_it_is)
    if name in measures.levels or set(stated.values()) <= {0.0, 1.0}:
        return Stated(stated, as_it_is, edit_validity.YES_OR_NO)
    readings = measures.readings.get(name, np.full(1, np.nan))
    spread = float(np.nanstd(readings)) if np.isfinite(readings).any() else np.nan
    return Stated(stated, as_it_is, edit_validity.MOST_DRIFT * spread)


def _by_name(attribute: Attribute) -> dict[float, float]:
    """Levels that are called as the reading network's own, by the number that it reads them as."""
    own = next((each.levels for each in ATTRIBUTES if each.name == attribute.name), ())
    return {float(at): float(own.index(level)) for at, level in enumerate(attribute.levels) if level in own}


@functools.lru_cache(maxsize=1)
def well_read() -> frozenset[str]:
    """Attributes that pictures show well enough for the built-in network: those of the reference's directions."""
    from transect.controls.learned import read_directions
    from transect.generators.reference import DIRECTIONS

    return frozenset(direction.name for direction in read_directions(DIRECTIONS).directions)


@functools.lru_cache(maxsize=1)
def read_as_levels() -> frozenset[str]:
    """Attributes that this network reads as one of several levels in no order."""
    from transect.perceptual.features import load

    return frozenset(answer.name for answer in load().answers if answer.levels > len((False, True)))


def with_outside(judged: Judged, world: World, latents: Latents, images: Images, own: Images) -> Judged:
    """The judgement, and which images changed outside of what was to be edited; own: the subjects as they are."""
    masks = _masks(world, latents)
    if masks is None or masks.all():
        return judged
    rows = np.arange(len(images)) // (len(images) // len(own))
    differ = [(image != own.pixels[row]).any(axis=2) for image, row in zip(images.pixels, rows, strict=True)]
    changed = (np.array(differ) & ~masks).any(axis=(1, 2))
    everything = np.asarray(masks.all(axis=(1, 2)))
    outside = edit_validity.OUTSIDE
    return replace(judged, fails={**judged.fails, outside: changed}, unknown={**judged.unknown, outside: everything})


def _masks(world: World, latents: Latents) -> Bool[np.ndarray, "n h w"] | None:
    photographs = edited(world)
    if photographs is not None:
        return photographs.edit_masks(latents)
    generator = _generator(world)
    if isinstance(generator, InvertedPhotographs) and generator.backgrounds is not None:
        return generator.edit_masks(latents)
    return None


EDITS: Final = "edits"
REFERENCE_TABLE: Final = "edit_reference"
BATCH: Final = 64
MOST_DRAWS: Final = 20


@final
@dataclass(frozen=True, slots=True)
class EditCheck:
    """What measures edits, in addition to what the world itself knows, and how often a subject is drawn again.

    attributes: by name of the attribute, a target whose score or answer reads it; identity: one with embeddings;
    realism: one with a score. redraw: how often a subject some of whose images fail is replaced by another. shipped:
    where no target does, the built-in network reads the fitted attributes and the identity of images. `for_world`
    sets it for the reference generator, and for edits of photographs by a learned model that no target reads: the
    network was trained on rendered faces, and the report says so.
    """

    attributes: Mapping[str, Target] = field(default_factory=dict)
    identity: Target | None = None
    realism: Target | None = None
    redraw: int = 0
    shipped: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.redraw <= MOST_DRAWS:
            raise BadInput(f"--redraw: expected 0 to {MOST_DRAWS} further draws of a subject, got {self.redraw}")
        if self.identity is not None and Task(self.identity.task) is not Task.EMBEDDING:
            raise BadInput(f"--check-identity: expected a target that embeds, got a {self.identity.task} target")

    @property
    def empty(self) -> bool:
        """Whether there is nothing to measure with, and no subject is drawn again."""
        return self.targetless and not self.redraw and not self.shipped

    @property
    def targetless(self) -> bool:
        """Whether there is no target to measure with."""
        return not self.attributes and self.identity is None and self.realism is None

    def entry(self) -> EditsEntry:
        """What recreates it, for a run's spec."""
        from transect.targets import describe

        return EditsEntry(
            {name: describe(target) for name, target in self.attributes.items()},
            None if self.identity is None else describe(self.identity),
            None if self.realism is None else describe(self.realism),
            self.redraw,
            self.shipped,
        )


def measured(check: EditCheck, world: World, latents: Latents, images: Images) -> Measured:
    """What the check's targets and the world itself measure on images; a target's reading stands before the truth's.

    The world's: true values of attributes (not of nuisances), and identities, where it knows them; else, where the
    check says so, what the built-in network reads.
    """
    generator = _generator(world)
    readings = _read_by_shipped(world, images) if check.shipped else {}
    levels: set[str] = set()
    if check.shipped and edited(world) is not None:
        levels |= readings.keys() & read_as_levels()
    if isinstance(generator, KnowsTruth):
        truths = generator.truths(latents)
        for attribute in generator.truth_attributes:
            if attribute.role == "attribute":
                readings[attribute.name] = truths[attribute.name].to_numpy().astype(np.float64)
                levels |= {attribute.name} if attribute.discrete else set()
    for name, target in check.attributes.items():
        readings[name] = _scores(target, images)[:, 0]
        levels -= {name}
    identity = np.empty((0, 0))
    if check.identity is not None:
        identity = _scores(check.identity, images)
    elif isinstance(generator, KnowsIdentities):
        identity = np.asarray(generator.identities(latents))
    elif check.shipped:
        from transect.perceptual import features

        identity = features.identities(images.pixels)
    realism = np.empty(0) if check.realism is None else _scores(check.realism, images)[:, 0]
    return Measured(readings, edit_validity.saturated(images), identity, realism, frozenset(levels))


def _read_by_shipped(world: World, images: Images) -> dict[str, np.ndarray]:
    """Readings of the attributes that have a direction: those that pictures show well enough to be read."""
    from transect.perceptual import features

    values = features.read(images.pixels)
    known: Iterable[str] = [attribute.name for attribute in plain_world(world).attributes]
    if _generator(world) is None:
        known = sorted(well_read())
    return {name: values[name] for name in known if name in values}


def plain_world(world: World) -> World:
    """The world itself where it is moved in steps: truths and controls are in the attributes' own units."""
    return world.world if isinstance(world, Steps) else world


def _generator(world: World) -> Generator | None:
    """What renders, without the steps and directions around it; None where attributes are set exactly."""
    plain = plain_world(world)
    return plain.generator if isinstance(plain, LearnedWorld) else None


def needed(world: World) -> bool:
    """Whether a world's edits are checked by default: along fitted directions, or by a model on photographs."""
    photographs = edited(world)
    return _generator(world) is not None or (photographs is not None and photographs.learned_edits)


def for_world(world: World, design: Design, check: EditCheck | None) -> EditCheck | None:
    """The check of a study: the one requested, or the world's own where attributes are learned; else None."""
    requested = check is not None and not check.empty
    if not design.levels:
        if requested:
            raise BadInput("--check-… and --redraw apply to images whose attributes are set: give --vary or --steps")
        return None
    photographs = edited(world)
    if check is not None and check.redraw:
        what = "--latents" if isinstance(_generator(world), InvertedPhotographs) else "photographs"
        if what == "--latents" or photographs is not None:
            raise BadInput(f"--redraw does not apply to {what}, since there is no other photograph to draw; drop it")
    chosen = check if requested else EditCheck() if needed(world) else None
    if chosen is None:
        return None
    from transect.generators.reference import is_reference

    generator = _generator(world)
    unread = photographs is not None and photographs.learned_edits and chosen.targetless
    shipped = unread or (generator is not None and is_reference(generator))
    return replace(chosen, shipped=True) if shipped else chosen


def check_of(settings: CheckSettings) -> EditCheck:
    """The check of these targets, which are specs or objects."""
    given = settings.attributes
    readers = given if isinstance(given, Mapping) else named(given)
    return EditCheck(
        {name: _resolved(target, "regression") for name, target in readers.items()},
        None if settings.identity is None else _resolved(settings.identity, "embedding"),
        None if settings.realism is None else _resolved(settings.realism, "regression"),
        settings.redraw,
        settings.shipped,
    )


def named(texts: Sequence[str]) -> dict[str, str]:
    """The targets by attribute, of NAME=TARGET texts. Raises BadInput for one without a name, and for a name twice."""
    specs: dict[str, str] = {}
    for text in texts:
        name, equals, spec = (piece.strip() for piece in text.partition("="))
        if not (name and equals and spec) or name in specs:
            raise BadInput(f"--check-attribute {text!r}: expected NAME=TARGET, each name once")
        specs[name] = spec
    return specs


def _resolved(target: object, task: str) -> Target:
    from transect.targets import as_target, resolve
    from transect.targets.resolution import takes

    if isinstance(target, Target):
        return target
    if not isinstance(target, str):
        return as_target(target, task=task)
    return resolve(target, task=task) if takes(target, "task") else resolve(target)


def _scores(target: Target, images: Images) -> np.ndarray:
    from transect.targets import guarded

    return np.asarray(guarded(target, images, timeout=10.0, batch=BATCH).scores, dtype=np.float64)


@final
@dataclass(frozen=True, slots=True)
class Gatekeeper:
    """Limits and measures of one study, ready to judge its parts."""

    check: EditCheck
    world: World
    design: Design
    limits: Limits

    def judge(
        self, seeds: Int[np.ndarray, " s"], latents: Latents, images: Images
    ) -> tuple[Measured, Measured, Judged]:
        """Measures of whole subjects' images, of their own, and what fails."""
        own_latents = self.world.sample(seeds)
        own = self.world.render(own_latents)
        before = measured(self.check, self.world, own_latents, own)
        edited = measured(self.check, self.world, latents, images)
        # As the controls read it: in the attribute's own unit also where cells are steps from the subject's own value.
        values = self.world.read(latents)
        intended = {name: values[name].to_numpy() for name in self.design.levels}
        rows = np.repeat(np.arange(len(seeds)), self.design.n_cells)
        judged = judge(self.limits, edited, before.take(rows), intended)
        return edited, before, with_outside(judged, self.world, latents, images, own)


def gatekeeper(check: EditCheck, world: World, design: Design, folder: RunFolder | None) -> Gatekeeper:
    """The limits that unedited subjects set, measured once and stored in the folder; None for a worker without one."""
    seeds, measures, latents = _reference(check, world, design)
    values = {name: world.read(latents)[name].to_numpy() for name in design.levels}
    limits = edit_validity.limits_of(measures, values, list(design.levels), _intentions(check, world, design, measures))
    if folder is not None and not folder.has_part(REFERENCE_TABLE, 0):
        columns = {f"reading.{name}": column for name, column in measures.readings.items()}
        columns |= {f"value.{name}": column for name, column in values.items()} | {"saturated": measures.saturated}
        columns |= {"realism": measures.realism} if len(measures.realism) else {}
        metadata = {b"limits": _text(limits)}
        table = pa.table({"subject": seeds, **columns}).replace_schema_metadata(metadata)
        folder.write_part(REFERENCE_TABLE, 0, table)
    return Gatekeeper(check, world, design, limits)


def _reference(check: EditCheck, world: World, design: Design) -> tuple[Int[np.ndarray, " m"], Measured, Latents]:
    """Unedited images that set the limits: their subjects' seeds, what they measure, their latents."""
    if edited(world) is None:
        beyond = np.arange(design.subjects, design.subjects + edit_validity.REFERENCE, dtype=np.int64)
        seeds = design.seed * SUBJECTS_PER_SEED + beyond
        latents = sample_unedited(plain_world(world), seeds)
        return seeds, measured(check, world, latents, world.render(latents)), latents
    seeds = reference(world, design)
    latents = world.sample(seeds)
    measures = measured(check, world, latents, world.render(latents))
    return seeds, with_people(measures, world, latents), latents


def _intentions(
    check: EditCheck, world: World, design: Design, measures: Measured
) -> Mapping[str, Intended | str] | None:
    """What the set attributes of photographs should read as; None of latents, where unedited images show it."""
    photographs = edited(world)
    if photographs is None:
        return None
    # Where no model of the user's reads an attribute, the built-in network knows its levels by their names.
    return {
        each.name: _intended(photographs, each, measures, named=each.name not in check.attributes)
        for each in plain_world(world).attributes
        if each.name in design.levels
    }


def _text(limits: Limits) -> bytes:
    import json

    def number(value: float) -> float | None:
        return None if np.isnan(value) else value

    plain = {name: number(getattr(limits, name)) for name in ("identity", "realism", "saturated")}
    tolerances = {name: number(curve.tolerance) for name, curve in limits.expected.items()}
    return json.dumps({**plain, "tolerances": tolerances, "reasons": dict(limits.reasons)}, sort_keys=True).encode()


def passing(
    keeper: Gatekeeper, seeds: Int[np.ndarray, " s"], first: int
) -> tuple[Int[np.ndarray, " s"], Latents, Images, pa.Table]:
    """Subjects of a part with latents, images and edits table, drawn again where requested; the last draw stays."""
    draws = np.ones(len(seeds))
    if keeper.check.redraw:
        drawn = [_drawn(keeper, int(seed), first + index) for index, seed in enumerate(seeds)]
        seeds = np.array([seed for seed, _ in drawn], dtype=np.int64)
        draws = np.array([count for _, count in drawn], dtype=np.float64)
    latents = transect_latents(keeper.design, keeper.world.sample(seeds), keeper.world)
    images = keeper.world.render(latents)
    return seeds, latents, images, _table(keeper, seeds, *keeper.judge(seeds, latents, images), draws)


def _drawn(keeper: Gatekeeper, seed: int, number: int) -> tuple[int, int]:
    """The seed of the first draw that passes every gate, or of the last; and how many were drawn."""
    beyond = keeper.design.subjects + edit_validity.REFERENCE + number * keeper.check.redraw
    further = [keeper.design.seed * SUBJECTS_PER_SEED + beyond + draw for draw in range(keeper.check.redraw)]
    for count, candidate in enumerate([seed, *further], 1):
        seeds = np.array([candidate], dtype=np.int64)
        latents = transect_latents(keeper.design, keeper.world.sample(seeds), keeper.world)
        judged = keeper.judge(seeds, latents, keeper.world.render(latents))[2]
        if not judged.failed.any() or count > keeper.check.redraw:
            return candidate, count
    raise AssertionError("unreachable: the last draw is kept")


def _table(
    keeper: Gatekeeper, seeds: np.ndarray, edited: Measured, before: Measured, judged: Judged, draws: np.ndarray
) -> pa.Table:
    """Rows of edits, subject-major, then a row per subject for its own image."""
    cells, n = keeper.design.n_cells, len(seeds)
    everyone = np.concatenate([np.repeat(seeds, cells), seeds])
    cell = np.concatenate([np.tile(np.arange(cells), n), np.full(n, -1)]).astype(np.int32)
    columns: dict[str, np.ndarray] = {"subject": everyone, "cell": cell}
    for name, column in edited.readings.items():
        columns[f"reading.{name}"] = np.concatenate([column, before.readings[name]])
    columns["distance"] = np.concatenate([judged.distance, np.zeros(n)])
    if len(edited.realism):
        columns["realism"] = np.concatenate([edited.realism, before.realism])
    columns["saturated"] = np.concatenate([edited.saturated, before.saturated])
    for name, moved in judged.drift.items():
        columns[f"drift.{name}"] = np.concatenate([moved, np.zeros(n)])
    for name, fails in judged.fails.items():
        columns[f"fails.{name}"] = np.concatenate([fails, np.zeros(n, dtype=bool)])
        columns[f"unknown.{name}"] = np.concatenate([judged.unknown[name], np.zeros(n, dtype=bool)])
    columns["draws"] = np.concatenate([np.repeat(draws, cells), draws]).astype(np.int32)
    return pa.table(columns)

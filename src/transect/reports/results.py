"""`results.json`: every number of the report, in one file with a published JSON Schema.

Proportions are fractions in [-1, 1] here; the page shows them as per cent or percentage points. What could not be
estimated is null, with its reason beside it. The JSON Schema is generated from these models.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError, model_validator

from transect.effects.verdicts import is_shown
from transect.errors import BadInput
from transect.records import Basis, Kind
from transect.reports.entries import (
    ComparedEntry,
    Count,
    EffectEntry,
    Estimate,
    EstimatedEntry,
    FigureEntry,
    FoundInteraction,
    GalleryEntry,
    JsonObject,
    Model,
    Number,
    OfOutcome,
    OfTarget,
    PhotometryEntry,
    PlanEntry,
    Probability,
    ProjectionEntry,
    ReadingEntry,
    TestFamily,
    VerdictEntry,
    with_standing,
)
from transect.reports.records import Gallery, Section
from transect.runs.json_records import plain
from transect.runs.result import json_schema
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import expectation, in_words


class AttributeEntry(Model):
    """One varied attribute: its levels as numbers and as people read them."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    levels: list[Number]
    labels: list[str] = Field(description="one text per level")
    source: str

    @model_validator(mode="after")
    def _one_label_per_level(self) -> AttributeEntry:
        if len(self.levels) != len(self.labels):
            raise ValueError(f"expected one label per level, got {len(self.labels)} for {len(self.levels)} levels")
        return self


class TargetEntry(Model):
    """One model under audit, its settings, and what it did not answer."""

    name: str
    slug: str
    task: Literal["binary", "multiclass", "multilabel", "detection", "regression", "embedding"]
    description: JsonObject = Field(description="settings and preprocessing, as given to the target")
    truth: str | None = Field(description="the right answer for this target, as stated or as raters saw it")
    n_images: Count
    n_failed: Count = Field(description="images without a valid answer")
    failure_reasons: dict[str, Count]
    found_rule: str | None = Field(description="what counts as found, for a detector")


class StudyEntry(Model):
    """One design on one population, put to one or more targets."""

    name: str
    spec: JsonObject = Field(description="the whole run.json")
    spec_hash: str
    basis: Basis
    subjects: Count
    images: Count
    hold: list[str]
    population: str
    truth: str | None
    seed: int
    attributes: list[AttributeEntry]
    targets: list[TargetEntry]
    outcomes: list[str]
    cells_left_out: Count = Field(
        default=0,
        description="cells of more attributes at once, per outcome, that have no rates: they would be too many",
    )


class RateEntry(OfOutcome):
    """The mean of an outcome in one cell of the design; order is the number of attributes that the cell fixes."""

    cell: dict[str, Number]
    order: Annotated[int, Field(ge=0, le=3)]
    rate: Estimate
    low: Estimate
    high: Estimate
    n_subjects: Count
    n_images: Count
    excluded: dict[str, Count]
    method: str
    unit: str


class FamilyEntry(Model):
    """The family of tests that the adjusted p values belong to. The last two are counted from the effects."""

    size: Count
    method: str
    alpha: Probability
    confidence: Probability = Field(default=0.95, description="of every interval")
    significant: Count = Field(default=0, description="with p_adjusted <= alpha and an interval without 0")
    not_estimable: Count = Field(default=0, description="effects without an estimate")


class WorldEntry(Model):
    """Where the images come from, and how far it is validated."""

    name: str
    photometry_validated: bool
    statement: str
    maximum_gain_stops: Number
    photographs: bool = Field(default=False, description="whether every image is a photograph of a data set")
    photometry: PhotometryEntry | None = None
    identity: FigureEntry | None = Field(default=None, description="AUC of pairs of one subject against pairs of two")
    readings: list[ReadingEntry] = Field(default_factory=list)


class Citation(Model):
    """One work that a method is taken from."""

    key: str
    text: str
    url: str


class PickedEntry(Model):
    """An effect of the summary: its interval at the level of the selection, and its estimate drawn towards 0."""

    effect: Count = Field(description="index into effects")
    low: Estimate
    high: Estimate
    shrunken: Estimate = Field(description="posterior mean, given all effects that could have been picked")


class SelectionEntry(Model):
    """The effects that the summary picked as the largest, and of how many; see effects.selection for the method."""

    of: Count = 0
    confidence: Number = Field(default=0.95, description="level of each interval: false coverage rate of at most 5 %")
    effects: list[PickedEntry] = Field(default=[])


class Results(Model):
    """Every number of a report."""

    schema_version: Literal[1]
    transect_version: str
    title: str
    question: str
    studies: Annotated[list[StudyEntry], Field(min_length=1)]
    effects: list[EffectEntry]
    rates: list[RateEntry]
    verdicts: list[VerdictEntry] = Field(default=[], description="in the order in which the page lists them")
    found_interactions: list[FoundInteraction] = Field(default=[], description="significant ones, the surest first")
    replicated: list[str] = Field(
        default=[], description="of each effect that several worlds have: its verdict, and in how many it was seen"
    )
    warnings: list[str] = Field(default=[], description="what must be checked before a number is used")
    selection: SelectionEntry = SelectionEntry()
    family: FamilyEntry
    world: WorldEntry
    limits: list[str]
    citations: list[Citation]
    sections: list[Section] = Field(default=[], description="analyses beyond effects and rates, as figures and tables")
    gallery: GalleryEntry = GalleryEntry()
    interactions: list[ComparedEntry] = Field(default=[])
    projections: list[ProjectionEntry] = Field(default=[])
    negative_controls: list[ComparedEntry] = Field(default=[])
    plans: list[PlanEntry] = Field(default=[])
    families: list[TestFamily] = Field(default=[])

    @model_validator(mode="after")
    def _names_are_known(self) -> Results:
        studies = {study.name: study for study in self.studies}
        if len(studies) < len(self.studies):
            raise ValueError("two studies have the same name")
        _below("verdicts", "effects", [row.effect for row in self.verdicts], len(self.effects))
        _below(
            "found_interactions",
            "interactions",
            [row.interaction for row in self.found_interactions],
            len(self.interactions),
        )
        for index, effect in enumerate(self.effects):
            study = _known(f"effects.{index}", effect, studies)
            _among(f"effects.{index}", "attribute", effect.attribute, [entry.name for entry in study.attributes])
            _among(f"effects.{index}", "outcome", effect.outcome, study.outcomes)
        for index, rate in enumerate(self.rates):
            study = _known(f"rates.{index}", rate, studies)
            _among(f"rates.{index}", "outcome", rate.outcome, study.outcomes)
            _check_cell(f"rates.{index}", rate, study)
        for name in ("interactions", "projections", "negative_controls", "plans", "verdicts"):
            for index, row in enumerate(getattr(self, name)):
                _known(f"{name}.{index}", row, studies)
        self.check_gallery()
        return self

    def check_gallery(self) -> None:
        """Raises ValueError where an image is of a study or a target that the results do not have."""
        studies = {study.name: study for study in self.studies}
        strips = [*self.gallery.strips, *self.gallery.flips]
        examples = [example for strip in strips for example in strip.examples]
        for shown in (*examples, *self.gallery.failures, *self.gallery.faces):
            _known("gallery", shown, studies)


def names_of(study: StudyEntry) -> list[str]:
    """The targets of a study, and its questions about two images at once."""
    return [
        *(target.name for target in study.targets),
        *(str(asked["name"]) for asked in study.spec.get("pairs") or ()),
    ]


def _known(place: str, row: OfTarget, studies: Mapping[str, StudyEntry]) -> StudyEntry:
    """The study that a row belongs to; the page would drop a row whose study or target it does not know."""
    _among(place, "study", row.study, list(studies))
    _among(place, "target", row.target, names_of(studies[row.study]))
    return studies[row.study]


def _below(place: str, table: str, indices: Sequence[int | None], length: int) -> None:
    if beyond := [index for index in indices if index is not None and index >= length]:
        raise ValueError(f"{place}: expected indices below {length}, the {table}, got {beyond}")


def _among(place: str, kind: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise ValueError(f"{place}: expected {kind} to be one of {', '.join(known)}, got {name!r}")


def _check_cell(place: str, rate: RateEntry, study: StudyEntry) -> None:
    levels = {attribute.name: attribute.levels for attribute in study.attributes}
    if len(rate.cell) != rate.order:
        raise ValueError(f"{place}: expected {rate.order} attributes in the cell, got {len(rate.cell)}")
    for name, value in rate.cell.items():
        _among(place, "attribute", name, list(levels))
        if value not in levels[name]:
            raise ValueError(f"{place}: expected a level of {name} ({levels[name]}), got {value}")


def read(results: Mapping[str, object]) -> Results:
    """Results from JSON values or records, NaN as null. Raises BadInput with the first place that does not fit."""
    if place := _infinite(results):
        raise BadInput(f"results do not fit results.schema.json at {place}: expected a finite number, got infinity")
    try:
        whole = {key: value if _is_made(value) else plain(value) for key, value in results.items()}
        return Results.model_validate(whole)
    except ValidationError as failure:
        first = failure.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "results"
        value = f", got {in_words(first['input'])}" if first["type"] not in ("missing", "value_error") else ""
        count = f" ({failure.error_count()} such places)" if failure.error_count() > 1 else ""
        raise BadInput(
            f"results do not fit results.schema.json at {place}: {expectation(first)}{value}{count}; "
            "fix what wrote them"
        ) from None


def _is_made(value: object) -> bool:
    """Whether it is an entry already, or a list of them."""
    return isinstance(value, Model) or (isinstance(value, list) and bool(value) and isinstance(value[0], Model))


def _infinite(value: object) -> str:
    """The place of the first infinite number; "" without one. What is unknown is NaN, so that infinity is a mistake."""
    pairs: Iterable[tuple[object, object]] = ()
    if isinstance(value, Mapping):
        pairs = value.items()
    elif isinstance(value, list | tuple):
        pairs = enumerate(value)
    for key, item in pairs:
        if isinstance(item, float) and math.isinf(item):
            return str(key)
        if place := _infinite(item):
            return f"{key}.{place}"
    return ""


def complete(results: Results, gallery: Gallery, shown: Gallery) -> Results:
    """The results with what the page adds: counts over the family, the standing limits, the examples shown."""
    family = results.family.model_copy(
        update={
            "significant": sum(
                significant(effect, results.family.alpha) and not effect.same_test_as
                for effect in (*results.effects, *results.interactions)
            ),
            "not_estimable": sum(effect.estimate is None for effect in results.effects),
        }
    )
    generators = [GeneratorDescription(study.spec["generator"]) for study in results.studies]
    photographs = all(generator.of_photographs or generator.edits_photographs for generator in generators)
    limits = with_standing(results.limits, photographs=photographs)
    counts = {
        "strips_shown": len(shown.strips),
        "strips_total": len(gallery.strips),
        "failures_shown": len(shown.failures),
        "failures_total": gallery.total,
        "flips_shown": len(shown.flips),
        "flips_total": len(gallery.flips),
        "faces_total": len(gallery.faces),
    }
    examples = {name: getattr(shown, name) for name in ("strips", "failures", "flips", "faces")}
    entry = GalleryEntry.model_validate(examples | counts, from_attributes=True, strict=False)
    whole = results.model_copy(update={"family": family, "limits": limits, "gallery": entry})
    try:
        whole.check_gallery()
    except ValueError as failure:
        raise BadInput(f"{failure}; show images of the studies that are reported") from None
    return whole


def significant(effect: EstimatedEntry, alpha: float) -> bool:
    """Whether the effect is significant after adjustment, and its interval does not hold 0."""
    return is_shown(effect.p_adjusted, effect.low, effect.high, alpha)


def tree(results: Results) -> JsonObject:
    """The results as plain JSON values, keys in the order of the schema."""
    return results.model_dump(mode="json", by_alias=True)


def schema() -> JsonObject:
    """The JSON Schema (draft 2020-12) of `results.json` as it is written."""
    return json_schema(Results, "results", 1)

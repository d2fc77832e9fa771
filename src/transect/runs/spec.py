"""A run's spec: what recreates the run, as run.json holds it; of a study, and of a search.

Records whose fields are plug-ins' own descriptions keep those as they are (`facts`), so that a spec that is read
and written again has the same hash.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from transect.errors import BadInput
from transect.records import Attribute, Design, Task
from transect.runs.json_records import AS_ITSELF, WHERE_SET, json_of, record_of
from transect.runs.layout import is_coded, tables_of


@final
@dataclass(frozen=True, slots=True)
class OutsideFigure:
    """A figure with its 95 % interval, None where it is not estimable. n: subjects."""

    value: float | None
    low: float | None
    high: float | None
    n: int


@final
@dataclass(frozen=True, slots=True)
class OutsideReading:
    """How a model from outside reads an attribute of the world's pictures, and of photographs with that label."""

    reader: str
    unit: str
    image_size: int
    auc: OutsideFigure
    correlation: OutsideFigure
    slope: OutsideFigure
    photographs: str = ""
    label: str = ""
    photographs_auc: OutsideFigure | None = None
    photographs_correlation: OutsideFigure | None = None
    photographs_slope: OutsideFigure | None = None


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """How well one attribute is read back from the world's pictures, also by models from outside; or why not known."""

    attribute: str
    figure: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    gate: float | None = None
    met: bool | None = None
    visibility: str = ""
    reason: str = ""
    outside: tuple[OutsideReading, ...] = field(default=(), metadata=WHERE_SET)


Facts = Mapping[str, Any]
"""What a plug-in states of itself, as JSON values: open to keys that only the plug-in knows."""

_SEARCH: Final = (
    "expected the folder of an audit, got that of a search: its page is search.html; rerun `transect search` to write "
    "it again; stored answers are reused"
)


@final
@dataclass(frozen=True, slots=True)
class StepSize:
    """The attribute that is moved in steps λ; by: half-range, or direction, the unit of its latent direction."""

    attribute: str
    half_range: float
    unit: str
    by: str = "half-range"


@final
@dataclass(frozen=True, slots=True)
class GeneratorDescription:
    """How a generator describes itself, its controls and its population."""

    facts: Facts = field(metadata=AS_ITSELF)

    @property
    def name(self) -> str:
        """What tables and reports call it."""
        return str(self.facts["name"])

    @property
    def population(self) -> str:
        """The population that it draws subjects from; "" where it states none."""
        return str(self.facts.get("population", ""))

    @property
    def maximum_gain(self) -> float:
        """Stops by which its camera can brighten a picture; 0 where it has none."""
        return float(self.facts.get("camera", {}).get("maximum_gain", 0.0))

    @property
    def of_photographs(self) -> bool:
        """Whether the images come from a data set and not from a generator."""
        return "labels_sha256" in self.facts

    @property
    def edits_photographs(self) -> bool:
        """Whether its subjects are photographs on which a camera's settings are set."""
        return "pictures_sha256" in self.facts

    @property
    def computes_on_photographs(self) -> bool:
        """Whether its subjects are photographs on which edits are computed, as against painted by a model."""
        return self.edits_photographs and "camera" in self.facts

    @property
    def starts_from_photographs(self) -> bool:
        """Whether images are edits of photographs: by a camera's settings, a diffusion pipeline or an inversion."""
        return self.edits_photographs or bool(self.facts.get("source")) or bool(self.photographs)

    @property
    def steps(self) -> StepSize | None:
        """The attribute moved in steps λ; None where attributes are set to values."""
        return record_of(StepSize, self.facts["steps"], "generator.steps") if self.facts.get("steps") else None

    @property
    def directions(self) -> Facts:
        """Fitted directions along which attributes are set; empty where there are none."""
        return self.facts.get("directions") or {}

    @property
    def photographs(self) -> Facts:
        """The inverted photographs that are its subjects; empty where there are none."""
        return self.facts.get("photographs") or {}


@final
@dataclass(frozen=True, slots=True)
class WorldEntry:
    """What the report states of the world: whether its photometry and identities were validated."""

    name: str
    photometry_validated: bool
    statement: str
    photometry: Facts | None = None
    identity: Facts | None = None
    maximum_gain_stops: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class LevelsEntry:
    """The levels of one attribute of a design. They stand in a list, since their order is that of the cells."""

    attribute: str
    values: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True)
class StatedTruth:
    """The right answer for a target, as `effects.truth.Truth` reads it: text, attribute, comparison and value."""

    text: str
    attribute: str
    comparison: str = ""
    value: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class TargetDescription:
    """How a target describes itself; see `targets.description.describe`."""

    facts: Facts = field(metadata=AS_ITSELF)

    @property
    def threshold(self) -> float | None:
        """The score from which the answer is yes, or the distance from which two embeddings are no match."""
        stated = self.facts.get("threshold")
        return None if stated is None else float(stated)

    @property
    def cut(self) -> float:
        """The score from which the answer is yes; one half where the target states no threshold."""
        return 0.5 if self.threshold is None else self.threshold

    @property
    def positive(self) -> str | int | None:
        """The class that counts as yes."""
        return self.facts.get("positive")

    @property
    def box_convention(self) -> Mapping[str, float] | None:
        """Where a detector draws its box, by the fields of `targets.boxes.BoxConvention`; None where it is unknown."""
        return self.facts.get("box_convention")

    @property
    def question(self) -> Facts | None:
        """The question that the model answers in words; None of other targets."""
        return self.facts.get("asked_in_words")


@final
@dataclass(frozen=True, slots=True)
class TargetEntry:
    """A target of a run, the outcomes that are counted on it, and its right answers where they are stated."""

    name: str
    slug: str
    task: Task
    outcomes: tuple[str, ...]
    description: TargetDescription
    truth: StatedTruth | None = None

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that hold its answers; of a question in words also what was said, and what was made of it."""
        facts = self.description.facts
        return tables_of(self.slug, in_words="asked_in_words" in facts, coded=is_coded(facts))


@final
@dataclass(frozen=True, slots=True)
class PairsEntry:
    """A question about two images at once that a model was asked in a run; its answers stand in `pairs/<slug>`."""

    name: str
    slug: str
    description: TargetDescription


@final
@dataclass(frozen=True, slots=True)
class LimitsEntry:
    """Seconds that a target may take for an image, and images of a call."""

    timeout: float
    batch: int


@final
@dataclass(frozen=True, slots=True)
class EditsEntry:
    """What measures whether images became what was set, by description; see `experiment.edits.EditCheck`."""

    attributes: Mapping[str, Facts]
    identity: Facts | None
    realism: Facts | None
    redraw: int
    shipped: bool = field(default=False, metadata=WHERE_SET)


@final
@dataclass(frozen=True, slots=True)
class VerificationEntry:
    """How embedding targets verify. own: attributes by which subjects are grouped, since nothing sets them."""

    false_match_rate: float | None
    within: tuple[str, ...]
    own: tuple[Attribute, ...]


@final
@dataclass(frozen=True, slots=True)
class RunSpec:
    """What recreates a run and its analysis.

    attributes: those that images are compared by; held: further ones of observed images that adjustments hold equal;
    nominal: those whose levels have no order, varied or not. edits, verification: None where a run has none.
    """

    versions: Mapping[str, str]
    name: str
    generator: GeneratorDescription
    world: WorldEntry
    readings: tuple[Reading, ...]
    attributes: tuple[Attribute, ...]
    held: tuple[Attribute, ...]
    nominal: tuple[Attribute, ...]
    design: Design
    subjects_per_part: int
    targets: tuple[TargetEntry, ...]
    limits: LimitsEntry
    edits: EditsEntry | None = field(default=None, metadata=WHERE_SET)
    verification: VerificationEntry | None = field(default=None, metadata=WHERE_SET)
    pairs: tuple[PairsEntry, ...] = field(default=(), metadata=WHERE_SET)

    @property
    def truths(self) -> tuple[StatedTruth, ...]:
        """The truths of the targets that have one, each once."""
        return tuple(dict.fromkeys(target.truth for target in self.targets if target.truth is not None))

    @property
    def parts(self) -> int:
        """Parts of each table."""
        return -(-self.design.subjects // self.subjects_per_part)

    @property
    def rows_per_part(self) -> int:
        """Images of a whole part."""
        return self.subjects_per_part * self.design.n_cells

    @property
    def counted_by(self) -> frozenset[str]:
        """Attributes that errors may be counted by: those set, else those of the images; none of steps λ."""
        if self.generator.steps is not None:
            return frozenset()
        return frozenset(self.design.levels) or frozenset(
            attribute.name for attribute in (*self.attributes, *self.held)
        )

    @property
    def observed(self) -> dict[str, Attribute]:
        """Attributes of observed images, by name; none of an experiment."""
        return {} if self.design.levels else {each.name: each for each in (*self.attributes, *self.held)}

    def to_json(self) -> dict[str, object]:
        """As run.json holds it."""
        whole: dict[str, object] = json_of(self)
        levels = [LevelsEntry(name, values) for name, values in self.design.levels.items()]
        design = {**json_of(self.design), "levels": json_of(levels), "basis": self.design.basis}
        return {**whole, "held": whole["held"] or None, "design": design}

    @classmethod
    def from_json(cls, body: Mapping[str, object]) -> RunSpec:
        """The spec that a run.json holds. Raises BadInput for an unknown or missing key, or another type."""
        if "design" not in body and "goal" in body:
            raise BadInput(_SEARCH)
        changed = {"held": body.get("held") or [], "design": _design(body.get("design"))}
        return record_of(cls, {**body, **{key: value for key, value in changed.items() if key in body}})


def _design(value: object) -> object:
    if not isinstance(value, Mapping) or not isinstance(value.get("levels"), list):
        return value
    entries = [record_of(LevelsEntry, level, f"design.levels[{i}]") for i, level in enumerate(value["levels"])]
    levels = {entry.attribute: entry.values for entry in entries}
    return {key: levels if key == "levels" else item for key, item in value.items() if key != "basis"}


@final
@dataclass(frozen=True, slots=True)
class SearchedAttribute:
    """An attribute that a search varies, the range that it takes, and its levels where it takes nothing between."""

    attribute: Attribute
    low: float
    median: float
    high: float
    levels: tuple[float, ...] | None


@final
@dataclass(frozen=True, slots=True)
class SearchMethod:
    """How points are chosen; alpha belongs to the method of McDuff et al. 2019 alone."""

    name: str
    alpha: float | None


@final
@dataclass(frozen=True, slots=True)
class SearchSpec:
    """What recreates a search. truth: None where what is counted in words has no right answer."""

    versions: Mapping[str, str]
    name: str
    generator: GeneratorDescription
    world: WorldEntry
    goal: str
    budget: int
    seed: int
    batch: int
    method: SearchMethod
    space: tuple[SearchedAttribute, ...]
    truth: StatedTruth | None
    outcome: str
    target: TargetDescription
    limits: LimitsEntry

    def to_json(self) -> dict[str, object]:
        """As run.json holds it."""
        whole: dict[str, object] = json_of(self)
        return whole

    @classmethod
    def from_json(cls, body: Mapping[str, object]) -> SearchSpec:
        """The spec that a run.json holds. Raises BadInput for an unknown or missing key, or another type."""
        return record_of(cls, body)

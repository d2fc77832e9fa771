"""What an audit is asked to do, as one frozen record that Python, the command line and a TOML file share.

Each option of `transect audit` is a field here. Fields that belong together stand in a section, which is a record
of its own and a table of the TOML file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, final

from transect.engines.settings import LOCAL, EngineSettings
from transect.errors import UnknownName
from transect.experiment.worlds import WorldSettings
from transect.protocols import Generator, TargetLike
from transect.runs.report_options import ReportSettings
from transect.runs.table_inputs import TableLike
from transect.spoken_answers import Speaker
from transect.targets.guard import Limits
from transect.targets.settings import ModelSettings

_Record = TypeVar("_Record")
TextScore: TypeAlias = str | Callable[[Sequence[str]], Sequence[float]]
"""A function of texts that gives each a number, or its module:function."""

Levels: TypeAlias = Sequence[str] | Mapping[str, Sequence[float] | None]
"""Texts as on the command line ("glasses", "age=20,60"), or levels by attribute (None: the usual ones)."""


@final
@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Models that check whether images became what was set.

    attributes: NAME=TARGET texts, or targets by attribute; identity: an embedding; realism: a score. redraw: how many
    further subjects are drawn in place of one whose images fail a check. shipped: whether the network that ships reads
    what no model does.
    """

    attributes: Sequence[str] | Mapping[str, TargetLike] = ()
    identity: TargetLike | None = None
    realism: TargetLike | None = None
    redraw: int = 0
    shipped: bool = False


@final
@dataclass(frozen=True, slots=True)
class VerificationSettings:
    """When an embedding target takes two images for one person.

    false_match_rate: the threshold accepts this share of pairs of different subjects' reference images. within: varied
    attributes that are no edit of a subject but say who is shown.
    """

    false_match_rate: float | None = None
    within: Sequence[str] = ()


@final
@dataclass(frozen=True, slots=True)
class RatingSettings:
    """What people saw on the images, rules by which images are left out, and a validation that must hold.

    perceived: perceived attributes, a row per image; ratings: people's answers, a row per image and rater. Both are
    paths, Arrow tables, data frames or columns by name; the run folder keeps a copy. prune: rules, as "fakeness>=0.75".
    """

    perceived: TableLike | None = None
    ratings: TableLike | None = None
    prune: Sequence[str] = ()
    require_validation: Path | None = None


@final
@dataclass(frozen=True, slots=True)
class RunSettings:
    """out: the run folder, or an address as "s3://bucket/path"; default runs/<target>.

    overwrite: delete a run with other settings that is in the way. engine, workers: where parts are made, as
    `EngineSettings` has it. dry_run: print the cost and stop. json: print JSON.
    """

    out: str | Path | None = None
    engine: str = LOCAL
    workers: int | None = None
    overwrite: bool = False
    dry_run: bool = False
    json: bool = False

    def __post_init__(self) -> None:
        EngineSettings(self.engine, self.workers)  # refuses what is none


@final
@dataclass(frozen=True, slots=True)
class AuditRequest:
    """All settings of an audit.

    names: your own names of the targets, in their order, used in every table and heading.
    vary: the attributes to set, the experiment. steps: attributes to move in steps λ from each subject's own value, a
    study each. step_unit: what λ = 1 is, half-range, or direction: z + λ d with the unit direction d. hold: downstream
    attributes that keep the subject's own value (direct effects). subjects: shown at every combination of levels.
    images: observe a population of N images instead of experimenting. observe: observe N images as well. dataset:
    labelled photographs, READER:PATH. max_unreadable: of these, how many may be left out since they cannot be read.
    compare: attributes or nuisances to compare observed images by (default: every attribute). pairs: matched pairs
    of observed images, which questions about two images are asked about: a table with columns a and b. replicate:
    generators with which the experiment is repeated, a study each. interpolate: how many pairs to interpolate between.
    truth: the right answer of all targets, as "smile>0.5", or of one, as "TARGET=face". outcomes: what is counted.
    control: also vary something that cannot matter, where that is cheap. preset: what settings are from; see
    `transect.audit_preset`. questions: of models that answer in words: a file of questions, or a set
    that ships, such as "hiring"; each is a target. judge: the model that gives the codes of free texts that the file
    leaves to one, a spec or a `Speaker`. scorers: your own functions of texts, "NAME=module:function" or by name.
    """

    targets: Sequence[TargetLike] = ()
    names: Sequence[str] = ()
    preset: str | None = None
    questions: str | Path | None = None
    judge: str | Speaker | None = None
    scorers: Sequence[str] | Mapping[str, TextScore] = ()
    vary: Levels = ()
    steps: Sequence[str] = ()
    step_unit: str = "half-range"
    hold: Sequence[str] = ()
    subjects: int = 100
    seed: int = 0
    images: int | None = None
    observe: int | None = None
    dataset: str | None = None
    max_unreadable: int | None = None
    compare: Sequence[str] = ()
    pairs: TableLike | None = None
    replicate: Sequence[str | Path | Generator] = ()
    interpolate: int | None = None
    truth: str | Sequence[str] = ()
    outcomes: Sequence[str] = ()
    control: bool = True
    world: WorldSettings = field(default_factory=WorldSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    limits: Limits = field(default_factory=Limits)
    checks: CheckSettings = field(default_factory=CheckSettings)
    verification: VerificationSettings = field(default_factory=VerificationSettings)
    ratings: RatingSettings = field(default_factory=RatingSettings)
    report: ReportSettings = field(default_factory=ReportSettings)
    run: RunSettings = field(default_factory=RunSettings)


SECTIONS: Final[Mapping[str, type]] = {
    "world": WorldSettings,
    "model": ModelSettings,
    "limits": Limits,
    "checks": CheckSettings,
    "verification": VerificationSettings,
    "ratings": RatingSettings,
    "report": ReportSettings,
    "run": RunSettings,
}
"""The fields of a request that are records of their own."""


def places() -> dict[str, str]:
    """Where each setting stands: its section, "" for the request itself. No name occurs twice."""
    top = {entry.name: "" for entry in dataclasses.fields(AuditRequest) if entry.name not in SECTIONS}
    return top | {entry.name: name for name, record in SECTIONS.items() for entry in dataclasses.fields(record)}


def with_settings(request: AuditRequest, settings: Mapping[str, object]) -> AuditRequest:
    """The request with these settings, by name, wherever they stand. Raises UnknownName for another name."""
    known = places()
    changes: dict[str, dict[str, object]] = {}
    for name, value in settings.items():
        if name not in known:
            raise UnknownName("setting of an audit", name, known)
        changes.setdefault(known[name], {})[name] = tuple(value) if isinstance(value, list) else value
    sections = {name: _with(getattr(request, name), changes.get(name, {})) for name in SECTIONS}
    return _with(request, {**changes.get("", {}), **sections})


_LISTS: Final = (
    *("vary", "truth", "steps", "hold", "compare", "replicate", "outcomes", "names", "scorers"),
    *("attributes", "within", "prune", "by", "margin", "templates"),
)
"""Settings that are lists of texts: a single text is one of them."""


def _with(record: _Record, changes: Mapping[str, object]) -> _Record:
    changed: _Record = dataclasses.replace(record, **changes)  # type: ignore[type-var]
    single = {name: (value,) for name in _LISTS if isinstance(value := getattr(changed, name, ()), str)}
    return dataclasses.replace(changed, **single) if single else changed  # type: ignore[type-var]

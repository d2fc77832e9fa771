"""What an audit is asked to do, as one frozen record that Python, the command line and a TOML file share.

Each option of `transect audit` is a field here. Fields that belong together stand in a section, which is a record
of its own and a table of the TOML file.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, TypeAlias, TypeVar, final

from transect.engines.settings import ENGINE, LOCAL, WORKERS, EngineSettings
from transect.errors import UnknownName
from transect.experiment.worlds import WorldSettings
from transect.options import Option, check, settings
from transect.protocols import Generator, TargetLike
from transect.runs.report_options import ReportSettings
from transect.runs.table_inputs import TableLike
from transect.spoken_answers import Speaker
from transect.targets.guard import Limits
from transect.targets.settings import ModelSettings

if TYPE_CHECKING:
    from transect.experiment.edits import EditCheck

_RATINGS: Final = "Ratings"
_EXPERIMENT: Final = "Experiment"
_OBSERVATION: Final = "Observation"
_OUTCOMES: Final = "Outcomes"

_Record = TypeVar("_Record")
TextScore: TypeAlias = str | Callable[[Sequence[str]], Sequence[float]]
"""A function of texts that gives each a number, or its module:function."""

Levels: TypeAlias = Sequence[str] | Mapping[str, Sequence[float] | None]
"""Texts as on the command line ("glasses", "age=20,60"), or levels by attribute (None: the usual ones)."""


@final
@dataclass(frozen=True, slots=True)
class CheckSettings:
    """Models that check whether images became what was set; attributes also takes targets by attribute."""

    PANEL: ClassVar = "Checks of edits"
    RARE: ClassVar = True

    attributes: Annotated[
        Sequence[str] | Mapping[str, TargetLike],
        Option(
            "NAME=TARGET: a model that reads an attribute from images, to check what was set; repeatable.",
            list[str],
            names=("--check-attribute",),
            opens="model",
        ),
    ] = ()
    identity: Annotated[
        TargetLike | None,
        Option(
            "A TARGET with embeddings, to check that an edit keeps the person.",
            str | None,
            names=("--check-identity",),
            opens="model",
        ),
    ] = None
    realism: Annotated[
        TargetLike | None,
        Option(
            "A TARGET with a score of realism (higher is more real), to check the images.",
            str | None,
            names=("--check-realism",),
            opens="model",
        ),
    ] = None
    redraw: Annotated[
        int, Option("Replace a subject whose images fail a check up to N times; 0: only count the failures.")
    ] = 0
    shipped: Annotated[
        bool,
        Option(
            "Use the built-in network, trained on rendered faces, for attributes that no --check-… target reads.",
            names=("--check-shipped",),
        ),
    ] = False

    def open(self) -> EditCheck:
        """The check, with its targets. Raises BadInput for a text that is not NAME=TARGET, and as resolving targets."""
        from transect.experiment.edits import check_of

        return check_of(self)


@final
@dataclass(frozen=True, slots=True)
class VerificationSettings:
    """When an embedding target takes two images for one person."""

    PANEL: ClassVar = "Face verification"
    RARE: ClassVar = True

    false_match_rate: Annotated[
        float | None,
        Option("For embeddings: choose the threshold with this false match rate between different subjects."),
    ] = None
    within: Annotated[
        Sequence[str],
        Option("For embeddings: a varied attribute that changes who is shown, e.g. skin_tone; repeatable."),
    ] = ()


PERCEIVED: Final = Option(
    "CSV or Parquet of perceived attributes, a row per image: id, a column per attribute (and study, for "
    "several); stored with the run.",
    Path | None,
    panel=_RATINGS,
    opens="data",
    rare=True,
)
RATINGS: Final = Option(
    "CSV or Parquet of people's ratings, a row per image and rater: id, rater, a column per attribute (and "
    "study, for several); stored with the run.",
    Path | None,
    panel=_RATINGS,
    opens="data",
    rare=True,
)
PRUNE: Final = Option(
    "Leave out images by their ratings, e.g. 'fakeness>=0.75', or as-published; repeatable; stored with the run.",
    panel=_RATINGS,
    rare=True,
)
REQUIRE_VALIDATION: Final = Option(
    "A validation.json of transect annotate validate, whose gates the generator and every level must pass; "
    "stored with the run.",
    metavar="FILE",
    panel=_RATINGS,
    opens="data",
    rare=True,
)


@final
@dataclass(frozen=True, slots=True)
class RatingSettings:
    """What people saw on the images, rules by which images are left out, and a validation that must hold.

    perceived, ratings: paths, Arrow tables, data frames or columns by name; the run folder keeps a copy.
    """

    perceived: Annotated[TableLike | None, PERCEIVED] = None
    ratings: Annotated[TableLike | None, RATINGS] = None
    prune: Annotated[Sequence[str], PRUNE] = ()
    require_validation: Annotated[Path | None, REQUIRE_VALIDATION] = None


@final
@dataclass(frozen=True, slots=True)
class RunSettings:
    """Where the run lies, where its parts are made, and what the command does with it."""

    out: Annotated[
        str | Path | None,
        Option(
            "The run folder, or an address such as s3://bucket/path; default runs/<target>.",
            str | None,
            metavar="PLACE",
        ),
    ] = None
    engine: Annotated[str, ENGINE] = LOCAL
    workers: Annotated[int | None, WORKERS] = None
    overwrite: Annotated[bool, Option("Replace an existing run with different settings in --out.", rare=True)] = False
    dry_run: Annotated[
        bool, Option("Print the number of images and calls, with the negative control, and the maximum cost, and stop.")
    ] = False
    json: Annotated[bool, Option("Print JSON on standard output instead of text.")] = False

    def __post_init__(self) -> None:
        EngineSettings(self.engine, self.workers)  # refuses what is none


@final
@dataclass(frozen=True, slots=True)
class AuditRequest:
    """All settings of an audit: what each is for stands with it, and in `transect audit --help-all`.

    vary also takes levels by attribute; targets, checks, judge and scorers also objects and functions; pairs a table;
    replicate also worlds. preset: see `transect.audit_preset`.
    """

    targets: Annotated[
        Sequence[TargetLike],
        Option("The models to audit; see: transect list targets.", list[str], metavar="TARGET…", argument=True),
    ] = ()
    names: Annotated[
        Sequence[str],
        Option(
            "Name of a target in tables and headings; repeatable, in the order of targets.",
            names=("--name",),
            rare=True,
        ),
    ] = ()
    preset: Annotated[
        str | None,
        Option(
            "Settings for a kind of model: face-detector, face-attribute, face-recognition or classifier; other "
            "options override them."
        ),
    ] = None
    questions: Annotated[
        str | Path | None,
        Option(
            "For models that answer in words: the questions, a TOML file or a built-in set (hiring, occupation, "
            "traits, pairs, alt-text, appearance); each question about one image is a target.",
            str | None,
        ),
    ] = None
    judge: Annotated[
        str | Speaker | None,
        Option(
            "For free texts with codes that a judge decides: the model that answers yes or no to them, vlm:FOLDER or "
            "the TOML file of a chat interface; it sees only the text.",
            str | None,
            rare=True,
        ),
    ] = None
    scorers: Annotated[
        Sequence[str] | Mapping[str, TextScore],
        Option(
            "For free texts: NAME=module:function, your own function from a list of texts to a number for each, such "
            "as toxicity; it runs with your permissions; repeatable.",
            list[str],
            names=("--scorer",),
            rare=True,
        ),
    ] = ()
    vary: Annotated[
        Levels,
        Option(
            "Set this attribute: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…, where little and much are the ends of its "
            "range; repeatable.",
            list[str],
            panel=_EXPERIMENT,
        ),
    ] = ()
    steps: Annotated[
        Sequence[str],
        Option(
            "Move this attribute by λ half-ranges from each subject's own value: NAME or NAME=-1:1:5; repeatable.",
            panel=_EXPERIMENT,
            rare=True,
        ),
    ] = ()
    step_unit: Annotated[
        str,
        Option(
            "The meaning of λ = 1 in --steps: half-range, or direction: G(z + λ d) with the unit direction d of a "
            "fitted attribute, as published; other attributes may move along, and no range stops it.",
            panel=_EXPERIMENT,
            rare=True,
        ),
    ] = "half-range"
    hold: Annotated[
        Sequence[str],
        Option(
            "Keep a downstream attribute at the subject's own value, e.g. exposure, to estimate a direct effect.",
            panel=_EXPERIMENT,
            rare=True,
        ),
    ] = ()
    subjects: Annotated[int, Option("Subjects, each shown at every combination of levels.", panel=_EXPERIMENT)] = 100
    seed: Annotated[int, Option("Random seed; the same seed gives the same subjects.", panel=_EXPERIMENT)] = 0
    images: Annotated[
        int | None,
        Option(
            "Run an observational study on N images drawn from --population, without an experiment.",
            panel=_OBSERVATION,
            rare=True,
        ),
    ] = None
    observe: Annotated[
        int | None,
        Option("Also run an observational study on N images drawn from --population.", panel=_OBSERVATION, rare=True),
    ] = None
    dataset: Annotated[
        str | None,
        Option(
            "Also audit labelled photographs: READER:PATH, such as folder:faces or celeba:data?split=test; see: "
            "transect datasets.",
            panel=_OBSERVATION,
            opens="data",
        ),
    ] = None
    max_unreadable: Annotated[
        int | None,
        Option(
            "With --dataset: skip up to N photographs that cannot be read; default 0.",
            panel=_OBSERVATION,
            rare=True,
        ),
    ] = None
    compare: Annotated[
        Sequence[str],
        Option(
            "With --observe, --images or --dataset: compare by this attribute or nuisance; repeatable; default every "
            "attribute.",
            panel=_OBSERVATION,
        ),
    ] = ()
    pairs: Annotated[
        TableLike | None,
        Option(
            "With --dataset or --images, and --compare NAME: ask questions about two images of matched pairs: the "
            "table that transect match wrote, of pairs that differ in NAME.",
            Path | None,
            panel=_OBSERVATION,
            opens="data",
            rare=True,
        ),
    ] = None
    replicate: Annotated[
        Sequence[str | Path | Generator],
        Option(
            "Also set the attributes of --vary in this generator, as in --generator, and report in how many worlds "
            "each effect was found; repeatable.",
            list[str],
            panel=_EXPERIMENT,
        ),
    ] = ()
    interpolate: Annotated[
        int | None,
        Option(
            "Interpolate between N pairs of subjects and check that the class stays; 11 images a pair.",
            panel=_EXPERIMENT,
            rare=True,
        ),
    ] = None
    truth: Annotated[
        str | Sequence[str],
        Option(
            "The right answer: 'smile>0.5', an attribute, or face (every image shows one); TARGET=face applies to one "
            "target; repeatable.",
            panel=_OUTCOMES,
        ),
    ] = ()
    outcomes: Annotated[
        Sequence[str],
        Option(
            "What to measure: answer, score, miss, false_alarm, error, loss, distance, non_match; for words also "
            "refusal, hedge, unreadable, likelihood, words, option:, code:, list:, score:NAME; repeatable.",
            names=("--outcome",),
            panel=_OUTCOMES,
            rare=True,
        ),
    ] = ()
    control: Annotated[
        bool,
        Option(
            "Also vary the background's hue, which cannot matter, on some subjects (20 % more images).",
            panel=_EXPERIMENT,
            rare=True,
        ),
    ] = True
    world: WorldSettings = field(default_factory=WorldSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    limits: Limits = field(default_factory=Limits)
    checks: CheckSettings = field(default_factory=CheckSettings)
    verification: VerificationSettings = field(default_factory=VerificationSettings)
    ratings: RatingSettings = field(default_factory=RatingSettings)
    report: ReportSettings = field(default_factory=ReportSettings)
    run: RunSettings = field(default_factory=RunSettings)

    def __post_init__(self) -> None:
        check(self)


SECTIONS: Final[Mapping[str, type]] = {
    name: kind
    for name, kind in typing.get_type_hints(AuditRequest).items()
    if isinstance(kind, type) and dataclasses.is_dataclass(kind)
}
"""The fields of a request that are records of their own."""


def places() -> dict[str, str]:
    """Where each setting stands: its section, "" for the request itself. No name occurs twice."""
    return {each.name: each.path[0] if len(each.path) > 1 else "" for each in settings(AuditRequest)}


def with_settings(request: AuditRequest, stated: Mapping[str, object]) -> AuditRequest:
    """The request with these settings, by name, wherever they stand. Raises UnknownName for another name."""
    known = places()
    changes: dict[str, dict[str, object]] = {}
    for name, value in stated.items():
        if name not in known:
            raise UnknownName("setting of an audit", name, known)
        changes.setdefault(known[name], {})[name] = tuple(value) if isinstance(value, list) else value
    sections = {name: _with(getattr(request, name), changes.get(name, {})) for name in SECTIONS}
    return _with(request, {**changes.get("", {}), **sections})


def _with(record: _Record, changes: Mapping[str, object]) -> _Record:
    changed: _Record = dataclasses.replace(record, **changes)  # type: ignore[type-var]
    lists = [each.name for each in settings(type(changed)) if len(each.path) == 1 and each.several]
    single = {name: (value,) for name in lists if isinstance(value := getattr(changed, name), str)}
    return dataclasses.replace(changed, **single) if single else changed  # type: ignore[type-var]

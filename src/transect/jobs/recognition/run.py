"""Errors of face recognition by group, before and after matching: `transect.recognition`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final, final, get_args

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from transect.datasets import features as files
from transect.datasets.features import FeaturesLike
from transect.effects.recognition import (
    SOURCES,
    GroupErrors,
    comparable,
    differentials,
    gap_changes,
    pooled_thresholds,
    rate_gaps,
    recognition_verification,
    threshold_ends,
)
from transect.effects.verification import FEWEST_IDENTITIES, Metric, directions_of
from transect.engines.settings import EngineSettings
from transect.errors import BadInput
from transect.experiment.opened_targets import check_names
from transect.jobs.recognition.embeddings import NO_PICTURE, Asked, embed
from transect.jobs.recognition.numbers import (
    Benchmark,
    DifferentialNumbers,
    GroupNumbers,
    LeftOut,
    RecognitionNumbers,
    SampleNumbers,
    Threshold,
    differences_of,
    enrolment,
)
from transect.protocols import TargetLike
from transect.runs.folder import write_table
from transect.runs.result import JobResult
from transect.runs.table_inputs import TableLike, as_numbers, as_table, choice
from transect.targets.guard import Limits
from transect.texts import say

MOST_GROUPS: Final = 20


def check_sources(
    target: TargetLike | None, embeddings: FeaturesLike | None, pictures: str | None, thresholds: Sequence[float]
) -> None:
    """Either a target with pictures or embeddings, and thresholds above 0. Raises BadInput otherwise."""
    if (target is None) == (embeddings is None):
        raise BadInput("expected a TARGET with --pictures COLUMN, or --embeddings FILE: one of the two")
    if (target is None) != (pictures is None):
        raise BadInput("--pictures names the column that a TARGET embeds: give both, or --embeddings FILE alone")
    for threshold in thresholds:
        if not threshold > 0:
            raise BadInput(f"--threshold: expected a distance above 0, got {threshold:g}")


def check_groups(group: NDArray[np.object_], name: str) -> None:
    """At least one comparable image, and at most 20 groups. Raises BadInput otherwise."""
    counts = Counter(group.tolist())
    if not counts:
        raise BadInput(f"no image has an embedding, an identity and a {name}: fix the files, or name other columns")
    if len(counts) > MOST_GROUPS:
        raise BadInput(f"--group {name}: expected at most {MOST_GROUPS} groups, got {len(counts)}; cut it into groups")


def check_variation(embeddings: Float[np.ndarray, "m d"], metric: Metric) -> None:
    """Embeddings that differ; directions are equal up to rounding. Raises BadInput otherwise."""
    compared, rounding = (directions_of(embeddings), 1e-12) if metric == "cosine" else (embeddings, 0.0)
    if len(compared) > 1 and float(np.ptp(compared, axis=0).max()) <= rounding:
        raise BadInput(
            f"embeddings: all {len(compared)} are the same ({metric} distance), so that every distance is 0; give "
            "those of a model that tells images apart"
        )


RATE: Final = 0.01
"""The false match rate whose threshold is used by default."""
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
REFERENCES: Final = ("a_reference", "b_reference")


@final
@dataclass(frozen=True, slots=True)
class RecognitionOptions:
    """How a target of `transect.recognition` is asked.

    image_size: pixels that each picture is fitted into, by default as it is. preprocess: a TOML file, or what
    `as_target` takes. limits: seconds an image, images a call, share of failed images that stops the run. answers: a
    folder that keeps the target's answers, so that another call resumes; by default they are not kept. root: the folder
    where paths of pictures begin, by default the table's. name: your own name of the embedding, for tables and the
    page; by default the target's or the file's. engine: where it is asked; no result depends on it. landmarks: the
    column of the faces' landmarks, x and y in pixels of the picture in turn, 5 or 68 points; targets that align need
    it, unless their preprocessing names a detector.
    """

    image_size: int | None = None
    preprocess: Any = None
    limits: Limits = field(default_factory=Limits)
    answers: str | Path | None = None
    root: str | Path | None = None
    name: str | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    landmarks: str | None = None


@final
@dataclass(frozen=True, slots=True)
class Request:
    """A benchmark with its table opened."""

    table: pa.Table = field(repr=False)
    identity: str
    group: str
    embeddings: FeaturesLike | None = field(repr=False)
    asked: Asked | None
    pictures: str | None
    thresholds: tuple[float, ...]
    rates: tuple[float, ...]
    metric: Metric
    options: RecognitionOptions
    quiet: bool


@final
@dataclass(frozen=True, slots=True)
class RecognitionResult(JobResult[RecognitionNumbers]):
    """Errors by group. errors: by sample (all, matched) those of each group, with their curves. benchmark: what they
    were measured on. embeddings: [n, d], where a target made them (else None); ids: of the rows, where the table has
    them.
    """

    JOB: ClassVar[str] = "recognition"

    errors: Mapping[str, list[GroupErrors]] = field(repr=False)
    benchmark: Benchmark = field(repr=False)
    embeddings: Float[np.ndarray, "n d"] | None = field(default=None, repr=False)
    ids: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def table(self) -> pa.Table:
        """A row per sample, group and threshold: its rates, their intervals, and the numbers of comparisons."""
        return pa.Table.from_pylist(
            [
                {
                    "sample": sample,
                    "group": group.group,
                    "images": group.images,
                    "identities": group.identities,
                    "genuine": group.genuine,
                    "impostor": group.impostor,
                    **{name: getattr(rates, name) for name in rates.__slots__},
                }
                for sample, numbers in self.numbers.samples.items()
                for group in numbers.groups
                for rates in group.rates
            ]
        )

    def report(self, path: str | Path) -> Path:
        """Write recognition.html and .json, recognition-curves.json and, of a target, embeddings.parquet.

        Returns the page's path. embeddings.parquet serves as `embeddings` here, and as `second` of `transect.match`.
        """
        from transect.jobs.recognition.page import write

        page = write(self, Path(path))
        if self.embeddings is not None:
            write_table(Path(path) / "embeddings.parquet", self._embeddings_table(self.embeddings))
        return page

    def _embeddings_table(self, embeddings: Float[np.ndarray, "n d"]) -> pa.Table:
        rows = pa.FixedSizeListArray.from_arrays(pa.array(embeddings.ravel()), embeddings.shape[1])
        ids = {} if self.ids is None else {files.ID: pa.array(self.ids)}
        return pa.table({**ids, "embedding": rows})

    def headline(self) -> str:
        """What was compared."""
        numbers = self.numbers
        groups = len(numbers.samples["all"].groups)
        at = ", ".join(f"{limit.threshold:.4g}" for limit in numbers.thresholds)
        return (
            f"False matches and non-matches of {numbers.images:,} images in {groups} "
            f"{'group' if groups == 1 else 'groups'} of {numbers.group}, {numbers.metric} distance below {at}"
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Errors by group, sample and threshold."""
        from transect.jobs.recognition.page import error_table

        return error_table(self.numbers).texts()


def recognition(
    table: TableLike,
    identity: str,
    group: str,
    *,
    embeddings: FeaturesLike | None = None,
    target: TargetLike | None = None,
    pictures: str | None = None,
    pairs: TableLike | None = None,
    thresholds: float | Sequence[float] = (),
    false_match_rates: float | Sequence[float] = (),
    metric: Metric = "euclidean",
    quiet: bool = False,
    options: RecognitionOptions | None = None,
) -> RecognitionResult:
    """False non-matches and false matches of face recognition by group, before and after matching.

    Two images match where their distance is below a threshold, which is the same for all groups and samples.

    table: a row per image (path, Arrow table, data frame, columns by name). identity, group: its columns of people, and
    of the groups that are compared (at most 20). embeddings: [images, d], an array, a .npy file or a table; or target:
    a spec, function, model or Target that embeds the column `pictures` (bytes, or paths below the table's folder).
    pairs: what `transect.match` returns as its table; then the errors among these images are counted too. thresholds:
    distances. false_match_rates: each sets the threshold that accepts at most this share of comparisons of two people
    of one group; by default 0.01. quiet: no progress on standard error.

    Returns RecognitionResult; a rate without any comparison is NaN. Sources are in its numbers.

    Raises BadInput for inputs or options that cannot be used, and where no group has two images to compare;
    UnknownName for an unknown column or metric; of a target also TooManyFailures and Interrupted.

    >>> people = {"who": list("ppqq"), "tone": list("aaaa")}
    >>> places = np.array([[0.0], [1.0], [4.0], [4.5]])
    >>> result = recognition(people, "who", "tone", embeddings=places, thresholds=[0.75])
    >>> result.numbers.samples["all"].groups[0].rates[0].fnmr  # 1 apart are p's images, 0.5 apart q's
    0.5
    """
    started = time.perf_counter()
    choice("metric", metric, METRICS)
    values, rates = as_numbers(thresholds), as_numbers(false_match_rates)
    check_sources(target, embeddings, pictures, values)
    settings = options or RecognitionOptions()
    if settings.name is not None:
        settings = replace(settings, name=check_names([settings.name], 1)[0])
    if settings.root is None:
        settings = replace(settings, root=Path(table).parent if isinstance(table, str | Path) else Path())
    request = Request(
        table=as_table(table, "table"),
        identity=identity,
        group=group,
        embeddings=embeddings,
        asked=None if target is None else Asked.of(target, settings.preprocess, settings.engine),
        pictures=pictures,
        thresholds=values,
        rates=rates or (() if values else (RATE,)),
        metric=metric,
        options=settings,
        quiet=quiet,
    )
    return _result(request, pairs, started)


def _result(request: Request, pairs: TableLike | None, started: float) -> RecognitionResult:
    table, metric = request.table, request.metric
    people = _texts(table, request.identity, "identity")
    groups = _named(_texts(table, request.group, "group"), request.group)
    matched = None if pairs is None else _matched_rows(pairs, table.num_rows)
    embeddings, reasons = _embeddings(request)
    usable = comparable(embeddings, people, groups, metric)
    check_groups(groups[usable], request.group)
    check_variation(embeddings[usable], metric)
    limits, compared = _limits(request, embeddings, people, groups)
    samples = {"all": None} if matched is None else {"all": None, "matched": matched[0]}
    values = [limit.threshold for limit in limits]
    ends = [None if limit.false_match_rate is None else _ends(limit) for limit in limits]
    errors = {
        name: recognition_verification(embeddings, people, groups, values, ends=ends, rows=rows, metric=metric)
        for name, rows in samples.items()
    }
    numbers = RecognitionNumbers(
        embeddings=_name(request),
        identity=request.identity,
        group=request.group,
        metric=metric,
        images=table.num_rows,
        left_out=_left_out(usable, reasons, people, groups),
        impostor_comparisons=compared,
        thresholds=limits,
        samples={name: _sample(sample, values, request.group) for name, sample in errors.items()},
        changes=tuple(gap_changes(errors["all"], errors["matched"], values)) if matched is not None else (),
        notes=_notes(errors, matched),
        sources=SOURCES,
        seconds=round(time.perf_counter() - started, 3),
        enrolment=enrolment(reasons, people, groups, NO_PICTURE),
    )
    benchmark = Benchmark(embeddings, people, groups, usable, samples, metric)
    if request.asked is None:
        return RecognitionResult(numbers, errors, benchmark)
    ids = files.ids_of(table)
    return RecognitionResult(numbers, errors, benchmark, embeddings, None if ids is None else tuple(map(str, ids)))


def _name(request: Request) -> str:
    if request.options.name is not None:
        return request.options.name
    if request.asked is not None:
        return request.asked.target.name
    return Path(request.embeddings).name if isinstance(request.embeddings, str | Path) else "embeddings"


def _texts(table: pa.Table, name: str, role: str) -> NDArray[np.object_]:
    """Texts, None where there is none; 1, 1.0 and True are equal."""

    def text(value: object) -> str | None:
        return None if value is None or value != value or value == "" else files.text_of(value)

    return np.array([*map(text, files.objects(table, name, role)), None], dtype=object)[:-1]


def _named(group: NDArray[np.object_], column: str) -> NDArray[np.object_]:
    """A bare number needs its column: "Male 1"."""

    def name(value: str | None) -> str | None:
        bare = value is not None and value.replace(".", "").lstrip("-").isdigit()
        return f"{column} {value}" if bare else value

    return np.array([*map(name, group), None], dtype=object)[:-1]


def _embeddings(request: Request) -> tuple[Float[np.ndarray, "n d"], tuple[str, ...]]:
    """An embedding for each row, and why there is none ("" where there is one)."""
    options = request.options
    if request.asked is not None:
        folder = None if options.answers is None else Path(options.answers)
        return embed(
            request.table, request.pictures or "", Path(options.root or ""), request.asked, options.limits,
            options.image_size, folder=folder, quiet=request.quiet, landmarks=options.landmarks,
        )  # fmt: skip
    table = request.table
    values, _, note = files.read_features(request.embeddings, (), files.ids_of(table), role="embeddings")
    if note and not request.quiet:
        say(note, error=True)
    if len(values) != table.num_rows:
        raise BadInput(f"expected as many embeddings as rows of the table ({table.num_rows}), got {len(values)}")
    flat = values.reshape(len(values), -1)
    return flat, tuple("" if known else "missing values" for known in np.isfinite(flat).all(axis=1))


def _matched_rows(pairs: TableLike, n: int) -> tuple[Int[np.ndarray, " m"], bool]:
    """The rows of the images in pairs, their reference images among them, and whether there are any of these."""
    table = as_table(pairs, "--pairs")
    name = f"--pairs {pairs}" if isinstance(pairs, str | Path) else "--pairs"
    columns = [column for column in ("a", "b", *REFERENCES) if column in table.column_names]
    if not {"a", "b"} <= set(columns):
        raise BadInput(
            f"{name}: expected columns a and b, as transect match writes pairs, got {', '.join(table.column_names[:6])}"
        )
    rows = np.unique(np.concatenate([files.numbers(table, column, "pair") for column in columns]))
    if not np.isin(rows, np.arange(n)).all():
        raise BadInput(f"{name}: expected row numbers from 0 to {n - 1}, got others; is it of this --table?")
    return rows.astype(np.int64), len(columns) > 2


def _limits(
    request: Request, embeddings: Float[np.ndarray, "n d"], people: NDArray[np.object_], groups: NDArray[np.object_]
) -> tuple[tuple[Threshold, ...], int]:
    """The thresholds, stated or set by a false match rate in all images, and how many comparisons set them."""
    values, reached, compared = pooled_thresholds(embeddings, people, groups, request.rates, request.metric)
    stated = [Threshold(value, None, None) for value in request.thresholds]
    pooled = []
    for value, rate, share in zip(values, request.rates, reached, strict=True):
        low, high = threshold_ends(embeddings, people, groups, value, rate, metric=request.metric)
        known = bool(np.isfinite(low))
        reason = "" if known else f"no interval: fewer than {FEWEST_IDENTITIES} identities are compared"
        reason = "too few identities to bound it from below, so that FNMR may be up to 100 %" if low == 0 else reason
        pooled.append(Threshold(value, rate, share, low if known else None, high if known else None, reason))
    return (*stated, *pooled), compared


def _ends(limit: Threshold) -> tuple[float, float]:
    return (np.nan, np.nan) if limit.low is None or limit.high is None else (limit.low, limit.high)


def _left_out(
    usable: Bool[np.ndarray, " n"],
    reasons: Sequence[str],
    people: NDArray[np.object_],
    groups: NDArray[np.object_],
) -> tuple[LeftOut, ...]:
    """Images that are in no comparison: how many of which group, and why."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in np.flatnonzero(~usable).tolist():
        reason = reasons[row] or ("no identity" if people[row] is None else "no group" if groups[row] is None else "")
        counts[reason or "embedding of zeros", "unknown" if groups[row] is None else str(groups[row])] += 1
    return tuple(LeftOut(reason, group, n) for (reason, group), n in sorted(counts.items()))


def _sample(errors: list[GroupErrors], thresholds: Sequence[float], group: str) -> SampleNumbers:
    """The errors of one sample: by group, largest gaps, differences of mean distances, differentials."""
    unequal = differentials(errors, thresholds) if len(errors) > 1 else []
    return SampleNumbers(
        groups=tuple(GroupNumbers.of(part, thresholds) for part in errors),
        largest_gaps=tuple(rate_gaps(errors, thresholds)),
        differences=differences_of(errors, group),
        differentials=tuple(map(DifferentialNumbers.of, unequal)),
    )


def _notes(
    errors: Mapping[str, list[GroupErrors]], matched: tuple[Int[np.ndarray, " m"], bool] | None
) -> tuple[str, ...]:
    """What cannot be estimated, and why."""
    notes = []
    for name, sample in errors.items():
        alone = [part.group for part in sample if not part.genuine]
        if alone:
            notes.append(
                f"{name}: no identity of {', '.join(alone)} has two images, so that its FNMR and mean distance are "
                "unknown"
            )
        if len(sample) < 2:
            notes.append(f"{name}: only one group, so that no groups are compared")
    if matched is not None and not matched[1]:
        notes.append(
            "matched: the pairs name no reference images; with transect match --references each person has a second one"
        )
    return tuple(notes)

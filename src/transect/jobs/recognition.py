"""Compare errors of face recognition between groups: false matches and non-matches, before and after matching."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeAlias, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from markupsafe import Markup, escape

from transect.analysis.recognizers import several
from transect.analysis.recognizers.benchmark import (
    DifferentialNumbers,
    EnrolmentNumbers,
    GroupNumbers,
    Rates,
    RecognitionNumbers,
    Request,
    Threshold,
    groups_of,
    matched_rows,
    measured,
    people_of,
)
from transect.analysis.recognizers.curves import (
    TITLES,
    curve_entry,
    curve_numbers,
    decades,
    dot_plot,
    drawn_groups,
    panel,
    plot,
)
from transect.analysis.recognizers.several import RecognizersNumbers
from transect.datasets import features as files
from transect.datasets.features import FeaturesLike
from transect.effects.recognition import RATES, GapChange, RateGap, RateName
from transect.effects.verdicts import largest, subjects_by_interval
from transect.effects.verification import Metric
from transect.engines.settings import EngineSettings
from transect.errors import BadInput
from transect.experiment.opened_targets import check_names
from transect.experiment.picture_embeddings import Asked, embed
from transect.job import Content, Finished, Job, Option, function
from transect.protocols import TargetLike
from transect.records import Estimate
from transect.reports.answer_picture import Judged, mark_of, picture, valued
from transect.reports.blocks import Block, DotPlot, Facts, Folded, Heading, Paragraph, Part, Plots, Secondary
from transect.reports.columns import AnyTable, Column, Table, decimals, decimals_for, probability, shown, significant
from transect.reports.drawing import svg
from transect.reports.drawing.svg import tag
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.folder import slug, write_atomically, write_table
from transect.runs.json_records import dumps
from transect.runs.table_inputs import TableLike, as_numbers, as_table
from transect.targets.guard import Limits
from transect.texts import say

RATE: Final = 0.01
"""The false match rate whose threshold is used by default."""
CURVES: Final = "recognition-curves.json"
MOST_ROWS: Final = 8
"""Groups of the table on the first screen."""
MEASURES: Final = {"mean distance": "mean distance", "fnmr": "FNMR, points", "fmr": "FMR, points"}
_WORDS: Final[dict[RateName, tuple[str, str]]] = {
    "fnmr": ("Not matched (FNMR)", "of comparisons of one person’s images do not match"),
    "fmr": ("Falsely matched (FMR)", "of comparisons of two people of the group match"),
}
_AXES: Final[dict[RateName, str]] = {
    "fnmr": "False non-matches (FNMR), % of comparisons of one person",
    "fmr": "False matches (FMR), % of comparisons of two people",
}
_ENROLMENT: Final = (
    "A picture fails to enrol where the recognizer finds no face, or no landmarks by which the face could be aligned. "
    "It is in no comparison, so that the error rates say nothing about it. Pictures on which the model fails otherwise "
    "are not counted here. Intervals are 95 %, by identity."
)
_LIMITS: Final = (
    "The groups may also differ in other ways, such as the quality of their images: this compares groups, it does not "
    f"show what causes a difference. {ATTRIBUTE_NOTE}"
)
_ERRORS: Final = Markup(
    "Two images match if their distance is below the threshold. <b>FNMR</b>: the share of comparisons of one person’s "
    "images that do not match. <b>FMR</b>: the share of comparisons of two people of one group that match. One "
    "threshold holds for all groups and for both samples. Bars are 95 % intervals, clustered by identity for FNMR and "
    "by both identities of a comparison for FMR. Where a false match rate sets the threshold, the interval of FNMR "
    "includes the threshold’s."
)
_CURVES: Final = (
    "Each point of a line is a threshold. Lower and further left is better in the first row (DET, both axes "
    "logarithmic), higher and further left in the second (ROC). A rate of 0 cannot be drawn on a logarithmic axis."
)
_DIFFERENTIALS: Final = (
    "As NIST reports them (IR 8429): each group’s rate over the geometric mean of all groups’, 1 where none differs, "
    "with its 95 % interval at this threshold."
)
_DISTANCES: Final = (
    "The mean distance of two images of one person, and its difference between groups (section 4.5 of Singh et al. "
    "2021), with 95 % intervals by identity and p corrected over groups (Holm). The paper compares this distance; it "
    "says nothing about errors without a threshold."
)
_CHANGES: Final = (
    "A gap is a group’s number minus that of the first group. The change is the gap among matched images minus the gap "
    "among all, with its 95 % interval and p clustered by identity, since both rest on the same people; p is corrected "
    "over all changes (Holm). The interval says how much the gap can have changed."
)
_SEVERAL: Final = (
    "Mean distance of two images of one person, and its difference between groups, by recognizer. A larger distance "
    "means that a group is harder to recognize at a threshold that all share. On the axis each difference is divided "
    "by the mean of the two groups' distances, taken as known, because recognizers measure in units of their own. "
    "Intervals are by identity; p is corrected over all recognizers and gaps of a sample (Holm). Recognizers look at "
    "the same people, so that those that agree are no independent confirmation. All are measured on the images that "
    "every recognizer embedded; the page of each shows all that it embedded itself."
)


@final
@dataclass(frozen=True, slots=True)
class RecognitionOptions:
    """How a target of `transect.recognition` is asked.

    preprocess: a TOML file, or what `as_target` takes. answers: a folder that keeps the target's answers, so that
    another call resumes; by default they are kept below `out` alone. root: the folder where paths of pictures begin, by
    default the table's.
    """

    image_size: Annotated[
        int | None, Option("Fit each picture into this many pixels; default its own size.", names=("--size",))
    ] = None
    preprocess: Annotated[
        object, Option("TOML file with the model's preprocessing.", Path | None, panel="Model", opens="data")
    ] = None
    limits: Limits = field(default_factory=Limits)
    answers: str | Path | None = None
    root: str | Path | None = None
    name: Annotated[
        str | Sequence[str] | None,
        Option(
            "Name of the model or embeddings; for several, repeat in their order.",
            list[str],
            names=("--name",),
            opens="value",
        ),
    ] = None
    engine: EngineSettings = field(default_factory=EngineSettings)
    landmarks: Annotated[
        str | None,
        Option(
            "Column of the faces' landmarks, alternating x and y in pixels, 5 or 68 points; for models "
            "whose preprocessing aligns faces.",
            opens="value",
        ),
    ] = None
    out: Annotated[
        str | Path | None,
        Option("Folder for the report, its numbers and the embeddings.", opens="write", default=Path("recognition")),
    ] = None

    def names(self, sources: int) -> tuple[str, ...]:
        """The names that were given, one for each source; () for none. Raises BadInput for another number."""
        given = [self.name] if isinstance(self.name, str) else self.name or ()
        return check_names(given, max(1, sources))


@final
@dataclass(frozen=True)
class Recognition(Job[RecognitionNumbers]):
    """False non-matches and false matches of face recognition by group, before and after matching.

    Two images match where their distance is below a threshold, which is the same for all groups and samples.

    The table is a path, an Arrow table, a data frame or columns by name; at most 20 groups are compared. Embeddings
    [images, d] are an array, a .npy file or a table; a target is a spec, function, model or Target that embeds the
    column `pictures`. The pairs are what `transect.match` returns as its table. By default a false match rate of 0.01
    sets the threshold: the distance that accepts at most this share of comparisons of two people of one group.

    A rate without any comparison is NaN. Sources are in the numbers. Raises BadInput for inputs or options that cannot
    be used, and where no group has two images to compare; UnknownName for an unknown column or metric; of a target also
    TooManyFailures and Interrupted.

    >>> people = {"who": list("ppqq"), "tone": list("aaaa")}
    >>> places = np.array([[0.0], [1.0], [4.0], [4.5]])
    >>> result = recognition(people, "who", "tone", embeddings=places, thresholds=[0.75])
    >>> result.numbers.samples["all"].groups[0].rates[0].fnmr  # 1 apart are p's images, 0.5 apart q's
    0.5
    """

    OUT: ClassVar = None
    RESUMES_FROM: ClassVar = "finished parts"

    table: Annotated[TableLike, Option("Table with a row per image, as for transect match.", Path, opens="data")]
    identity: Annotated[str, Option("Column of the table with the identities.", opens="value")]
    group: Annotated[str, Option("Column of the table with the groups to compare.", opens="value")]
    _: KW_ONLY
    embeddings: Annotated[
        FeaturesLike | None,
        Option(
            "Existing embeddings, .npy or a table, instead of TARGET and --pictures; repeatable.",
            list[Path],
            opens="data",
        ),
    ] = None
    target: Annotated[
        TargetLike | None,
        Option(
            "Models that embed the --pictures: dlib:face-recognition@FOLDER, FILE.onnx, FILE.toml of an HTTP API, "
            "module:function. Several are compared on one page.",
            list[str],
            metavar="[TARGET]...",
            argument=True,
            opens="model",
        ),
    ] = None
    pictures: Annotated[
        str | None, Option("Column of pictures for TARGET: bytes, or paths below the table's folder.", opens="value")
    ] = None
    pairs: Annotated[
        TableLike | None,
        Option("Pairs from transect match: also report the errors among matched images.", Path, opens="data"),
    ] = None
    thresholds: Annotated[
        float | Sequence[float],
        Option("Distance below which two images match; repeatable.", list[float], names=("--threshold",)),
    ] = ()
    false_match_rates: Annotated[
        float | Sequence[float],
        Option(
            "Set the threshold to accept this share of comparisons of two people; repeatable. Default 0.01.",
            list[float],
            names=("--false-match-rate",),
        ),
    ] = ()
    metric: Annotated[Metric, Option("Distance of embeddings: euclidean or cosine.")] = "euclidean"
    options: RecognitionOptions = field(default_factory=RecognitionOptions)

    def place(self) -> str | Path | None:
        """The folder of the page, which also keeps the answers."""
        return self.options.out

    def compute(self) -> RecognitionNumbers:
        """The errors of each group."""
        started = time.perf_counter()
        values, rates = as_numbers(self.thresholds), as_numbers(self.false_match_rates)
        self._check_sources(values)
        names, table = self.options.names(1), as_table(self.table, "table")
        asked = None
        if self.target is not None:
            asked = Asked.of(self.target, self.options.preprocess, self.options.engine)
        request = Request(
            name=names[0] if names else self._name(asked),
            identity=self.identity,
            group=self.group,
            people=people_of(table, self.identity),
            groups=groups_of(table, self.group),
            metric=self.metric,
            thresholds=values,
            rates=rates or (() if values else (RATE,)),
            matched=None if self.pairs is None else matched_rows(self.pairs, table.num_rows),
        )
        embeddings, reasons = self._embeddings(table, asked)
        return measured(request, embeddings, reasons, lambda: round(time.perf_counter() - started, 3))

    def _check_sources(self, thresholds: Sequence[float]) -> None:
        """Either a target with pictures or embeddings, and thresholds above 0. Raises BadInput otherwise."""
        if (self.target is None) == (self.embeddings is None):
            raise BadInput("expected a TARGET with --pictures COLUMN, or --embeddings FILE: one of the two")
        if (self.target is None) != (self.pictures is None):
            raise BadInput("--pictures names the column that a TARGET embeds: give both, or only --embeddings FILE")
        for threshold in thresholds:
            if not threshold > 0:
                raise BadInput(f"--threshold: expected a distance above 0, got {threshold:g}")

    def _name(self, asked: Asked | None) -> str:
        if asked is not None:
            return asked.target.name
        return Path(self.embeddings).name if isinstance(self.embeddings, str | Path) else "embeddings"

    def _embeddings(self, table: pa.Table, asked: Asked | None) -> tuple[Float[np.ndarray, "n d"], tuple[str, ...]]:
        """An embedding for each row, and why there is none ("" where there is one)."""
        options, source = self.options, self.table
        if asked is not None:
            root = Path(source).parent if isinstance(source, str | Path) else Path()
            kept = None if options.out is None else Path(options.out) / "answers"
            return embed(
                table,
                self.pictures or "",
                root if options.root is None else Path(options.root),
                asked,
                options.limits,
                options.image_size,
                folder=kept if options.answers is None else Path(options.answers),
                quiet=self.quiet,
                landmarks=options.landmarks,
            )
        values, _, note = files.read_features(self.embeddings, (), files.ids_of(table), role="embeddings")
        if note and not self.quiet:
            say(note, error=True)
        if len(values) != table.num_rows:
            raise BadInput(f"expected as many embeddings as rows of the table ({table.num_rows}), got {len(values)}")
        flat = values.reshape(len(values), -1)
        return flat, tuple("" if known else "missing values" for known in np.isfinite(flat).all(axis=1))

    def instead(self) -> Job[Any]:
        """The same of the one model that was named; of several their comparison, each with its page below it."""
        targets: list[str] = self.target if isinstance(self.target, list) else []
        given: list[Path] = self.embeddings if isinstance(self.embeddings, list) else []
        sources: list[tuple[str | None, Path | None]] = [(target, None) for target in targets]
        sources += [(None, file) for file in given]
        own = self.options.names(len(sources))
        if len(sources) < 2:
            target, file = sources[0] if sources else (None, None)
            return replace(self, target=target, embeddings=file)
        names = own or [target or (file.stem if file else "") for target, file in sources]
        folders = [Path(self.options.out or "") / slug(name) for name in names]
        if len(set(folders)) < len(names):
            raise BadInput("expected recognizers of different names, got one twice; rename one, or leave it out")
        alone = {}
        for place, (name, (target, file)) in enumerate(zip(names, sources, strict=True)):
            shown = None if target is None and targets else self.pictures
            options = replace(self.options, out=folders[place], name=own[place] if own else None)
            alone[name] = replace(self, target=target, embeddings=file, pictures=shown, options=options)
        return Recognizers(alone)

    def write(self, numbers: RecognitionNumbers, folder: Path) -> None:
        """The curves and, of a target, embeddings.parquet, for `embeddings` here and `second` of `transect.match`."""
        curves = {name: [curve_entry(group) for group in groups] for name, groups in numbers.errors.items()}
        write_atomically(folder / CURVES, dumps(curves, indent=1) + "\n")
        if self.target is None:
            return
        embeddings, ids = numbers.benchmark.embeddings, files.ids_of(as_table(self.table, "table"))
        rows = pa.FixedSizeListArray.from_arrays(pa.array(embeddings.ravel()), embeddings.shape[1])
        named = {} if ids is None else {files.ID: pa.array(list(map(str, ids)))}
        write_table(folder / "embeddings.parquet", pa.table({**named, "embedding": rows}))

    def content(self, numbers: RecognitionNumbers) -> Content:
        """Whom the recognizer fails to match and whom it matches falsely, by group."""
        still = ", and does that remain so among matched images" if len(numbers.samples) > 1 else ""
        tables: list[AnyTable] = [
            _error_table(numbers),
            _differential_table(numbers),
            _distance_table(numbers),
            Table("Change of each gap by matching", numbers.changes, CHANGES),
            _enrolment_table(numbers),
        ]
        return Content(
            title=f"Face recognition by {numbers.group}",
            question=f"By {numbers.embeddings}: whose faces fail to match, whose match falsely{still}?",
            picture=_picture(numbers),
            answer=tuple(_sentences(numbers)),
            remarks=tuple(_remarks(numbers)),
            first=tuple(_first(numbers)),
            table=tables[0],
            rows=pa.Table.from_pylist(list(_rows(numbers))),
            parts=partial(_parts, numbers, *tables),
            sources=numbers.sources,
            terminal=tuple(_lines(numbers, tables)),
        )


recognition = function(Recognition)


@final
@dataclass(frozen=True)
class Recognizers(Job[RecognizersNumbers]):
    """Differences between groups in the mean distance of one person's images, recognizer by recognizer.

    results: those of `recognition`, or what is asked of it, by the name of the recognizer, of the same images,
    identities and groups. Every
    recognizer is measured on the images that all of them embedded; its own page shows all that it embedded. Each
    difference is also relative to the groups' mean distance, without a unit, and p is corrected over all of a sample
    (Holm); a gap is NaN with the reason where no such images are left of a group, or a recognizer cannot tell it. The
    table has a row per recognizer, sample and gap.

    Source: Singh et al. 2021, arXiv:2103.13455, section 4.5 and Fig. 7. Raises BadInput for fewer than two, or for
    results of other images or groups.

    >>> people = {"who": list("ppqqrrss"), "tone": list("aaaabbbb")}
    >>> near = np.array([0.0, 1.0, 4.0, 5.0, 8.0, 10.0, 12.0, 14.0])[:, None]
    >>> two = {"one": near, "twice": 2 * near}
    >>> alone = {name: recognition(people, "who", "tone", embeddings=x, thresholds=[1.0]) for name, x in two.items()}
    >>> [(gap.recognizer, gap.estimate, round(gap.relative, 3)) for gap in compare_recognizers(alone).numbers.gaps]
    [('one', 1.0, 0.667), ('twice', 2.0, 0.667)]
    """

    results: Mapping[str, Finished[RecognitionNumbers] | Recognition]
    quiet: bool = field(default=True, init=False)

    def place(self) -> Path | None:
        """The folder above those of the recognizers."""
        first = next(iter(self.results.values()))
        own = first.place() if isinstance(first, Recognition) else None
        return None if own is None else Path(own).parent

    def compute(self) -> RecognizersNumbers:
        """The gaps of each recognizer on the images that all embedded; what is not measured yet is, with its page."""
        return several.compared({name: _numbers(result) for name, result in self.results.items()})

    def content(self, numbers: RecognizersNumbers) -> Content:
        """Whose gaps are smaller than the first recognizer's, and each gap of each recognizer."""
        paired = Table("Recognizers against the first", numbers.comparisons, several.PAIRED, several.PAIRED_CAPTION)
        sentences, table = several.sentences(numbers), Table("All numbers", numbers.gaps, several.GAPS)
        return Content(
            title=f"Recognizers by {numbers.group}",
            question=f"Which groups of {numbers.group} are harder to recognize, for which recognizer?",
            answer=sentences,
            notes=[_SEVERAL],
            table=table,
            rows=several.rows(numbers),
            parts=[
                Part("gaps", "Differences by recognizer", tuple(several.gap_plots(numbers))),
                Part("paired", "Against the first recognizer", (paired,)),
            ],
            terminal=[" ".join(sentences), table],
        )


compare_recognizers = function(Recognizers, "compare_recognizers")


def _numbers(result: Finished[RecognitionNumbers] | Recognition) -> RecognitionNumbers:
    if isinstance(result, Finished):
        return result.numbers
    done, folder = result.result(), result.place()
    if folder is not None:
        done.report(folder)
    return done.numbers


def _lines(numbers: RecognitionNumbers, tables: Sequence[AnyTable]) -> Iterator[str | AnyTable]:
    """What the terminal shows: thresholds, the tables, and what has no interval or is left out."""
    for limit in numbers.thresholds:
        yield f"threshold {_limit(limit)} ({numbers.metric} distance; {_origin(numbers, limit)})"
    for table in tables:
        if table.records:
            yield from (f"{table.title}:", table)
    yield from _missing_intervals(numbers)
    yield from (f"left out: {left.images} of {left.group} ({left.reason})" for left in numbers.left_out)
    yield from (f"note: {note}" for note in numbers.notes)


def _parts(numbers: RecognitionNumbers, *tables: AnyTable) -> list[Part]:
    errors, differentials, distances, changed, lost = tables
    return [
        Part("errors", errors.title, tuple(_errors(numbers, errors))),
        Part("enrolment", lost.title, (Paragraph(_ENROLMENT), lost) if lost.records else ()),
        Part("curves", "Curves", tuple(_curves(numbers))),
        Part("differentials", differentials.title, (Paragraph(_DIFFERENTIALS), differentials)),
        Part("distances", distances.title, (Paragraph(_DISTANCES), distances), "Distances"),
        Part("changes", "Change by matching", (Paragraph(_CHANGES), changed) if changed.records else ()),
    ]


def _limit(limit: Threshold) -> str:
    return significant(limit.threshold, 4)


def _origin(numbers: RecognitionNumbers, limit: Threshold) -> str:
    """How a threshold was set: the rate that was wanted, the one that it has, and its interval."""
    if limit.false_match_rate is None:
        return "as stated"
    wanted, reached = (significant(None if x is None else 100 * x) for x in (limit.false_match_rate, limit.reached))
    ends = limit.reason
    if limit.low is not None and limit.high is not None:
        ends = f"95 % interval {significant(limit.low, 4)} to {significant(limit.high, 4)}"
        ends += f": {limit.reason}" if limit.reason else ""
    compared = f"{numbers.impostor_comparisons:,} comparisons of different people"
    return f"at most {wanted} %: {reached} % of {compared} match; {ends}"


def _by_group(numbers: RecognitionNumbers) -> Iterator[tuple[str, GroupNumbers, Rates]]:
    """The rates of each group in each sample and at each threshold."""
    for name, sample in numbers.samples.items():
        for group in sample.groups:
            yield from ((name, group, rates) for rates in group.rates)


def _missing_intervals(numbers: RecognitionNumbers) -> list[str]:
    """Which rates have no interval, and why, each once."""
    found = (f"{name}, {group.group}: {at.reason}" for name, group, at in _by_group(numbers) if at.reason)
    return list(dict.fromkeys(found))


def _rows(numbers: RecognitionNumbers) -> Iterator[dict[str, object]]:
    """A row per sample, group and threshold: its rates, their intervals, and the numbers of comparisons."""
    counts = ("group", "images", "identities", "genuine", "impostor")
    for name, group, rates in _by_group(numbers):
        of_group = {key: getattr(group, key) for key in counts}
        yield {"sample": name, **of_group, **{key: getattr(rates, key) for key in rates.__slots__}}


def _picture(numbers: RecognitionNumbers) -> list[Block]:
    """The largest difference between groups of each rate, in each sample."""
    at = numbers.thresholds[0].threshold
    gaps = [(n, gap) for n, sample in numbers.samples.items() for gap in sample.largest_gaps if gap.threshold == at]
    rows = [
        Judged(
            verdict="found" if gap.low > 0 else "cannot tell",
            about=_WORDS[gap.rate][0],
            detail=f"{gap.group} minus {gap.other}, {TITLES[name].lower()}",
            value=valued(f"{estimate} points", f"{low} to {high}"),
            mark=mark_of(gap),
        )
        for name, gap in gaps
        for estimate, low, high in (_said(gap),)
    ]
    meanings = {"found": "found, of all pairs of groups", "cannot tell": "inconclusive"}
    return picture(rows, meanings, "Largest difference between groups with its 95 % interval")


def _said(found: Estimate) -> list[str]:
    """The estimate and the ends of its interval in percent, as a sentence prints them."""
    digits = decimals_for(found.low, found.high)
    return [decimals(100 * end, digits) for end in (found.estimate, found.low, found.high)]


def _sentences(numbers: RecognitionNumbers) -> Iterator[Markup]:
    at = numbers.thresholds[0].threshold
    for rate in RATES:
        for name, sample in numbers.samples.items():
            gap = next((gap for gap in sample.largest_gaps if (gap.rate, gap.threshold) == (rate, at)), None)
            people = sum(group.identities for group in sample.groups if gap and group.group in (gap.group, gap.other))
            rates = {group.group: group.rates[0].of(rate) for group in sample.groups}
            known = {group: found for group, found in rates.items() if math.isfinite(found.estimate)}
            yield _compared(known, rate, gap, people, matched=name == "matched")


def _compared(
    known: Mapping[str, Estimate], rate: RateName, gap: RateGap | None, people: int, *, matched: bool
) -> Markup:
    """Whether the groups with the highest and the lowest rate differ, then both rates.

    gap: of these two groups; None where fewer than two have the rate. people: in these two groups.
    """
    title, words = _WORDS[rate]
    head = Markup("<b>{}{}: {{}}</b> ").format(title, " among matched images" if matched else "")
    if not known:
        return head.format("not measured.") + "No group has the comparisons that this needs."
    if gap is None:
        group, only = next(iter(known.items()))
        alone = Markup("{} {} in {}, the only group that can be measured.").format(_percent(only), words, group)
        return head.format("no groups to compare.") + alone
    most, least = known[gap.group], known[gap.other]
    if most.estimate == least.estimate:
        same = Markup("{} % {} in each of {} groups.").format(_said(most)[0], words, len(known))
        return head.format("no difference between the groups is shown.") + same
    both, ends = Markup("{} {} in {}, {} in {}{}"), {gap.group: most, gap.other: least}
    rates = both.format(_percent(most), words, gap.group, _percent(least), gap.other, _sized(gap, people, ends))
    return head.format(_claim(gap)) + rates


def _percent(rate: Estimate) -> Markup:
    value, low, high = _said(rate)
    ends = Markup(' <span class="range">({} to {})</span>').format(low, high) if math.isfinite(rate.low) else ""
    return Markup("{} %{}").format(value, ends)


def _claim(gap: RateGap) -> str:
    """Whether the two differ, by an interval that holds for all pairs of groups at once."""
    if gap.low > 0:
        return f"more often in {gap.group} than in {gap.other}."
    two = "the groups" if gap.pairs == 1 else f"{gap.group} (highest) and {gap.other} (lowest)"
    return f"a difference between {two} is not shown."


def _sized(gap: RateGap, people: int, ends: Mapping[str, Estimate]) -> str:
    """The difference, its interval and, where it is not shown, with how many people it would be.

    ends: the rates of the two groups.
    """
    if gap.reason:
        without = " and ".join(name for name, rate in ends.items() if not math.isfinite(rate.low))
        return f"; no interval of {without}, so none of the difference." if without else f"; {gap.reason}."
    estimate, low, high = _said(gap)
    text = f"; difference {estimate} points, 95 % interval {low} to {high}."
    level = 1 - 0.05 / gap.pairs
    needed = largest([subjects_by_interval(gap.estimate, people, gap.low, gap.high, confidence=level)])
    if gap.low > 0 or needed is None:
        return text
    return (
        f"{text} If the true difference is this large, about {needed:,} people of these two groups would show it (now "
        f"{people})."
    )


def _threshold(limit: Threshold) -> str:
    """The threshold, and that one rate over all groups may be exceeded in one of them."""
    at = f"Two images match where their distance is below {_limit(limit)}"
    if limit.false_match_rate is None:
        return f"{at}, the same in all groups."
    share = significant(100 * limit.false_match_rate)
    return (
        f"{at}. That was set so that at most {share} % of comparisons of two people match, over all groups together; "
        f"one group may lie above {share} %."
    )


def _remarks(numbers: RecognitionNumbers) -> Iterator[str]:
    limit, others = numbers.thresholds[0], len(numbers.thresholds) - 1
    more = f" {others} more below." if others else ""
    yield f"{_threshold(limit)} Each 95 % interval is for one group.{more}"
    if limit.low is not None and limit.high is not None:
        yield (
            f"The threshold was found from these images; its own 95 % interval is {significant(limit.low)} to "
            f"{significant(limit.high)}. Intervals of FNMR allow for that: where no comparison fails at its upper end, "
            "they begin at 0."
        )
    pairs = max((gap.pairs for sample in numbers.samples.values() for gap in sample.largest_gaps), default=1)
    if pairs > 1:
        yield (
            f"The highest and the lowest were picked from {len(numbers.samples['all'].groups)} groups: the interval of "
            "their difference is wider, so that it holds for every pair of groups at once (Bonferroni)."
        )


def _first(numbers: RecognitionNumbers) -> Iterator[Block]:
    """The groups with the highest rates, what the answer cannot show, notes, then counts."""
    groups = numbers.samples["all"].groups
    ranked = sorted(groups, key=lambda one: -math.inf if math.isnan(one.rates[0].fnmr) else one.rates[0].fnmr)[::-1]
    left = f" ({len(ranked) - MOST_ROWS} more groups below)" if len(ranked) > MOST_ROWS else ""
    columns: list[Column[GroupNumbers]] = [
        Column(numbers.group, "group"),
        Column("images", "images", "count"),
        Column("people", "identities", "count"),
        Column("not matched (FNMR)", lambda group: group.rates[0].of("fnmr"), "percent interval"),
        Column("falsely matched (FMR)", lambda group: group.rates[0].of("fmr"), "percent interval"),
    ]
    title = "Errors by group on the first screen"
    yield Table(title, ranked[:MOST_ROWS], columns, f"Errors by group, %{left}")
    left_out = [f"Left out: {each.images:,} of {each.group} ({each.reason})." for each in numbers.left_out]
    yield from (Paragraph(text, "note") for text in (_LIMITS, *numbers.notes, *left_out))
    yield Folded("Images, distance and thresholds", (_facts(numbers),))


def _facts(numbers: RecognitionNumbers) -> Facts:
    compared = {name: sum(group.images for group in sample.groups) for name, sample in numbers.samples.items()}
    facts = [("images", f"{numbers.images:,}")]
    if len(compared) > 1:
        facts += [(f"{TITLES[name].lower()} compared", f"{count:,}") for name, count in compared.items()]
    limits = list(map(_limit, numbers.thresholds))
    facts += [("distance", numbers.metric), ("threshold" if len(limits) == 1 else "thresholds", ", ".join(limits))]
    return Facts(facts)


_Errors: TypeAlias = tuple[str, GroupNumbers, Rates]


def _error_table(numbers: RecognitionNumbers) -> Table[_Errors]:
    """Both rates of each group, in each sample and at each threshold."""
    columns: list[Column[_Errors]] = [
        Column(numbers.group, lambda row: row[1].group),
        Column("images", lambda row: TITLES[row[0]].lower()),
        Column("threshold", lambda row: significant(row[2].threshold, 4), "figure"),
        Column("FNMR, %", lambda row: row[2].of("fnmr"), "percent interval"),
        Column("of comparisons", lambda row: row[1].genuine, "count"),
        Column("FMR, %", lambda row: row[2].of("fmr"), "percent interval"),
        Column("of comparisons", lambda row: row[1].impostor, "count"),
    ]
    return Table("Errors by group", list(_by_group(numbers)), columns)


def _errors(numbers: RecognitionNumbers, table: Table[_Errors]) -> Iterator[Block]:
    yield Paragraph(_ERRORS)
    for place, limit in enumerate(numbers.thresholds):
        words = Markup('Threshold {} <span class="fine">{}</span>')
        yield Heading(words.format(_limit(limit), _origin(numbers, limit)))
        yield from (_rate_plot(numbers, place, rate) for rate in _AXES)
    yield from (Paragraph(reason, "note") for reason in _missing_intervals(numbers))
    yield Secondary((table,))


def _rate_plot(numbers: RecognitionNumbers, place: int, rate: RateName) -> DotPlot:
    """One rate at one threshold, the samples of a group one below the other; filled for matched images."""
    names = [group.group for group in numbers.samples["all"].groups]
    rows = [(g.group, name, g.rates[place].of(rate)) for name, each in numbers.samples.items() for g in each.groups]
    rows.sort(key=lambda row: names.index(row[0]))
    label = Markup('{} <span class="change">{}</span>')
    drawn = [(label.format(group, TITLES[name]), found, name == "matched") for group, name, found in rows]
    axis = [found for _, _, found in rows]
    return dot_plot(
        tag("strong", _AXES[rate]), f"rate-{place}-{rate}", drawn, partial(shown, form="percent interval"), axis, ""
    )


def _enrolment_table(numbers: RecognitionNumbers) -> Table[EnrolmentNumbers]:
    columns: list[Column[EnrolmentNumbers]] = [
        Column(numbers.group, "group"),
        Column("pictures", "images", "count"),
        Column("not enrolled", "failures", "count"),
        Column("share, %", lambda row: Estimate(row.rate, row.low, row.high), "percent interval"),
    ]
    return Table("Failures to enrol", numbers.enrolment, columns)


def _curves(numbers: RecognitionNumbers) -> Iterator[Block]:
    errors = numbers.errors
    drawn = drawn_groups(errors["all"])
    low = [decades([group for groups in errors.values() for group in groups], rate) for rate in ("fmr", "fnmr")]
    panels = [
        panel(TITLES[name], [group for group in groups if group.group in drawn], *low)
        for name, groups in errors.items()
    ]
    left = f" Curves of the {len(drawn)} groups with most images are drawn; {CURVES} has the others."
    yield Paragraph(_CURVES + (left if len(errors["all"]) > len(drawn) else ""))
    key = svg.legend([(escape(curve.name), curve.number) for curve in panels[0].roc])
    saved = curve_numbers(errors, drawn)
    lower = "DET: what a lower rate of one error costs in the other"
    for kind, title in (("det", lower), ("roc", "ROC: images of one person that match")):
        yield Heading(title)
        yield Plots([plot(each, kind, number) for number, each in enumerate(panels)], "panels two", saved, key)


_Differential: TypeAlias = tuple[str, DifferentialNumbers]
DIFFERENTIALS: Final[Sequence[Column[_Differential]]] = (
    Column("images", lambda row: TITLES[row[0]]),
    Column("rate", lambda row: row[1].rate.upper()),
    Column("threshold", lambda row: significant(row[1].threshold, 4), "figure"),
    Column("ratio to the geometric mean", lambda row: _ratios(row[1])),
)


def _differential_table(numbers: RecognitionNumbers) -> Table[_Differential]:
    rows = [(name, each) for name, sample in numbers.samples.items() for each in sample.differentials]
    return Table("Differentials", rows, DIFFERENTIALS)


def _ratios(differential: DifferentialNumbers) -> str:
    if not math.isfinite(differential.largest_ratio):
        return f"not estimable: {differential.reason}"
    ratios = [f"{row.group} {shown(Estimate(row.ratio, row.low, row.high), 'interval')}" for row in differential.ratios]
    return "; ".join([*ratios, *filter(None, [differential.reason])])


@final
@dataclass(frozen=True, slots=True)
class _Distance:
    """A group's mean distance, or the difference of two groups, with p."""

    sample: str
    name: str
    found: Estimate
    identities: int | None = None
    comparisons: int | None = None
    p: float | None = None


DISTANCES: Final[Sequence[Column[_Distance]]] = (
    Column("identities", "identities", "count"),
    Column("comparisons", "comparisons", "count"),
    Column("mean distance", "found", "interval"),
    Column("p", "p", "p"),
)


def _distance_table(numbers: RecognitionNumbers) -> Table[_Distance]:
    rows = []
    for name, sample in numbers.samples.items():
        for group in sample.groups:
            mean = Estimate(group.mean_distance, group.mean_distance_low, group.mean_distance_high)
            rows.append(_Distance(TITLES[name], group.group, mean, group.identities, group.genuine))
        for gap in sample.differences:
            p = gap.p_adjusted if math.isfinite(gap.p_adjusted) else None
            rows.append(_Distance(TITLES[name], gap.name, Estimate(gap.estimate, gap.low, gap.high), p=p))
    columns = [Column("images", "sample"), Column(numbers.group, "name"), *DISTANCES]
    return Table("Distances of one person’s images", rows, columns)


def _scale(change: GapChange) -> float:
    return 1.0 if change.measure == "mean distance" else 100.0


def _changed(row: GapChange) -> Estimate:
    estimate, low, high = (_scale(row) * each for each in (row.estimate, row.low, row.high))
    return Estimate(estimate, low, high)


CHANGES: Final[Sequence[Column[GapChange]]] = (
    Column("groups", lambda change: f"{change.group} − {change.reference}"),
    Column("gap of", lambda change: MEASURES[change.measure]),
    Column("threshold", lambda row: "" if math.isnan(row.threshold) else significant(row.threshold, 4), "figure"),
    Column("all images", lambda change: _scale(change) * change.before, "number"),
    Column("matched images", lambda change: _scale(change) * change.after, "number"),
    Column("change", _changed, "interval"),
    Column("p (Holm)", lambda row: probability(row.p_adjusted) if math.isfinite(row.p_adjusted) else row.reason),
)

"""Measure how well a protected attribute can be inferred from labels (λ_D) and from a model's predictions (λ_M).

Leakages are in percent; amplification Δ = λ_M − λ_D(a), at the model's own accuracy, in percentage points.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, NamedTuple, final

import pyarrow as pa
from markupsafe import Markup, escape

from transect.attacks import cases
from transect.attacks.analysis import Level, ModelDifference
from transect.attacks.balance import Cost
from transect.attacks.estimation import DEALT, Comparison
from transect.attacks.numbers import NO_INTERVAL, SPREAD, Contribution, LabelShare, LeakageNumbers, model_answer
from transect.attacks.records import LeakageEstimate
from transect.attacks.side_by_side import RepresentationRow, TableRow
from transect.job import Content, Job, Option, Out, function
from transect.reports.blocks import Block, DotPlot, Facts, Heading, Paragraph, Part, Plot, Row, Secondary, TextTable
from transect.reports.columns import AnyTable, Column, Table, decimals, in_percent, shown
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Interval, Scale, Tick
from transect.reports.next_steps import HERE, Step, listed
from transect.runs.folder import write_table
from transect.runs.parts import announcing_stages, stage
from transect.runs.table_inputs import TableLike, as_names
from transect.runs.wording import counted

MARKS: Final = "balanced.parquet"
MOST_CLASSES: Final = 4
"""Classes of the protected attribute that the page names."""
MOST_LINES: Final = 4
"""Lines of a figure that differ in color and in dashes."""
LEANING_SHOWN: Final = 30
HEIGHT: Final = 300
_COUNTED: Final = {
    "bias_amp": "BiasAmp",
    "directional": "BiasAmp→, label from class",
    "multi_attribute": "multi-attribute",
}
_AS_PUBLISHED: Final = (
    "As published: the snapshot is chosen on development data, and each round is scored on a separate draw and folded "
    "about chance, which raises the figures."
)
_ATTRIBUTE: Final = (
    "The attribute {} is what the data set's annotators recorded: an appearance as others perceived it, not an "
    "identity."
)
_PAIRED_ITEMS: Final = (
    "Differences between models, paired over the items that both predict; the intervals of all models hold together "
    "with 95 % (Bonferroni), except where several sets of items or attackers are compared"
)
_PAIRED_ROUNDS: Final = (
    f"Differences between models, paired by round. In brackets: {SPREAD}, as published. {NO_INTERVAL}, so it does not "
    "show which model reveals more"
)
_DELTA: Final = (
    "Δ compares each model with its own predictions shuffled among items with the same label: the same mistakes, made "
    "by chance. So a model that sees nothing but the label has a Δ of zero."
)


@final
@dataclass(frozen=True)
class Leakage(Job[LeakageNumbers]):
    """How well an attacker infers the protected attribute from labels (λ_D) and from a model's predictions (λ_M).

    table: also an Arrow table, a data frame, or arrays by column name. labels: one column of categories, a column of
    lists of 0 and 1, or several columns of 0 and 1. predictions: of several models a list of `ModelPredictions`.

    The result has leakages in percent (chance is 100 / classes) and amplification in percentage points, with 95 %
    intervals; NaN with a reason where nothing can be estimated. Its table has every figure.

    Raises BadInput or UnknownName for tables, columns and settings that cannot be used. Source: Wang et al. 2019,
    arXiv:1811.08489.

    >>> verbs = ["cooking"] * 40 + ["driving"] * 40
    >>> people = (["woman"] * 30 + ["man"] * 10) + (["woman"] * 10 + ["man"] * 30)
    >>> result = leakage({"verb": verbs, "gender": people}, "gender", "verb", attacker="bayes", quiet=True)
    >>> result.numbers.dataset_leakage.estimate  # 30 of 40 of either verb
    75.0
    """

    OUT: ClassVar = Out("A folder for the report: leakage.html, leakage.json, balanced.parquet.")

    table: Annotated[
        TableLike,
        Option(
            "The labels: .csv, .parquet, .npz, .arrow, a data set's folder, or coco:PATH or imsitu:PATH, which know "
            "their label, protected attribute and split.",
            str,
            names=("--labels",),
            opens="data",
        ),
    ]
    protected: Annotated[
        str | Sequence[str],
        Option(
            "Column of the protected attribute. Several, separated by commas, are measured alone, together, and each "
            "within the levels of the others.",
            str,
            read=cases.parse_columns,
            opens="value",
        ),
    ] = ()
    labels: Annotated[
        str | Sequence[str],
        Option(
            "Column of the label; several, or a pattern such as 'obj_*', for multi-label.",
            list[str],
            names=("--label",),
            opens="value",
        ),
    ] = ()
    _: KW_ONLY
    split: Annotated[
        str | None, Option("Column with train, val and test; without it attackers are cross-fitted.", opens="value")
    ] = None
    ids: Annotated[
        str | None, Option("Column of identifiers; default id, image_id or image_name.", names=("--id",), opens="value")
    ] = None
    where: Annotated[
        str | None,
        Option(
            "Boolean column that selects rows; with --as-published: training rows.",
            opens="value",
        ),
    ] = None
    predictions: Annotated[
        TableLike | Sequence[cases.ModelPredictions] | None,
        Option(
            "A model's predictions on the same items: hard labels, logits or probabilities. For several models, "
            "repeat NAME=PATH; NAME@3=PATH was trained on the subset of α = 3.",
            list[str],
            opens="data",
            read=cases.parse_models,
        ),
    ] = None
    prediction: Annotated[
        str | Sequence[str],
        Option(
            "Columns of the predictions, by label name or in the order of the labels; default: those of --label.",
            list[str],
            opens="value",
        ),
    ] = ()
    attacker: Annotated[
        str | Sequence[str],
        Option(
            "bayes, logistic, trees, mlp, mlp-4, … or auto: the best of several, cross-fitted. Separate several by "
            "commas, or give all; the first is the headline figure.",
            str,
            opens="value",
        ),
    ] = "auto"
    seed: Annotated[int, Option("Random seed for draws, noise, attackers and permutations.")] = 0
    options: cases.LeakageOptions = field(default_factory=cases.LeakageOptions)

    def compute(self) -> LeakageNumbers:
        """Every attack on the labels, and on the predictions of each model."""
        models = cases.models_of(self.predictions)
        options = cases.with_alphas_of(self.options, models)
        with announcing_stages(quiet=self.quiet):
            stage("reading labels and predictions")
            source = cases.opened(self.table, self.protected, self.labels, self.split)
            captions = cases.captions_of(options, self.ids)
            inputs = cases.Inputs(source, self.ids, self.where, models, as_names(self.prediction), options, captions)
            main = cases.main_case(inputs)
            names = cases.attackers_of(self.attacker, main.data.labels.category is not None)
            return cases.analysed(
                inputs, main, cases.Attacks(names, self.seed, "" if self.quiet else "leakage", options)
            )

    def write(self, numbers: LeakageNumbers, folder: Path) -> None:
        """The rows with a mark of each balanced subset."""
        if numbers.marked is not None:
            write_table(folder / MARKS, numbers.marked)

    def content(self, numbers: LeakageNumbers) -> Content:
        """Whether labels and models give the attribute away, and every case side by side."""
        few = len(numbers.classes) <= MOST_CLASSES
        about = numbers.protected + (f" ({' or '.join(numbers.classes)})" if few else "")
        more = ", and does a model reveal more than they explain?" if numbers.amplification else "?"
        published = [_AS_PUBLISHED] if numbers.published_protocol else []
        answer = list(_answer(numbers))
        first, *rest = _leakages(numbers)
        return Content(
            title=numbers.title,
            question=f"Can {about} be guessed from the labels{more}",
            picture=[first],
            answer=answer,
            remarks=[" ".join(_remarks(numbers))],
            first=listed(list(_steps(numbers)), HERE),
            notes=[*published, f"{numbers.caveat} {_ATTRIBUTE.format(about)}"],
            warnings=numbers.warnings,
            parts=(
                Part("leakage", "Leakage", rest),
                Part("side-by-side", "Side by side", (*_side_by_side(numbers), *_by_f1(numbers))),
                Part("amplification", "Amplification", tuple(_amplification(numbers))),
                Part("labels", "Labels", tuple(_labels(numbers))),
                Part("methods", "Methods", (Facts(_methods(numbers), methods=True),)),
            ),
            sources=numbers.works,
            rows=_arrow(numbers),
            terminal=[*answer, *_terminal(numbers), *numbers.notes, numbers.caveat],
        )


leakage = function(Leakage)


def _steps(numbers: LeakageNumbers) -> Iterator[Step]:
    """What the model adds to the labels, and what reduces it."""
    if numbers.amplification is None:
        again = f"transect leakage --labels LABELS --protected {shlex.quote(numbers.protected)} --label COLUMN"
        yield Step("Measure what a model adds to its labels:", [f"{again} --predictions PREDICTIONS"])
    if _given_away(numbers) or numbers.amplification is not None:
        yield Step("Compare what reduces it, and what that costs:", ["transect mitigate CONFIG --out mitigated"])


def _terminal(numbers: LeakageNumbers) -> Iterator[str | AnyTable]:
    """Every figure, the learning curve, the tables side by side and what balancing costs, with their notes."""
    yield Table("Figures", _figures(numbers), _figure_columns(numbers))
    if numbers.learning_curve:
        yield Table("Learning curve", _curve(numbers), _figure_columns(numbers))
    costs = _costs(numbers) if numbers.marked is not None else ()
    for block in (*_side_by_side(numbers), *costs):
        if isinstance(block, Table):
            yield block.caption or block.title
            yield block
        elif isinstance(block, Paragraph):
            yield block.text


class _Figure(NamedTuple):
    """A leakage or an amplification: its name, and how it was measured.

    drawn: first on the common axis of leakages, folded, or not at all; strong: no comparison, whose marks are hollow.
    """

    name: str
    estimate: LeakageEstimate
    how: str
    drawn: Literal["first", "folded", ""] = ""
    strong: bool = False


def _figures(numbers: LeakageNumbers) -> list[_Figure]:
    dataset = numbers.dataset_leakage
    chance = math.nan if dataset.reason else numbers.chance
    null = LeakageEstimate(chance, numbers.null.low, numbers.null.high, reason=dataset.reason, n=numbers.n)
    found = [
        _Figure("dataset leakage λ_D", dataset, f"{numbers.attacker}, n = {dataset.n}", "first", True),
        _Figure("λ_D if labels said nothing", null, "permutations"),
    ]
    for level in numbers.at_accuracy:
        how = f"{level.noise} at {level.rate:.4g}" if math.isfinite(level.rate) else level.noise
        at = decimals(level.f1, 2) if math.isfinite(level.f1) else "of the model"
        found.append(_Figure(f"λ_D at F1 {at}", level, how, "folded"))
    at = f" at F1 {decimals(numbers.model_f1, 2)}" if math.isfinite(numbers.model_f1) else ""
    several = len(numbers.comparisons) > 1
    for place, one in enumerate(numbers.comparisons):
        how = f"{one.name}; labels: {one.noise}" + ("; headline" if several and not place else "")
        drawn: Literal["first", "folded"] = "folded" if place else "first"
        found.append(_Figure(f"model leakage λ_M{at}", one.model_leakage, how, drawn, True))
        found.append(_Figure(f"λ_D of labels as wrong{at}", one.dataset_leakage, how, drawn))
        found.append(_Figure("amplification Δ", one.amplification, how))
    for name, value in numbers.counted.items():
        points = LeakageEstimate(value, n=numbers.n)
        found.append(_Figure(_COUNTED[name], points, "counted, without an attacker"))
    return found


def _curve(numbers: LeakageNumbers) -> list[_Figure]:
    """The learning curves: λ_D, and λ_M where there is a model, by the share of the training rows."""
    curves = (("λ_D", numbers.learning_curve), ("λ_M", numbers.model_learning_curve))
    how = f"share of the {_drawn(numbers)}"
    return [
        _Figure(f"{name} from {point.share:.0f} %", point, how, "folded") for name, points in curves for point in points
    ]


def _figure_columns(numbers: LeakageNumbers) -> list[Column[_Figure]]:
    ends = SPREAD if numbers.published_protocol else f"{numbers.confidence} % interval"
    return [
        Column("figure", "name"),
        Column(f"% ({ends})", "estimate", "tenths interval", "estimate"),
        Column("how", "how"),
    ]


def _arrow(numbers: LeakageNumbers) -> pa.Table:
    """The figures as data: figure, estimate, low, high, n, how, reason; null where there is no number."""
    figures = _figures(numbers)
    columns: dict[str, pa.Array] = {"figure": pa.array([figure.name for figure in figures])}
    for end in ("estimate", "low", "high"):
        values = [getattr(figure.estimate, end) for figure in figures]
        columns[end] = pa.array(values, type=pa.float64(), from_pandas=True)
    columns["n"] = pa.array([figure.estimate.n for figure in figures], type=pa.int64())
    columns["how"] = pa.array([figure.how for figure in figures])
    columns["reason"] = pa.array([figure.estimate.reason for figure in figures])
    return pa.table(columns)


def _drawn(numbers: LeakageNumbers) -> str:
    """What the learning curve draws fewer of."""
    return "training rows" if numbers.subjects is None else "subjects to learn from"


def _percent(estimate: LeakageEstimate | None) -> str:
    if estimate is None or math.isnan(estimate.estimate):
        return "an unknown size" + (f" ({estimate.reason})" if estimate and estimate.reason else "")
    return f"{in_percent(estimate)} %"


def _answer(numbers: LeakageNumbers) -> Iterator[str]:
    """Of several models which gives away less, then labels and the first model."""
    yield from map(model_answer, numbers.differences)
    given = "The labels reveal {}." if _given_away(numbers) else "The labels are not shown to reveal {}."
    if numbers.dataset_leakage.reason:
        given = "It is inconclusive whether the labels reveal {}."
    yield (
        f"{given.format(numbers.protected)} An attacker that sees only the labels of an item guesses it "
        f"with a balanced accuracy of {_percent(numbers.dataset_leakage)}; random guessing scores "
        f"{decimals(numbers.chance, 1)} %."
    )
    more = numbers.amplification
    if more is not None:
        against = "From labels with as many random errors"
        if more.noise == DEALT:
            against = "From the same predictions, shuffled among items with the same label"
        # Of several models it is the first.
        whose = f"The predictions of {numbers.model}" if numbers.differences else "The model's predictions"
        yield (
            f"{gives_away(whose, more.low, more.high, published=numbers.published_protocol)} From them the attacker "
            f"has a balanced accuracy of {_percent(numbers.model_leakage)}. {against}, it has "
            f"{_percent(numbers.comparisons[0].dataset_leakage)}: a difference of "
            f"{in_percent(more, sign='+')} points."
        )


def _given_away(numbers: LeakageNumbers) -> bool:
    """By the interval, which the published protocol lacks, and by permutations where they were made."""
    found, limit = numbers.dataset_leakage, numbers.null.high
    beyond = found.estimate > limit
    if numbers.published_protocol:
        return beyond
    return found.low > numbers.chance and (math.isnan(limit) or beyond)


def gives_away(whose: str, low: float, high: float, *, published: bool = False) -> str:
    """What the interval of the amplification says, which the published protocol lacks.

    >>> gives_away("The predictions", 0.2, 3.9)
    'The predictions reveal more than the labels explain.'
    """
    if published or math.isnan(low) or math.isnan(high):
        of_what = "The published protocol has" if published else "There is"
        return f"{whose} may or may not reveal more than the labels explain. {of_what} no interval."
    if low > 0:
        return f"{whose} reveal more than the labels explain."
    if high < 0:
        return f"{whose} reveal less than the labels explain."
    return f"{whose} are not shown to reveal more, or less, than the labels explain."


def _ends_in_words(numbers: LeakageNumbers) -> str:
    """What the two ends beside every figure are."""
    return (
        f"{SPREAD}, as published: no intervals" if numbers.published_protocol else f"{numbers.confidence} % intervals"
    )


def _remarks(numbers: LeakageNumbers) -> Iterator[str]:
    yield (
        f"In brackets: {_ends_in_words(numbers)}. Balanced accuracy is the share of right guesses as a mean over the "
        f"classes; on {counted(numbers.dataset_leakage.n, 'item')}."
    )
    if math.isfinite(numbers.null.low):
        yield (
            f"If the labels said nothing, {numbers.confidence} % of estimates would lie between "
            f"{decimals(numbers.null.low, 1)} and {decimals(numbers.null.high, 1)} %."
        )
    if numbers.amplification is not None:
        precision = numbers.model_mean_average_precision
        further = f", mAP {decimals(precision, 1)} %" if math.isfinite(precision) else ""
        yield f"The macro F₁ of the model's own predictions is {decimals(numbers.model_f1, 1)} %{further}."


def _leakages(numbers: LeakageNumbers) -> Iterator[Block]:
    """The labels and the headline's comparison; all else behind a summary."""
    figures = [
        each for each in (*_figures(numbers), *_curve(numbers)) if each.drawn and math.isfinite(each.estimate.low)
    ]
    ends = [end for each in figures for end in (each.estimate.low, each.estimate.high)]
    drawn = [end for end in (numbers.chance, numbers.null.low, numbers.null.high, *ends) if math.isfinite(end)]
    axis = _scale([min(max(end, 0), 100) for end in drawn], 10, 60)
    ticks = [Tick(100 * axis.fraction(tick), f"{tick:g}", tick) for tick in axis.ticks]
    rows = [_row(place, each, axis, _band(numbers, axis)) for place, each in enumerate(figures)]
    first, rest = (
        [row for row, each in zip(rows, figures, strict=True) if each.drawn == where] for where in ("first", "folded")
    )
    table = Table("Leakage", figures, _figure_columns(numbers))
    caption = Markup(
        '<strong>Balanced accuracy of the attacker</strong>, % <span class="fine">with {}; the band shows where '
        "estimates lie if labels carry no information; hollow marks are for comparison</span>"
    ).format(_ends_in_words(numbers))
    yield DotPlot(caption, ticks, first, numbers=table)
    if rest:
        of_models = ", other formats of predictions" if len(numbers.comparisons) > 1 else ""
        words = f"Labels with noise{of_models}, and fewer {_drawn(numbers)}"
        yield Secondary((Heading(words), DotPlot("", ticks, rest)))


def _row(number: int, figure: _Figure, axis: Scale, band: tuple[float, float] | None) -> Row:
    found = figure.estimate
    at, low, high = (100 * axis.fraction(end) for end in (found.estimate, found.low, found.high))
    mark, grid = (
        Interval(at, low, high, filled=figure.strong),
        [(100 * axis.fraction(tick), 1.0) for tick in axis.ticks],
    )
    words = "Leakage and its interval", "A hollow mark is a comparison by chance."
    label = Markup('{} <span class="change">{}</span>').format(figure.name, figure.how)
    drawing = svg.track(f"leakage-{number}", *words, grid, [mark], band)
    return Row(label, drawing, shown(found, "tenths interval"), figure.strong)


def _scale(values: Sequence[float], unit: int, most: int) -> Scale:
    """From a multiple of the unit below everything to one above, ten wide at least; beyond `most` in double steps."""
    low, high = unit * math.floor(min(values) / unit), unit * math.ceil(max(values) / unit)
    high = max(high, low + 10)
    step = unit if high - low <= most else 2 * unit
    return Scale(float(low), float(high), tuple(float(tick) for tick in range(low, high + 1, step)))


def _band(numbers: LeakageNumbers, axis: Scale) -> tuple[float, float] | None:
    """Left edge and width, in percent, of where estimates lie if labels carry no information."""
    if math.isnan(numbers.null.low):
        return None
    left, right = (max(0.0, min(1.0, axis.fraction(end))) for end in (numbers.null.low, numbers.null.high))
    return 100 * left, 100 * (right - left)


_PARTS: Final = {
    "Models and balanced subsets": ("model", "balanced"),
    "Attackers": ("model", "attacker"),
    "Protected attributes": ("model", "attribute"),
}
"""Parts of each table: the rows of the first attribute and attacker stand in all."""
_DIFFERENCES: Final[Sequence[Column[ModelDifference]]] = (
    Column("Model", "model"),
    Column("minus", "reference"),
    Column("Predictions", "format"),
    Column("Difference of λ_M, points", "difference", "points interval"),
)
_REPRESENTATIONS: Final[Sequence[Column[RepresentationRow]]] = (
    Column("Representation", "name"),
    Column("Attacker", "attacker"),
    Column("Leakage, %", "leakage", "tenths interval"),
    Column("Beyond the label, points", "beyond_label", "points interval"),
    Column("Numbers an item", "columns", "count"),
    Column("Items", "n", "count"),
    Column("Left out", "left_out", "count"),
)


def _side_by_side(numbers: LeakageNumbers) -> Iterator[Block]:
    """The table, the differences between models, and what each representation gives away."""
    for title, parts in _PARTS.items():
        rows = [row for row in numbers.table if row.part in parts]
        if any(row.part != "model" for row in rows) or (len(rows) > 1 and "balanced" in parts):
            caption = f"{title}: λ in percent, Δ in points, with {_ends_in_words(numbers)}"
            yield Table(title, rows, _table_columns(rows), caption)
    if any(row.amplification for row in numbers.table):
        yield Paragraph(_DELTA, "fine")
    yield from (Paragraph(text, "fine") for text in dict.fromkeys(_row_notes(numbers.table)))
    if numbers.differences:
        caption = _PAIRED_ROUNDS if numbers.published_protocol else _PAIRED_ITEMS
        yield Table("Differences between models", numbers.differences, _DIFFERENCES, caption)
    if numbers.representations:
        caption = (
            "How well an attacker guesses from each representation; beyond the label: less what the same rows reveal "
            "when they are shuffled among items with the same label"
        )
        yield Table("Representations", numbers.representations, _REPRESENTATIONS, caption)


def _table_columns(rows: Sequence[TableRow]) -> list[Column[TableRow]]:
    """The columns in which the rows differ, and those of which they have figures."""

    def varies(*keys: str) -> bool:
        return len({tuple(getattr(row, key) for key in keys) for row in rows}) > 1

    def known(value: Callable[[TableRow], object]) -> bool:
        return any(value(row) is not None for row in rows)

    def figure(key: str) -> Callable[[TableRow], float | None]:
        return lambda row: value if math.isfinite(value := getattr(row, key)) else None

    columns: list[tuple[bool, Column[TableRow]]] = [
        (varies("alpha", "within"), Column("Items", _items)),
        (varies("attribute"), Column("Attribute", "attribute")),
        (any(row.model for row in rows), Column("Model", lambda row: row.model or "labels alone")),
        (varies("attacker"), Column("Attacker", "attacker")),
        (True, Column("λ_D", "dataset_leakage", "tenths interval")),
        (known(lambda row: row.model_leakage), Column("λ_M", "model_leakage", "tenths interval")),
        (known(lambda row: row.amplification), Column("Δ", "amplification", "points interval")),
        (known(figure("f1")), Column("F₁", figure("f1"), "tenths")),
        (known(figure("mean_average_precision")), Column("mAP", figure("mean_average_precision"), "tenths")),
        (known(lambda row: row.dataset_at_accuracy), Column("λ_D(a)", "dataset_at_accuracy", "tenths interval")),
        (True, Column("Training items", lambda row: " + ".join(map(str, row.n_train)), "figure")),
    ]
    return [column for is_shown, column in columns if is_shown]


def _items(row: TableRow) -> str:
    return f"α\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{row.alpha:g}" if row.alpha is not None else row.within or "all"


def _row_notes(rows: Sequence[TableRow]) -> Iterator[str]:
    """What to know of single rows."""
    for row in rows:
        if row.note and not row.reason:
            name = row.attribute if row.part == "attribute" else _items(row)
            yield f"{name}{f', {row.within}' if row.within else ''}: {row.note}."


_Point = tuple[float, float]


def _by_f1(numbers: LeakageNumbers) -> Iterator[Plot]:
    """Fig. 4 of the paper: λ_D by the F1 of labels with errors, a line for each subset, and each model's λ_M."""
    lines, dots = _lines(numbers), _model_points(numbers)
    if not lines:
        return
    values = [value for _, points in lines for _, value in points] + [value for _, value in dots]
    scale = _scale([*values, numbers.chance], 5, 40)
    paths = [[f"{f1:.2f},{100 - 100 * scale.fraction(value):.2f}" for f1, value in points] for _, points in lines]
    courses = [
        svg.tag("g", svg.course(" ".join(path), height=100), class_=f"series s{number}")
        for number, path in enumerate(paths)
    ]
    marks = [
        svg.tag("g", svg.placed(0, svg.percent(f1), svg.percent(100 - 100 * scale.fraction(value))), class_="series s0")
        for f1, value in dots
    ]
    drawing = svg.plot(
        "leakage-by-f1",
        "Leakage by F1",
        "Each line falls to chance as labels get worse; dots are models.",
        svg.joined([*courses, *marks]),
        up=[Tick(HEIGHT * (1 - scale.fraction(tick)), f"{tick:g}", tick) for tick in scale.ticks],
        across=[Tick(float(at), f"{at}", float(at)) for at in range(0, 101, 20)],
        css="section-plot",
        height=HEIGHT,
    )
    named = [(escape(name), number) for number, (name, _) in enumerate(lines)]
    caption = Markup("<strong>λ_D of labels with as many random errors</strong>{} {}").format(
        Markup(' <span class="fine">dots: λ_M of the models at their F₁</span>') if marks else "",
        svg.legend(named, "span") if len(lines) > 1 else "",
    )
    rows = [(name, f"{f1:g}", f"{value:g}") for name, points in (*lines, ("models", dots)) for f1, value in points]
    table = TextTable("Leakage by F1", ("items", "macro F1, %", "leakage, %"), rows)
    yield Plot(caption, drawing, "Across: macro F₁ of the labels, %. Up: leakage, %.", table)


def _lines(numbers: LeakageNumbers) -> list[tuple[str, list[_Point]]]:
    """Name and points (F1, λ_D) of all items and of each balanced subset, where λ_D was measured at some F1."""
    places: dict[str, LeakageNumbers | TableRow] = {"all items": numbers}
    for row in numbers.table:
        if row.alpha is not None:
            places.setdefault(_items(row), row)
    lines = []
    for name, place in list(places.items())[:MOST_LINES]:
        levels: Sequence[Level] = place.at_accuracy
        known = [(100.0, place.dataset_leakage.estimate), *((level.f1, level.estimate) for level in levels)]
        points = sorted(point for point in known if all(map(math.isfinite, point)))
        if len(points) > 2:
            lines.append((name, points))
    return lines


def _model_points(numbers: LeakageNumbers) -> list[_Point]:
    """F1 and λ_M of every model."""
    found = [(row.f1, row.model_leakage) for row in numbers.table if row.part in ("model", "balanced")]
    if not any(leak for _, leak in found):
        found = [(numbers.model_f1, numbers.model_leakage)]
    points = [(f1, leak.estimate) for f1, leak in found if leak is not None]
    return [point for point in points if all(map(math.isfinite, point))]


_COMPARISONS: Final[Sequence[Column[Comparison]]] = (
    Column("Format", "name"),
    Column("How labels err", "noise"),
    Column("Model, %", "model_leakage", "tenths interval"),
    Column("Labels, %", "dataset_leakage", "tenths interval"),
    Column("Amplification", "amplification", "points interval"),
)
_CONTRIBUTIONS: Final[Sequence[Column[Contribution]]] = (
    Column("Label", "label"),
    Column("Class", "protected_class"),
    Column("Points", lambda one: decimals(one.points, 2, "+"), "figure"),
)


def _amplification(numbers: LeakageNumbers) -> Iterator[Block]:
    if not numbers.comparisons:
        return
    words = (
        "How much more the model's predictions reveal than the same predictions dealt out within labels: shuffled "
        "among items with the same label, which keeps how often each label is mistaken for another."
    )
    if numbers.published_protocol:
        words += " Published compares scores with flipped bits, so part of its difference is due to the format."
    yield Paragraph(words)
    caption = "Model leakage minus dataset leakage at the model's accuracy, percentage points"
    yield Table("Amplification", numbers.comparisons, _COMPARISONS, caption)
    if numbers.contributions:
        yield _contributions(numbers.contributions, "amplification in the same format")
    if numbers.counted:
        figures = "; ".join(f"{_COUNTED[name]} {decimals(value, 2, '+')}" for name, value in numbers.counted.items())
        yield Paragraph(f"Measured by counting, without an attacker, in percentage points: {figures}.")
        found = numbers.counted_contributions.items()
        tables = [_contributions(items, _COUNTED[name]) for name, items in found if items]
        yield Secondary((Heading("Contributions by label and class"), *tables))


def _contributions(items: Sequence[Contribution], measure: str) -> Table[Contribution]:
    caption = f"Contribution of each label and class to {measure}: the largest, in percentage points"
    return Table(f"Contributions to {measure}", items, _CONTRIBUTIONS, caption)


def _labels(numbers: LeakageNumbers) -> Iterator[Block]:
    worst = numbers.overview.worst_ratio
    uneven = "At least one label never occurs with one of the classes."
    if math.isfinite(worst):
        uneven = f"The most uneven label occurs {shown(worst, 'number')} times as often with one class as with another."
    yield Paragraph(
        f"How often each label occurs with each class of {numbers.protected}, with all classes weighted equally. "
        f"{uneven}"
    )
    yield from _costs(numbers)
    yield _leaning(numbers)
    yield Secondary((Heading("Every label"), _every_label(numbers)))


def _costs(numbers: LeakageNumbers) -> Iterator[Block]:
    costs = numbers.overview.costs
    if not costs:
        return
    columns: list[Column[Cost]] = [
        Column("Largest ratio", "alpha", "number"),
        Column("Items kept", "kept", "count"),
        Column("of", "of", "count"),
        Column("No subset keeps more than", "bound", "count"),
    ]
    if costs[0].heuristic is not None:
        columns.append(Column("Kept by the heuristic of Wang et al.", "heuristic", "count"))
        columns.append(Column("its ratio", "heuristic_alpha", "number"))
    caption = "The largest subset in which no label exceeds a ratio between classes"
    yield Table("Cost of balancing", costs, columns, caption)
    yield from (Paragraph(f"{cost.note}.", "note") for cost in costs if cost.note)


def _leaning(numbers: LeakageNumbers) -> DotPlot:
    """The labels that lean most, by the first class's share."""
    uneven = [label for label in numbers.overview.labels if math.isfinite(label.share[0])][:LEANING_SHOWN]
    labels = sorted(uneven, key=lambda label: -label.share[0])
    rows = [
        Row(label.name, _lean(number, label, numbers.chance), decimals(label.share[0], 1))
        for number, label in enumerate(labels)
    ]
    caption = Markup(
        '<strong>Items with a label where {} is {}</strong>, % <span class="fine">classes weighted equally; the most '
        "uneven labels; the line is an even share</span>"
    ).format(numbers.protected, numbers.classes[0])
    columns: list[Column[LabelShare]] = [Column("label", "name"), Column("share", _share_of(0), "tenths")]
    return DotPlot(caption, (), rows, numbers=Table("Leaning labels", labels, columns))


def _lean(number: int, label: LabelShare, chance: float) -> Markup:
    mark = Interval(label.share[0])
    return svg.track(f"lean-{number}", "Share between 0 and 100 %", "", [(chance, 0)], [mark])


def _every_label(numbers: LeakageNumbers) -> Table[LabelShare]:
    protected, classes, overview = numbers.protected, numbers.classes, numbers.overview
    columns: list[Column[LabelShare]] = [Column("Label", "name")]
    columns += [Column(f"{protected} {name}", _count_of(place), "count") for place, name in enumerate(classes)]
    for place, name in enumerate(classes if len(classes) > 2 else classes[:1]):
        columns.append(Column(f"Share where {protected} is {name}, %", _share_of(place), "tenths"))
    cut = ""
    if overview.labels_in_all > len(overview.labels):
        cut = f", the {len(overview.labels)} of {overview.labels_in_all:,} most uneven"
    return Table("Every label", overview.labels, columns, f"Items by label and class{cut}")


def _count_of(place: int) -> Callable[[LabelShare], int]:
    return lambda label: label.counts[place]


def _share_of(place: int) -> Callable[[LabelShare], float]:
    return lambda label: label.share[place]


def _methods(numbers: LeakageNumbers) -> list[tuple[str, str]]:
    selected = f", which selected {', '.join(numbers.chosen)}" if numbers.chosen else ""
    fitted = "" if numbers.splits else ", cross-fitted"
    facts = {
        "Labels from": numbers.source,
        "Attacker": f"{numbers.attacker}{selected}; rounds: {numbers.rounds}",
        "Items": f"{numbers.n:,} scored, {numbers.n_train:,} for training{fitted}",
        "Subjects": shown(numbers.subjects, "count"),
        "Notes": " ".join(numbers.notes),
        "Labels": f"{numbers.labels:,}, as {numbers.label_format}",
        "Intervals": numbers.dataset_leakage.method or "none",
        "Seed": str(numbers.seed),
    }
    return [(name, text) for name, text in facts.items() if text]

"""The numbers of a leakage analysis as rows of short tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from transect.attacks.analysis import ModelDifference
from transect.attacks.comparisons import Comparison
from transect.attacks.numbers import CurvePoint, LeakageNumbers
from transect.attacks.overview import Cost
from transect.attacks.records import Estimate
from transect.attacks.representations import RepresentationRow
from transect.attacks.side_by_side import TableRow

COUNTED: Final = {
    "bias_amp": "BiasAmp",
    "directional": "BiasAmp→, label from class",
    "multi_attribute": "multi-attribute",
}


_TABLE: Final = (
    "items",
    "attribute",
    "model",
    "attacker",
    "training items",
    "λ_D, %",
    "λ_M, %",
    "λ_D(a), %",
    "Δ, points",
    "F1",
    "mAP",
    "note",
)
_SAME: Final = ("items", "attribute", "model", "attacker", "training items")
SPREAD: Final = "spread between rounds"
NO_INTERVAL: Final = "The published protocol has no interval"


def ends_heading(published: bool) -> str:
    """What the two ends beside an estimate are: of an interval, or in the published protocol the rounds' spread."""
    return SPREAD if published else "95 % interval"


def representation_headings(published: bool) -> tuple[str, ...]:
    """Headings of `representation_rows`."""
    return ("representation", "attacker", "numbers", "λ, %", ends_heading(published), "beyond the label", "left out")


def difference_headings(published: bool) -> tuple[str, ...]:
    """Headings of `difference_rows`."""
    return ("difference of λ_M", "points", ends_heading(published), "predictions")


def figures(numbers: LeakageNumbers) -> list[tuple[str, Estimate, str]]:
    """Every leakage and amplification of the result: name, estimate and how it was measured."""
    rows = [("dataset leakage λ_D", numbers.dataset_leakage, f"{numbers.attacker}, n = {numbers.dataset_leakage.n}")]
    rows.append(("λ_D if labels said nothing", _null(numbers), "permutations"))
    for level in numbers.at_accuracy:
        how = f"{level.noise} at {level.rate:.4g}" if math.isfinite(level.rate) else level.noise
        at = f"{level.f1:.2f}" if math.isfinite(level.f1) else "of the model"
        rows.append((f"λ_D at F1 {at}", level, how))
    at = f" at F1 {numbers.model_f1:.2f}" if math.isfinite(numbers.model_f1) else ""
    for comparison in numbers.comparisons:
        how = f"{comparison.name}; labels: {comparison.noise}" + (
            "; headline" if _is_headline(comparison, numbers) else ""
        )
        rows.append((f"model leakage λ_M{at}", comparison.model_leakage, how))
        rows.append((f"λ_D of labels as wrong{at}", comparison.dataset_leakage, how))
        rows.append(("amplification Δ", comparison.amplification, how))
    for name, value in numbers.counted.items():
        counted = Estimate(value, math.nan, math.nan, numbers.n)
        rows.append((COUNTED[name], counted, "counted, without an attacker"))
    return rows


def rows_of(numbers: LeakageNumbers) -> list[list[str]]:
    """The figures as texts: what, estimate, 95 % interval, how."""
    return [[name, *_texts(estimate), how] for name, estimate, how in figures(numbers)]


def table_of(numbers: LeakageNumbers) -> pa.Table:
    """The figures as an Arrow table: figure, estimate, low, high, n, how, reason; null where there is no number."""
    rows = figures(numbers)
    columns: dict[str, pa.Array] = {"figure": pa.array([name for name, _, _ in rows])}
    for end in ("estimate", "low", "high"):
        values = [getattr(estimate, end) for _, estimate, _ in rows]
        columns[end] = pa.array(values, type=pa.float64(), from_pandas=True)
    columns["n"] = pa.array([estimate.n for _, estimate, _ in rows], type=pa.int64())
    columns["how"] = pa.array([how for _, _, how in rows])
    columns["reason"] = pa.array([estimate.reason for _, estimate, _ in rows])
    return pa.table(columns)


def _is_headline(comparison: Comparison, numbers: LeakageNumbers) -> bool:
    chosen = numbers.amplification
    return chosen is not None and (comparison.name, comparison.noise) == (chosen.format, chosen.noise)


def curve_rows(curve: Sequence[CurvePoint], of_model: Sequence[CurvePoint] = ()) -> list[list[str]]:
    """The learning curves as rows: share of the training rows, λ_D with its interval and λ_M, empty without a model."""
    models = [_texts(point) for point in of_model] or [["", ""]] * len(curve)
    return [[f"{point.share:.0f} %", *_texts(point), *model] for point, model in zip(curve, models, strict=True)]


def table_of_rows(rows: Sequence[TableRow]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of the table as texts, without columns that say nothing or the same of every row."""
    texts = [_table_row(row) for row in rows]
    columns = list(zip(*texts, strict=True))
    kept = [
        number
        for number, (heading, column) in enumerate(zip(_TABLE, columns, strict=True))
        if any(column) and (heading not in _SAME or len(set(column)) > 1)
    ]
    return [_TABLE[number] for number in kept], [[row[number] for number in kept] for row in texts]


def representation_rows(rows: Sequence[RepresentationRow]) -> list[list[str]]:
    """Leakage of representations as texts."""
    return [
        [
            row.name,
            row.attacker,
            str(row.columns),
            *_texts(row.leakage),
            _short(row.beyond_label),
            str(row.left_out or ""),
        ]
        for row in rows
    ]


def difference_rows(differences: Sequence[ModelDifference]) -> list[list[str]]:
    """λ_M of each model minus that of the first, as texts."""
    return [[f"{item.model} − {item.reference}", *_texts(item.difference), item.format] for item in differences]


def items_of(row: TableRow) -> str:
    """Which items a row is about, in words: a subset by its α, or the level of another attribute that they have."""
    about = f"α = {row.alpha:g}" if row.alpha is not None else "all items"
    return row.within or about


def _table_row(row: TableRow) -> list[str]:
    head = [items_of(row), row.attribute, row.model or "labels", row.attacker, " + ".join(map(str, row.n_train))]
    if row.reason:
        return [*head, "not estimable", "", "", "", "", "", row.reason]
    figures = (row.dataset_leakage, row.model_leakage, row.dataset_at_accuracy, row.amplification)
    scores = ("" if math.isnan(value) else f"{value:.2f}" for value in (row.f1, row.mean_average_precision))
    return [*head, *(_short(figure) for figure in figures), *scores, row.note]


def _short(estimate: Estimate | None) -> str:
    """An estimate with its interval; nothing where there is none."""
    if estimate is None:
        return ""
    if not math.isfinite(estimate.estimate):
        return "not estimable"
    if not math.isfinite(estimate.low):
        return f"{estimate.estimate:.2f}"
    return f"{estimate.estimate:.2f} ({estimate.low:.1f} to {estimate.high:.1f})"


def cost_rows(costs: Sequence[Cost]) -> list[list[str]]:
    """What balancing keeps, as texts; the heuristic's share is empty where the answer is exact."""
    return [
        [
            f"{cost.alpha:g}",
            str(cost.kept),
            str(cost.of),
            str(cost.bound),
            "" if cost.heuristic is None else f"{cost.heuristic} (at {cost.heuristic_alpha:g})",
        ]
        for cost in costs
    ]


def model_answers(differences: Sequence[ModelDifference]) -> tuple[str, ...]:
    """Which models give away less than the first, and of which the items cannot tell, a sentence each.

    The published protocol has no intervals, so that there every sentence leaves it open.
    """
    return tuple(map(_model_answer, differences))


def _model_answer(apart: ModelDifference) -> str:
    found, model, reference = apart.difference, apart.model, apart.reference
    if not math.isfinite(found.estimate):
        return f"{model} and {reference} cannot be compared: {found.reason}."
    if math.isnan(apart.confidence):
        return (
            f"From {model} the attacker's balanced accuracy differs by {found.estimate:+.1f} points from that from "
            f"{reference} ({SPREAD} {found.low:+.1f} to {found.high:+.1f}). {NO_INTERVAL}, so which of "
            "them gives away more is open."
        )
    if not found.low * found.high > 0:
        sized = f"the attacker's balanced accuracy differs by {_range(found, signed=True)} points"
        return f"Whether {model} gives away more or less than {reference} is open: {sized}."
    amount, (low, high) = abs(found.estimate), sorted((abs(found.low), abs(found.high)))
    more, higher = ("less", "lower") if found.estimate < 0 else ("more", "higher")
    sized = f"{amount:.1f} points {higher} ({100 * apart.confidence:.3g} % interval {low:.1f} to {high:.1f})"
    return f"{model} gives away {more} than {reference}: the attacker's balanced accuracy is {sized}."


def headline(numbers: LeakageNumbers) -> str:
    """The answer in one sentence; of several models first which of them give away less."""
    leak, protected = numbers.dataset_leakage, numbers.protected
    sentence = " ".join([*model_answers(numbers.differences), ""])
    sentence += f"From the labels an attacker guesses {protected} with a balanced accuracy of {_percent(leak)}"
    sentence += f" (chance: {numbers.chance:.1f} %)"
    if numbers.model_leakage is None or numbers.amplification is None:
        return f"{sentence}."
    gain = _range(numbers.amplification, signed=True)
    model = _percent(numbers.model_leakage)
    brackets = f" In brackets: {SPREAD}, no interval." if numbers.published_protocol else ""
    sentence += f", from the model's predictions with {model}: amplification {gain} percentage points."
    return sentence + brackets


def _null(numbers: LeakageNumbers) -> Estimate:
    return Estimate(numbers.chance, numbers.null.low, numbers.null.high, numbers.n)


def _percent(estimate: Estimate) -> str:
    if not math.isfinite(estimate.estimate):
        return "(not estimable)"
    if not math.isfinite(estimate.low):
        return f"{estimate.estimate:.1f} % (no interval)"
    return f"{estimate.estimate:.1f} % ({estimate.low:.1f} to {estimate.high:.1f})"


def _range(estimate: Estimate, *, signed: bool = False) -> str:
    sign = "+" if signed else ""
    if not math.isfinite(estimate.estimate):
        return "not estimable"
    if not math.isfinite(estimate.low):
        return f"{estimate.estimate:{sign}.1f} ({estimate.reason or 'no interval'})"
    return f"{estimate.estimate:{sign}.1f} ({estimate.low:{sign}.1f} to {estimate.high:{sign}.1f})"


def _texts(estimate: Estimate) -> list[str]:
    if not math.isfinite(estimate.estimate):
        return ["not estimable", estimate.reason]
    interval = f"{estimate.low:.2f} to {estimate.high:.2f}" if math.isfinite(estimate.low) else estimate.reason
    return [f"{estimate.estimate:.2f}", interval]

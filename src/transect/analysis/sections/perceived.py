"""What raters saw in an experiment: what each manipulation moved, and effects of perceived values by instruments."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, covariates, nominal, number, point, table, words
from transect.effects.instruments import CONDITIONAL_F, SOURCE, instrumental
from transect.effects.linear import OLS_SOURCE, ols
from transect.effects.perception import PerceptionMatrix, perception_sensitivity
from transect.effects.samples import Labels
from transect.effects.sensitivity import SOURCE as DENTON
from transect.records import Effect
from transect.reports.records import Figure, Panel, Section, Series, Table
from transect.reports.wording import short_name

_EXACT: Final = 1e12
MOST_BARS: Final = 6
"""Perceived attributes whose names find room side by side; more are listed one below the other."""
_TEXT: Final = (
    "Each row of the matrix is a manipulation, from its first level to its last: the mean change of every "
    "perceived attribute, subject by subject. A clean manipulation moves only its own attribute. Levels in no "
    "order are not numbers: each is compared with the first, and each that is perceived is a share, from 0 to "
    "1.",
    "The intended values were set and serve as instruments for the perceived ones, which separates the effects "
    "of a manipulation that also moves another attribute. This holds if an intended value changes the answer "
    "only through the perceived attributes listed; an unlisted change that comes with it (earrings) breaks it. "
    "A varied attribute without such a rating (not rated, or with more than two levels, one indicator per "
    "level) is not an instrument: its intended values are held equal.",
)


def section(answers: Answers) -> Section:
    """The section of one target in one experiment with ratings."""
    matrix, between = _matrix(answers)
    return Section(
        key="perceived",
        study=answers.study,
        title=f"Perceived attributes: {short_name(answers.target)}",
        text=list(_TEXT),
        warnings=[
            f"Images rated between two levels of {words(name)}, which are in no order, are left out of the matrix: "
            f"{n:,}; give the level that most raters saw"
            for name, n in between.items()
        ],
        figures=[_figure(matrix)],
        tables=[_matrix_table(matrix), _instrumented(answers)],
        sources=[DENTON, SOURCE, CONDITIONAL_F, OLS_SOURCE],
    )


def _matrix(answers: Answers) -> tuple[PerceptionMatrix, dict[str, int]]:
    """The matrix, and how many ratings of each attribute are between levels in no order."""
    columns, between = _columns(answers)
    before, after = {}, {}
    for axis, name in enumerate(answers.design.levels):
        for called, places in _manipulations(answers, name).items():
            ends = {seen: _at_end(answers, values, axis, places) for seen, values in columns.items()}
            before[called] = {seen: end[0] for seen, end in ends.items()}
            after[called] = {seen: end[1] for seen, end in ends.items()}
    return perception_sensitivity(before, after, seed=answers.design.seed), between


def _manipulations(answers: Answers, name: str) -> dict[str, tuple[int, int]]:
    """What is set instead of what, and the two places among the levels: the ends, or each level against the first."""
    attribute = answers.attributes[name]
    if not nominal(attribute):
        return {name: (0, -1)}
    first, *others = (attribute.label(value) for value in answers.design.levels[name])
    return {f"{name}: {other} instead of {first}": (0, place) for place, other in enumerate(others, start=1)}


def _columns(answers: Answers) -> tuple[dict[str, Float[np.ndarray, " n"]], dict[str, int]]:
    """Perceived values as columns that have a mean: an indicator per level that was seen where levels have no order."""
    columns: dict[str, Float[np.ndarray, " n"]] = {}
    between: dict[str, int] = {}
    for name, values in answers.perceived.items():
        attribute = answers.known.get(name)
        if attribute is None or not nominal(attribute):
            columns[name] = values
            continue
        whole = np.isin(values, range(len(attribute.levels)))
        if odd := int((np.isfinite(values) & ~whole).sum()):
            between[name] = odd
        for place in np.unique(values[whole]).astype(int).tolist():
            columns[f"{name}: {attribute.levels[place]}"] = np.where(
                whole, (values == place).astype(np.float64), np.nan
            )
    return columns, between


def _at_end(
    answers: Answers, values: Float[np.ndarray, " n"], axis: int, ends: tuple[int, int]
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Each subject's mean at either end of an attribute, over the cells that were rated at both."""
    grid = np.moveaxis(values.reshape(answers.design.subjects, *answers.design.shape), axis + 1, 1)
    first, last = (grid[:, end].reshape(answers.design.subjects, -1) for end in ends)
    both = np.isfinite(first) & np.isfinite(last)
    n = both.sum(axis=1)
    sums = (np.where(both, part, 0.0).sum(axis=1) for part in (first, last))
    low, high = (np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0) for total in sums)
    return low, high


def _figure(matrix: PerceptionMatrix) -> Figure:
    panels = []
    for row, manipulated in enumerate(matrix.manipulated):
        points = [
            point(
                _plain(matrix.values[row, k]),
                low=matrix.low[row, k],
                high=matrix.high[row, k],
                label=words(seen),
                n=int(matrix.subjects[row, k]),
                reason="" if matrix.subjects[row, k] else "no subject has both ratings",
            )
            for k, seen in enumerate(matrix.perceived)
        ]
        series = [Series(name="", points=points)]
        panels.append(
            Panel(heading=f"Manipulated: {words(manipulated)}", y_words="mean perceived change", series=series)
        )
    caption = "(in the units of the ratings, of levels in no order their share; the numbers are subjects)"
    return Figure(
        kind="bars" if len(matrix.perceived) <= MOST_BARS else "rows",
        title="What each manipulation moved",
        caption=caption,
        same_axis=False,
        panels=panels,
    )


def _plain(value: float) -> float:
    """The mean without what sums of fractions leave of 0."""
    return float(np.round(value, 12)) + 0.0


def _matrix_table(matrix: PerceptionMatrix) -> Table:
    heads = [
        ("manipulated", "text"),
        ("perceived", "text"),
        ("mean change", "number"),
        ("low", "number"),
        ("high", "number"),
    ]
    heads += [("subjects", "count"), ("not rated at both ends", "count")]
    rows = [
        [
            words(a),
            words(p),
            _plain(matrix.values[i, k]),
            matrix.low[i, k],
            matrix.high[i, k],
            int(matrix.subjects[i, k]),
            int(matrix.missing[i, k]),
        ]
        for i, a in enumerate(matrix.manipulated)
        for k, p in enumerate(matrix.perceived)
    ]
    return table("Perception sensitivity", heads, rows)


def _instrumented(answers: Answers) -> Table:
    """Least squares on perceived values beside two-stage least squares."""
    rated = [name for name in answers.design.levels if name in answers.perceived]
    refused = {name: reason for name in rated if (reason := _no_number(answers, name))}
    names = [name for name in rated if name not in refused]
    counted, unit = (
        (answers.errors, "error")
        if answers.judged
        else (answers.answers if answers.binary else answers.scores, "answer")
    )
    labels = Labels(answers.target, unit, "proportion" if answers.binary else "score", "experimental")
    rows = _instrumented_rows(answers, counted, names, labels) if names else []
    rows += [[words(name), *[None, reason] * 2, None] for name, reason in refused.items()]
    style = "points" if answers.binary else "number"
    heads = [("perceived attribute", "text")]
    for estimator in ("least squares", "two-stage least squares"):
        heads += [(estimator, style), (f"{estimator}: 95 %", "text")]
    title = f"Effect on the {unit} per unit of the perceived value"
    if held := [words(name) for name in answers.design.levels if name not in names]:
        title += f", intended {', '.join(held)} held equal"
    return table(title, [*heads, ("first-stage F", "number")], rows)


def _no_number(answers: Answers, name: str) -> str:
    """Why a rated attribute has no effect per unit. One that nobody rated would leave no image for the others."""
    if not np.isfinite(answers.perceived[name]).any():
        return "no image was rated"
    attribute = answers.known.get(name)
    return f"{len(attribute.levels)} levels: no effect per unit" if attribute is not None and nominal(attribute) else ""


def _instrumented_rows(
    answers: Answers, counted: Float[np.ndarray, " n"], names: list[str], labels: Labels
) -> list[list[object]]:
    """A row per attribute: their intended values are instruments, those of the other varied ones covariates."""
    settings = np.array([[cell[name] for name in answers.design.levels] for cell in answers.design.cells()])[
        answers.cells
    ]
    intended = {name: settings[:, k] for k, name in enumerate(answers.design.levels)}
    held = covariates(answers.attributes, {name: column for name, column in intended.items() if name not in names})
    held = {f"intended {name}": column for name, column in held.items()}
    seen, instruments = ({name: columns[name] for name in names} for columns in (answers.perceived, intended))
    options: dict[str, Any] = {"clusters": answers.subjects, "labels": labels}
    plain = ols(counted, {**seen, **held}, **options)[: len(names)]
    repaired = instrumental(counted, seen, instruments, exogenous=held or None, **options)
    return [
        [words(name), *_cells(first), *_cells(second), _strength(second)]
        for name, first, second in zip(names, plain, repaired, strict=True)
    ]


def _strength(effect: Effect) -> float | str | None:
    """The first stage's F; ratings that are the intended values but for rounding have none that means anything."""
    f = effect.spec.get("first_stage_f") if effect.estimable else None
    return "exact" if f is not None and f > _EXACT else f


def _cells(effect: Effect) -> list[object]:
    factor = 100 if effect.unit.startswith(("proportion", "probability")) else 1
    ends = f"{factor * effect.low:+.3g} to {factor * effect.high:+.3g}".replace("-", "−")
    return [number(effect.estimate), ends if np.isfinite(effect.low) else effect.reason]

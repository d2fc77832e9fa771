"""How much hidden confounding could an observation bear? E-values and robustness values beside its contrasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, compared, number, table, words
from transect.analysis.sections.splits import Split, splits, whole
from transect.effects.confounding import E_VALUE, PARTIAL_R2, EValue, e_value, linear_robustness
from transect.effects.generalized import POISSON_SOURCE, poisson
from transect.effects.linear import ols
from transect.effects.observational import cut
from transect.effects.samples import Labels
from transect.reports.records import Section, Table
from transect.reports.wording import short_name

_TEXT: Final = (
    "Attributes that were observed, not set, may be correlated with something that is not in the table. These "
    "numbers show how strong such a hidden factor would have to be; none shows whether it exists. An "
    "experiment needs none of them.",
    "How to read an E-value of 2: something hidden that is associated with both the attribute and the "
    "{counted} at a risk ratio of 2 could explain the whole estimate; anything weaker could not. An E-value of "
    "1 for the interval means that the interval already includes no effect. Slopes are per standard deviation "
    "of the attribute; a larger step has a larger E-value.",
    "How to read a robustness value of 10 %: something hidden that explains 10 % of the remaining variance of "
    "both the attribute and the {counted} could bring the adjusted difference to 0; anything weaker could not. "
    "The partial R² is the share of the remaining variance that the attribute itself explains.",
)
_RATIO: Final = "risk ratio"
_STANDARDISED: Final = "standardized difference"
_ROUNDING: Final = 1e-20
"""Of squares; what is left of a line through every point."""


def section(answers: Answers) -> Section | None:
    """The section of one target in one observation; None where it has no answer or no attribute that varies."""
    counted, values = compared(answers)
    if not np.isfinite(values).any():
        return None
    contrasts = _contrasts(answers, values)
    adjusted = _adjusted(answers, values)
    if not contrasts and not adjusted:
        return None
    measure = _RATIO if answers.binary else _STANDARDISED
    tables = [_e_values(f"E-values of the unadjusted contrasts: {counted}", measure, contrasts)]
    if adjusted:
        tables.append(_e_values(f"E-values, adjusted for all other attributes: {counted}", measure, adjusted))
        tables.append(_robustness(answers, counted, values))
    return Section(
        key="confounding",
        study=answers.study,
        title=f"Hidden confounding: {short_name(answers.target)}",
        text=[text.format(counted=counted) for text in _TEXT[: 3 if adjusted else 2]],
        figures=[],
        tables=tables,
        sources=[E_VALUE, POISSON_SOURCE, PARTIAL_R2] if answers.binary else [E_VALUE, PARTIAL_R2],
    )


def _contrasts(answers: Answers, values: Float[np.ndarray, " n"]) -> list[list[object]]:
    """A row per contrast: each level against the first, or the last range against the first, and the slope."""
    rows = []
    for name, column in answers.values.items():
        groups = cut(answers.attributes[name], column, answers.bins.get(name))
        last = len(groups.centers) - 1
        for to in range(1, last + 1) if answers.attributes[name].discrete else [last] * (last > 0):
            chosen = np.where(groups.index == to, 1.0, np.where(groups.index == 0, 0.0, np.nan))
            rows.append(_row(answers, f"{words(name)}: {groups.label(0)} to {groups.label(to)}", values, chosen, {}))
        rows += [_row(answers, label, values, scaled, {}) for label, scaled in _slopes(answers, name, column)]
    return rows


def _slopes(answers: Answers, name: str, column: Float[np.ndarray, " n"]) -> list[tuple[str, Float[np.ndarray, " n"]]]:
    """An attribute with a range, in standard deviations from its mean; nothing where two values are all it has."""
    known = column[np.isfinite(column)]
    if answers.attributes[name].discrete or len(np.unique(known)) < 3:
        return []
    size = float(known.std(ddof=1))
    unit = answers.attributes[name].unit
    label = f"{words(name)}: slope, per standard deviation ({size:.3g}{' ' + unit if unit else ''})"
    return [(label, (column - known.mean()) / size)]


def _adjusted(answers: Answers, values: Float[np.ndarray, " n"]) -> list[list[object]]:
    """A row per attribute that varies and is no list of names, parted in two, all others held equal."""
    parted = {name: split for name, split in splits(answers, answers.values, answers.held).items() if split.others}
    rows = []
    for name, split in parted.items():
        sides = [(f"{words(name)}: {split.told}", split.chosen), *_slopes(answers, name, answers.values[name])]
        rows += [_row(answers, label, values, column, split.others) for label, column in sides]
    return rows + [[name, *[None] * 6, why] for name, why in _left(answers, parted)] if rows else []


def _left(answers: Answers, parted: Mapping[str, Split]) -> list[tuple[str, str]]:
    """Attributes without two sides, and why."""
    return [(words(name), f"no two sides: {why}") for name, why in whole(answers, answers.values, parted).items()]


def _row(
    answers: Answers,
    name: str,
    values: Float[np.ndarray, " n"],
    chosen: Float[np.ndarray, " n"],
    others: Mapping[str, Float[np.ndarray, " _"]],
) -> list[object]:
    """Ratio (or standardized difference), its ends, E-values of both, images, note."""
    low, middle, high, n, reason = _measured(answers, values, chosen, others)
    e = EValue(np.nan, np.nan)
    if np.isfinite(middle):
        e = e_value(middle, low, high, scale=_RATIO if answers.binary else "standardized difference")
    ends = [number(low), number(high)]
    return [name, number(middle), *ends, number(e.point), number(e.limit), n, reason]


def _measured(
    answers: Answers,
    values: Float[np.ndarray, " n"],
    chosen: Float[np.ndarray, " n"],
    others: Mapping[str, Float[np.ndarray, " _"]],
) -> tuple[float, float, float, int, str]:
    """Low, estimate, high of the ratio of rates, or of the difference over the standard deviation that is left."""
    if answers.binary:
        effect = poisson(values, {"chosen": chosen, **others}, clusters=answers.subjects)[0]
        ends = np.exp([effect.low, effect.estimate, effect.high])
    else:
        columns = {"chosen": chosen, **others}
        effect = ols(values, columns, clusters=answers.subjects)[0]
        ends = np.array([effect.low, effect.estimate, effect.high]) / _spread(values, chosen)
    low, middle, high = ends.tolist()
    return low, middle, high, effect.n_images, effect.reason.replace("chosen", "the group")


def _spread(values: Float[np.ndarray, " n"], chosen: Float[np.ndarray, " n"]) -> float:
    """Standard deviation about the line, which is that within the groups where there are two; NaN of a perfect fit."""
    known = np.isfinite(values) & np.isfinite(chosen)
    y, x = values[known] - values[known].mean(), chosen[known] - chosen[known].mean()
    freedom, along = len(y) - 2, float(x @ x)
    if freedom < 1 or not along > 0:
        return np.nan
    squares = float(((y - x * float(x @ y) / along) ** 2).sum())
    return float(np.sqrt(squares / freedom)) if squares > _ROUNDING * float(y @ y) else np.nan


def _e_values(title: str, measure: str, rows: list[list[object]]) -> Table:
    heads = [("compared", "text"), (measure, "number"), ("low", "number"), ("high", "number")]
    heads += [("E-value", "number"), ("E-value of the interval", "number"), ("images", "count"), ("note", "text")]
    return table(title, heads, rows)


def _robustness(answers: Answers, counted: str, values: Float[np.ndarray, " n"]) -> Table:
    style = "points" if answers.binary else "number"
    heads = [
        ("compared", "text"),
        ("adjusted difference" + (", points" if answers.binary else ""), style),
        ("low", style),
        ("high", style),
    ]
    heads += [("partial R²", "proportion"), ("robustness value", "proportion")]
    heads += [("robustness value of the interval", "proportion"), ("images", "count"), ("note", "text")]
    rows = []
    labels = Labels(answers.target, counted, "proportion" if answers.binary else "score")
    parted = {name: split for name, split in splits(answers, answers.values, answers.held).items() if split.others}
    for name, split in parted.items():
        columns = {name: split.chosen, **split.others}
        fit = linear_robustness(values, columns, clusters=answers.subjects, labels=labels)
        robustness, effect = fit.robustness, fit.effect
        shares = [robustness.partial_r2, robustness.value, robustness.significant] if robustness else [None] * 3
        ends = [number(end) for end in (effect.estimate, effect.low, effect.high)]
        rows.append([f"{words(name)}: {split.told}", *ends, *shares, effect.n_images, fit.reason])
    rows += [[name, *[None] * 7, why] for name, why in _left(answers, parted)]
    return table(f"Robustness of adjusted differences: {counted}", heads, rows)

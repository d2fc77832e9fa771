"""How much hidden confounding could an observation bear? E-values and robustness values beside its contrasts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, compared, number, table, words
from transect.analysis.sections.splits import Split, splits, whole
from transect.effects.confounding import E_VALUE, PARTIAL_R2, EValue, e_value, linear_robustness
from transect.effects.generalized import POISSON_SOURCE, poisson
from transect.effects.linear import ols
from transect.effects.observational import cut
from transect.effects.samples import Labels
from transect.report.records import Section, Table

_TEXT: Final = (
    "Attributes that come as they are may go along with something that is not in the table. These numbers say how "
    "strong that would have to be; none says whether it is there. An experiment needs none of them.",
    "An E-value of 2 reads: something hidden that goes with both the attribute and the {counted} at a risk ratio of 2 "
    "could explain the whole estimate, anything weaker could not; an E-value of the interval of 1 means that the "
    "interval holds no effect already. Slopes are per standard deviation of the attribute; a larger step has "
    "a larger E-value.",
    "A robustness value of 10 % reads: something hidden that explains 10 % of what is left of both the attribute and "
    "the {counted} could bring the adjusted difference to 0, anything weaker could not. The partial R² is what the "
    "attribute itself explains of what is left.",
)
_RATIO: Final = "risk ratio"
_STANDARDISED: Final = "standardised difference"
_ROUNDING: Final = 1e-20
"""Of squares; what is left of a line through every point."""


def section(one: Answers) -> Section | None:
    """The section of one target in one observation; None where it has no answer or no attribute that varies."""
    counted, values = compared(one)
    if not np.isfinite(values).any():
        return None
    contrasts = _contrasts(one, values)
    adjusted = _adjusted(one, values)
    if not contrasts and not adjusted:
        return None
    measure = _RATIO if one.binary else _STANDARDISED
    tables = [_e_values(f"E-values of the unadjusted contrasts: {counted}", measure, contrasts)]
    if adjusted:
        tables.append(_e_values(f"E-values, adjusted for all other attributes: {counted}", measure, adjusted))
        tables.append(_robustness(one, counted, values))
    return Section(
        key="confounding",
        study=one.study,
        title=f"Hidden confounding: {one.target}",
        text=[text.format(counted=counted) for text in _TEXT[: 3 if adjusted else 2]],
        figures=[],
        tables=tables,
        sources=[E_VALUE, POISSON_SOURCE, PARTIAL_R2] if one.binary else [E_VALUE, PARTIAL_R2],
    )


def _contrasts(one: Answers, values: Float[np.ndarray, " n"]) -> list[list[object]]:
    """A row per contrast: each level against the first, or the last range against the first, and the slope."""
    rows = []
    for name, column in one.values.items():
        groups = cut(one.attributes[name], column)
        last = len(groups.centers) - 1
        for to in range(1, last + 1) if one.attributes[name].discrete else [last] * (last > 0):
            chosen = np.where(groups.index == to, 1.0, np.where(groups.index == 0, 0.0, np.nan))
            rows.append(_row(one, f"{words(name)}: {groups.label(0)} to {groups.label(to)}", values, chosen, {}))
        rows += [_row(one, told, values, scaled, {}) for told, scaled in _slopes(one, name, column)]
    return rows


def _slopes(one: Answers, name: str, column: Float[np.ndarray, " n"]) -> list[tuple[str, Float[np.ndarray, " n"]]]:
    """An attribute with a range, in standard deviations from its mean; nothing where two values are all it has."""
    known = column[np.isfinite(column)]
    if one.attributes[name].discrete or len(np.unique(known)) < 3:
        return []
    size = float(known.std(ddof=1))
    unit = one.attributes[name].unit
    told = f"{words(name)}: slope, per standard deviation ({size:.3g}{' ' + unit if unit else ''})"
    return [(told, (column - known.mean()) / size)]


def _adjusted(one: Answers, values: Float[np.ndarray, " n"]) -> list[list[object]]:
    """A row per attribute that varies and is no list of names, parted in two, all others held equal."""
    parted = {name: split for name, split in splits(one, one.values, one.held).items() if split.others}
    rows = []
    for name, split in parted.items():
        sides = [(f"{words(name)}: {split.told}", split.chosen), *_slopes(one, name, one.values[name])]
        rows += [_row(one, told, values, column, split.others) for told, column in sides]
    return rows + [[name, *[None] * 6, why] for name, why in _left(one, parted)] if rows else []


def _left(one: Answers, parted: Mapping[str, Split]) -> list[tuple[str, str]]:
    """Attributes without two sides, and why."""
    return [(words(name), f"no two sides: {why}") for name, why in whole(one, one.values, parted).items()]


def _row(
    one: Answers,
    name: str,
    values: Float[np.ndarray, " n"],
    chosen: Float[np.ndarray, " n"],
    others: Mapping[str, Float[np.ndarray, " _"]],
) -> list[Any]:
    """Ratio (or standardised difference), its ends, E-values of both, images, note."""
    low, middle, high, n, reason = _measured(one, values, chosen, others)
    made = EValue(np.nan, np.nan)
    if np.isfinite(middle):
        made = e_value(middle, low, high, scale=_RATIO if one.binary else "standardized difference")
    ends = [number(low), number(high)]
    return [name, number(middle), *ends, number(made.point), number(made.limit), n, reason]


def _measured(
    one: Answers,
    values: Float[np.ndarray, " n"],
    chosen: Float[np.ndarray, " n"],
    others: Mapping[str, Float[np.ndarray, " _"]],
) -> tuple[float, float, float, int, str]:
    """Low, estimate, high of the ratio of rates, or of the difference over the standard deviation that is left.

    chosen: 0 or 1, or the attribute in standard deviations.
    """
    if one.binary:
        effect = poisson(values, {"chosen": chosen, **others}, clusters=one.subjects)[0]
        ends = np.exp([effect.low, effect.estimate, effect.high])
    else:
        given = {"chosen": chosen, **others}
        effect = ols(values, given, clusters=one.subjects)[0]
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


def _robustness(one: Answers, counted: str, values: Float[np.ndarray, " n"]) -> Table:
    style = "points" if one.binary else "number"
    heads = [
        ("compared", "text"),
        ("adjusted difference" + (", points" if one.binary else ""), style),
        ("low", style),
        ("high", style),
    ]
    heads += [("partial R²", "proportion"), ("robustness value", "proportion")]
    heads += [("robustness value of the interval", "proportion"), ("images", "count"), ("note", "text")]
    rows = []
    labels = Labels(one.target, counted, "proportion" if one.binary else "score")
    parted = {name: split for name, split in splits(one, one.values, one.held).items() if split.others}
    for name, split in parted.items():
        given = {name: split.chosen, **split.others}
        made = linear_robustness(values, given, clusters=one.subjects, labels=labels)
        found, effect = made.robustness, made.effect
        shares = [found.partial_r2, found.value, found.significant] if found else [None] * 3
        ends = [number(end) for end in (effect.estimate, effect.low, effect.high)]
        rows.append([f"{words(name)}: {split.told}", *ends, *shares, effect.n_images, made.reason])
    rows += [[name, *[None] * 7, why] for name, why in _left(one, parted)]
    return table(f"Robustness of adjusted differences: {counted}", heads, rows)

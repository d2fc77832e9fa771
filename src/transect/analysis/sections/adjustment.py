"""Errors adjusted for other attributes, how strong hidden confounding would have to be, and, of what raters saw, the
logistic model of Balakrishnan et al. 2020.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections import rater_uncertainty
from transect.analysis.sections.answers import (
    Answers,
    Split,
    compared,
    covariates,
    drawn,
    named,
    number,
    point,
    splits,
    table,
    whole,
    words,
)
from transect.analysis.sections.places import placed
from transect.effects.confounding import E_VALUE, PARTIAL_R2, EValue, e_value, linear_robustness
from transect.effects.doubly_robust import (
    AIPW_SOURCE,
    CROSS_FITTING,
    FEWEST_EFFECTIVE,
    MOST_CLIPPED,
    OVERLAP_SOURCE,
    PROPENSITIES,
    aipw,
)
from transect.effects.doubly_robust import SOURCE as WEIGHTS_SOURCE
from transect.effects.generalized import POISSON_SOURCE, poisson
from transect.effects.logistic import RESAMPLES, CoefficientTable, balakrishnan
from transect.effects.observational import cut
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import SQUARED, AddedByRaters
from transect.effects.regression import MEANS_SOURCE, OLS_SOURCE, difference_in_means, ols
from transect.effects.samples import Labels
from transect.ratings.perceived_attributes import OF_THE_PICTURE
from transect.records import Effect
from transect.reports.records import Figure, Section, Table
from transect.reports.wording import short_name
from transect.runs.wording import counted

SHOWN: Final = 24
"""Levels that the figure shows, largest coefficients first; the table has them all."""
_SOURCES: Final = (
    MEANS_SOURCE, OLS_SOURCE, AIPW_SOURCE, CROSS_FITTING, WEIGHTS_SOURCE, OVERLAP_SOURCE,
)  # fmt: skip
_RATERS: Final = (
    "Perceived values are means of a few raters' answers. SDs by subject and rater, and all intervals, resample the "
    "raters too: those of AIPW are widened by what raters add to least squares. Noise in the means pulls a "
    "coefficient towards 0; no interval reflects this."
)
_BY_IMAGE: Final = (
    "Ratings are one value per image: SDs and intervals hold for these ratings, not for other raters; give single "
    "answers with --ratings"
)
_BEYOND: Final = "withheld: beyond ±100 points"
_ROUNDING: Final = 1e-9
_TEXT: Final = (
    "L2-regularised logistic regression of errors (C = 1) on one indicator per level, as published. A "
    "coefficient is the change in the log odds of an error where the level holds, all else equal, shrunk "
    "toward 0. Bars are SDs over {resamples:,} bootstraps of images, as published, and of subjects, as "
    "recommended because images of one subject resemble each other."
)
_BESIDE: Final = (
    "Each attribute is split at its median, at the cut point of --bins nearest to it, or into off and on, and "
    "adjusted for all others. Differences in the error rate are causal only if no unlisted variable affects both the "
    "attribute and the errors. Attributes with more than two levels are adjusted for by an indicator per level. The "
    "adjusted difference is by AIPW, which needs subjects on both sides that resemble each other (overlap), or else by "
    "least squares (OLS). AIPW is withheld where more than {clipped:g} % of "
    "the chances of being on a side are clipped (outside {low:g} to {high:g} %), or a side has fewer than {effective} "
    "effective subjects."
)


# Errors of images as they come are adjusted, or by what was seen on images that were made.
@placed(80, "answers", lambda answers: answers.judged and bool(answers.perceived or not answers.design.levels))
def section(answers: Answers) -> Section:
    """The section of one target in one study."""
    columns_of = answers.adjusted
    held = {name: values for name, values in columns_of.items() if name in answers.held and not answers.perceived}
    columns = {name: values for name, values in columns_of.items() if np.isfinite(values).any()}
    warnings = [
        f"No image has a value of {words(name)}: it is left out ({counted(len(answers.errors), 'image')})"
        for name in columns_of
        if name not in columns
    ]
    low, high = PROPENSITIES
    beside = _BESIDE.format(clipped=100 * MOST_CLIPPED, low=100 * low, high=100 * high, effective=FEWEST_EFFECTIVE)
    kind = "perceived attributes" if answers.perceived else "attributes"
    head = Section(
        key="adjustment",
        study=answers.study,
        title=f"Errors of {short_name(answers.target)} by {kind}, adjusted",
        text=[beside],
    )
    if not columns:
        return replace(head, warnings=warnings)
    raters = rater_uncertainty.raters_of(answers, columns)
    warnings += [_BY_IMAGE] if answers.perceived and raters is None else []
    adjusted = replace(
        head,
        text=[*head.text, *([_RATERS] if raters else []), *_left_out(answers)],
        warnings=warnings,
        tables=[_differences(answers, columns, held, raters)],
        sources=[*_SOURCES, *([RATERS, SQUARED] if raters else [])],
    )
    return _with_coefficients(adjusted, answers, columns, raters) if answers.perceived else adjusted


def _with_coefficients(
    adjusted: Section,
    answers: Answers,
    columns: Mapping[str, Float[np.ndarray, " _"]],
    raters: rater_uncertainty.Raters | None,
) -> Section:
    """The section with the published coefficients of what raters saw."""
    # Other columns, as mean ratings, keep their values or are cut in three.
    levels = {
        name: list(answers.known[name].levels) for name, values in columns.items() if named(answers.known, name, values)
    }
    fit = balakrishnan(
        answers.errors,
        columns,
        answers.subjects,
        edges={name: points for name in columns if (points := answers.cut_points(name))},
        levels=levels,
        resamples=RESAMPLES,
        seed=answers.design.seed,
    )
    more = (
        None if fit.reason or raters is None else rater_uncertainty.coefficients(answers, columns, raters, fit, levels)
    )
    alone = [f"SDs and intervals hold for these raters alone: {more.reason}"] if more and more.reason else []
    return replace(
        adjusted,
        text=[_TEXT.format(resamples=RESAMPLES), *adjusted.text],
        warnings=[*adjusted.warnings, *alone, *([fit.reason] if fit.reason else [])],
        figures=[] if fit.reason else [_figure(fit, more)],
        tables=[_coefficients(fit, more), *adjusted.tables],
        sources=[fit.source, *adjusted.sources],
    )


def _left_out(answers: Answers) -> list[str]:
    """That ratings of the picture are not adjusted for, where nobody asked for it."""
    names = [words(name) for name in answers.perceived if name in OF_THE_PICTURE]
    if answers.covariates or not names:
        return []
    return [f"Not adjusted for {' and '.join(names)}, which raters say of the picture; name it with --covariate."]


def _with_raters(fit: CoefficientTable, more: AddedByRaters | None) -> Float[np.ndarray, " k"] | None:
    """SD by subject and rater; None where it is not known."""
    return None if more is None or more.reason else np.sqrt(fit.subject_sd**2 + more.variance)


def _figure(fit: CoefficientTable, more: AddedByRaters | None) -> Figure:
    series = {}
    spreads = {"SD by image (as published)": fit.image_sd, "SD by subject": fit.subject_sd}
    whole_sd = _with_raters(fit, more)
    for name, spread in (spreads if whole_sd is None else {**spreads, "SD by subject and rater": whole_sd}).items():
        rows = list(zip(fit.names, fit.coefficients, spread, fit.images, fit.notes, strict=True))[:SHOWN]
        series[name] = [
            point(value, low=value - sd, high=value + sd, label=words(level), n=int(n), reason=note)
            for level, value, sd, n, note in rows
        ]
    left = len(fit.names) - SHOWN
    largest = f" ({SHOWN} largest of {len(fit.names)})" if left > 0 else ""
    title, caption = f"Coefficients, sorted by size{largest}", "(bars are one SD to either side)"
    return drawn("rows", title, caption, {"Levels": series}, "log odds of an error")


def _coefficients(fit: CoefficientTable, more: AddedByRaters | None) -> Table:
    spreads = {"SD by image": fit.image_sd, "SD by subject": fit.subject_sd}
    whole_sd = _with_raters(fit, more)
    spreads |= {} if whole_sd is None else {"SD by subject and rater": whole_sd}
    columns = [("level", "text"), ("log odds", "number"), *((name, "number") for name in spreads)]
    columns += [("images", "count"), ("note", "text")]
    rows = [
        [words(level), value, *sds, int(n), fit.reason or note]
        for level, value, *sds, n, note in zip(
            fit.names, fit.coefficients, *spreads.values(), fit.images, fit.notes, strict=True
        )
    ]
    dropped = {unit.unit: unit.resamples_dropped for unit in (fit.by_image, fit.by_subject)}
    title = "Coefficients"
    if any(dropped.values()):
        title += (
            f" (resamples without an error left out: {dropped['image']} of images, {dropped['subject']} of subjects)"
        )
    left_out = "; ".join(f"{_plain(reason)}: {n:,}" for reason, n in fit.by_image.excluded.items())
    title += f"; images left out: {left_out or 'none'}"
    return table(title, columns, rows)


def _plain(reason: str) -> str:
    """Of a missing value the attribute alone; the first of its levels stands in the reason."""
    return words(reason.partition(": ")[0]) if reason.startswith("no value of ") else reason


def _differences(
    answers: Answers,
    columns: Mapping[str, Float[np.ndarray, " _"]],
    held: Collection[str],
    raters: rater_uncertainty.Raters | None,
) -> Table:
    """A row per attribute that is compared, of names one per level; those of `held` are adjusted for and have none."""
    shown = {name: values for name, values in columns.items() if name not in held}
    parted = splits(answers, shown, {name: columns[name] for name in columns if name in held})
    left = whole(answers, shown, parted)
    more = {} if raters is None else rater_uncertainty.differences(answers, parted, raters)
    rows: list[list[object]] = []
    for name in shown:
        if name in parted:
            rows.append(_row_of(answers, name, parted[name], more.get(name)))
        elif not left[name].endswith("levels"):
            rows.append([words(name), left[name], *[None, ""] * 2, "", None, ""])
        elif answers.perceived:
            rows.append([words(name), f"{left[name]}: see the coefficients", *[None, ""] * 2, "", None, ""])
        else:
            rows += [_row_of(answers, name, split, None) for split in _levels_apart(answers, name, columns)]
    heads = [("attribute", "text"), ("compared", "text")]
    for estimate in ("unadjusted", "adjusted"):
        heads += [(f"{estimate}, points", "points"), (f"{estimate}: 95 %", "text")]
    heads += [("adjusted by", "text"), ("images", "count"), ("note", "text")]
    return table("Differences in the error rate", heads, rows)


def _levels_apart(answers: Answers, name: str, columns: Mapping[str, Float[np.ndarray, " _"]]) -> Iterator[Split]:
    """Each level of an attribute of names against the first that occurs, among the images of these two."""
    levels, values = answers.known[name].levels, columns[name]
    first, *rest = np.unique(values[np.isfinite(values)]).astype(int)
    others = covariates(answers.known, {other: column for other, column in columns.items() if other != name})
    for level in rest:
        chosen = np.where(values == level, 1.0, np.where(values == first, 0.0, np.nan))
        yield Split(f"{levels[level]} vs {levels[first]}", float(level), chosen, others)


def _row_of(answers: Answers, name: str, split: Split, more: AddedByRaters | None) -> list[object]:
    """The unadjusted difference, and the adjusted one: AIPW, or least squares where AIPW is withheld."""
    labels, clusters = Labels(answers.target, "error", "proportion"), answers.subjects
    chosen = {name: split.chosen}
    plain = difference_in_means(answers.errors, chosen, clusters=clusters, labels=labels)
    start = [words(name), split.told, *_cells(plain, more, 0)]
    if not split.others:
        return [*start, None, "nothing to adjust for", "", plain.n_images, ""]
    by_aipw = aipw(answers.errors, chosen, split.others, clusters=clusters, labels=labels, seed=answers.design.seed)
    if by_aipw.estimable:
        return [*start, *_cells(by_aipw, more, 1), "AIPW", by_aipw.n_images, overlap(by_aipw)]
    by_ols = ols(answers.errors, {**chosen, **split.others}, clusters=clusters, labels=labels)[0]
    return [*start, *_cells(by_ols, more, 1), "OLS", by_ols.n_images, f"no AIPW: {by_aipw.reason}"]


def _cells(effect: Effect, more: AddedByRaters | None, place: int) -> list[object]:
    """An estimate and its interval; neither where the estimate is beyond what a difference of rates can be."""
    if abs(effect.estimate) > 1 + _ROUNDING:
        return [None, _BEYOND]
    return [number(effect.estimate), _ends(effect, more, place)]


def _ends(effect: Effect, more: AddedByRaters | None, place: int) -> str:
    """The interval, for other raters too where their part is known, within what a difference of rates can be."""
    if not np.isfinite(effect.low):
        return effect.reason
    low, high = effect.low, effect.high
    if more is not None and np.isfinite(more.variance[place]):
        down, up = replace(more, variance=more.variance[[place]]).widened(effect.estimate, low, high)
        low, high = float(down[0]), float(up[0])
    low, high = max(low, -1.0), min(high, 1.0)
    return f"{100 * low:+z.1f} to {100 * high:+z.1f}".replace("-", "−")


def overlap(effect: Effect) -> str:
    """How far the sides overlap, of an AIPW effect: share of chances clipped, effective subjects; "" where unknown."""
    treated, untreated = effect.spec["effective_treated"], effect.spec["effective_untreated"]
    if not np.isfinite(treated):
        return ""
    share = effect.spec["propensities_clipped"] / effect.n_images
    return f"{100 * share:.1f} % clipped; effective subjects {treated:.0f} against {untreated:.0f}"


_CONFOUNDING_TEXT: Final = (
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
_CONFOUNDING_ROUNDING: Final = 1e-20
"""Of squares; what is left of a line through every point."""


@placed(110, "answers", lambda answers: not answers.design.levels)
def confounding_section(answers: Answers) -> Section | None:
    """The section of one target in one observation; None where it has no answer or no attribute that varies."""
    counted, values = compared(answers)
    if not np.isfinite(values).any():
        return None
    contrasts = _contrasts(answers, values)
    if not contrasts:
        return None
    measure = _RATIO if answers.binary else _STANDARDISED
    tables = [_e_values(f"E-values of the unadjusted contrasts: {counted}", measure, contrasts)]
    adjusted = {name: split for name, split in splits(answers, answers.values, answers.held).items() if split.others}
    if adjusted:
        tables.append(_robustness(answers, counted, values, adjusted))
    return Section(
        key="confounding",
        study=answers.study,
        title=f"Hidden confounding: {short_name(answers.target)}",
        text=[text.format(counted=counted) for text in _CONFOUNDING_TEXT[: 3 if adjusted else 2]],
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
            rows.append(_row(answers, f"{words(name)}: {groups.label(0)} to {groups.label(to)}", values, chosen))
        rows += [_row(answers, label, values, scaled) for label, scaled in _slopes(answers, name, column)]
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


def _row(answers: Answers, name: str, values: Float[np.ndarray, " n"], chosen: Float[np.ndarray, " n"]) -> list[object]:
    """Ratio (or standardized difference), its ends, E-values of both, images, note."""
    low, middle, high, n, reason = _measured(answers, values, chosen)
    e = EValue(np.nan, np.nan)
    if np.isfinite(middle):
        e = e_value(middle, low, high, scale=_RATIO if answers.binary else "standardized difference")
    ends = [number(low), number(high)]
    return [name, number(middle), *ends, number(e.point), number(e.limit), n, reason]


def _measured(
    answers: Answers, values: Float[np.ndarray, " n"], chosen: Float[np.ndarray, " n"]
) -> tuple[float, float, float, int, str]:
    """Low, estimate, high of the ratio of rates, or of the difference over the standard deviation that is left."""
    if answers.binary:
        effect = poisson(values, {"chosen": chosen}, clusters=answers.subjects)[0]
        ends = np.exp([effect.low, effect.estimate, effect.high])
    else:
        effect = ols(values, {"chosen": chosen}, clusters=answers.subjects)[0]
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
    return float(np.sqrt(squares / freedom)) if squares > _CONFOUNDING_ROUNDING * float(y @ y) else np.nan


def _e_values(title: str, measure: str, rows: list[list[object]]) -> Table:
    heads = [("compared", "text"), (measure, "number"), ("low", "number"), ("high", "number")]
    heads += [("E-value", "number"), ("E-value of the interval", "number"), ("images", "count"), ("note", "text")]
    return table(title, heads, rows)


def _robustness(answers: Answers, counted: str, values: Float[np.ndarray, " n"], parted: Mapping[str, Split]) -> Table:
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
    for name, split in parted.items():
        columns = {name: split.chosen, **split.others}
        fit = linear_robustness(values, columns, clusters=answers.subjects, labels=labels)
        robustness, effect = fit.robustness, fit.effect
        shares = [robustness.partial_r2, robustness.value, robustness.significant] if robustness else [None] * 3
        ends = [number(end) for end in (effect.estimate, effect.low, effect.high)]
        rows.append([f"{words(name)}: {split.told}", *ends, *shares, effect.n_images, fit.reason])
    left = whole(answers, answers.values, parted)
    rows += [[words(name), *[None] * 7, f"no two sides: {why}"] for name, why in left.items()]
    return table(f"Robustness of adjusted differences: {counted}", heads, rows)

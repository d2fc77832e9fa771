"""Which attributes go with errors, the others held equal: the published coefficients, and estimators side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections import adjusted_raters
from transect.analysis.sections.answers import Answers, number, point, table, words
from transect.analysis.sections.splits import Split, named, splits, whole
from transect.effects.adjustment import RESAMPLES, CoefficientTable, balakrishnan
from transect.effects.doubly_robust import AIPW_SOURCE, CROSS_FITTING, G_SOURCE, aipw, g_computation
from transect.effects.linear import MEANS_SOURCE, OLS_SOURCE, difference_in_means, ols
from transect.effects.propensity import FEWEST_EFFECTIVE, MOST_CLIPPED, OVERLAP_SOURCE, PROPENSITIES
from transect.effects.propensity import SOURCE as WEIGHTS_SOURCE
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import SQUARED, AddedByRaters
from transect.effects.samples import Labels
from transect.ratings.perceived_attributes import OF_THE_PICTURE
from transect.records import Attribute, Effect
from transect.reports.records import Figure, Panel, Section, Series, Table
from transect.reports.wording import short_name
from transect.runs.wording import counted

SHOWN: Final = 24
"""Levels that the figure shows, largest coefficients first; the table has them all."""
_SOURCES: Final = (
    MEANS_SOURCE, OLS_SOURCE, G_SOURCE, AIPW_SOURCE, CROSS_FITTING, WEIGHTS_SOURCE, OVERLAP_SOURCE,
)  # fmt: skip
_RATERS: Final = (
    "Perceived values are means of a few raters' answers. SDs by subject and rater, and all intervals, resample the "
    "raters too: those of g-computation and AIPW are widened by what raters add to OLS. Noise in the means pulls a "
    "coefficient towards 0, which no interval shows."
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
    "attribute and the errors. Attributes with more than two levels are adjusted for by an indicator per level. AIPW "
    "needs subjects on both sides that resemble each other (overlap). It is withheld where more than {clipped:g} % of "
    "the chances of being on a side are clipped (outside {low:g} to {high:g} %), or a side has fewer than {effective} "
    "effective subjects."
)


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
    kind = "perceived attributes" if answers.perceived else "attributes"
    head = Section(
        key="adjustment",
        study=answers.study,
        title=f"Errors of {short_name(answers.target)} by {kind}, adjusted",
        text=[_TEXT.format(resamples=RESAMPLES), _beside()],
    )
    if not columns:
        return replace(head, warnings=warnings)
    levels = _levels(answers.known, columns)
    fit = balakrishnan(
        answers.errors,
        columns,
        answers.subjects,
        edges={name: points for name in columns if (points := answers.cut_points(name))},
        levels=levels,
        resamples=RESAMPLES,
        seed=answers.design.seed,
    )
    raters = adjusted_raters.of(answers, columns)
    more = None if fit.reason or raters is None else adjusted_raters.coefficients(answers, columns, raters, fit, levels)
    warnings += [f"SDs and intervals hold for these raters alone: {more.reason}"] if more and more.reason else []
    warnings += [_BY_IMAGE] if answers.perceived and raters is None else []
    return replace(
        head,
        text=[*head.text, *([_RATERS] if raters else []), *_left_out(answers)],
        warnings=[*warnings, *([fit.reason] if fit.reason else [])],
        figures=[] if fit.reason else [_figure(fit, more)],
        tables=[_coefficients(fit, more), _side_by_side(answers, columns, held, raters)],
        sources=[fit.source, *_SOURCES, *([RATERS, SQUARED] if raters else [])],
    )


def _left_out(answers: Answers) -> list[str]:
    """That ratings of the picture are not adjusted for, where nobody asked for it."""
    names = [words(name) for name in answers.perceived if name in OF_THE_PICTURE]
    if answers.covariates or not names:
        return []
    return [f"Not adjusted for {' and '.join(names)}, which raters say of the picture; name it with --covariate."]


def _beside() -> str:
    low, high = PROPENSITIES
    return _BESIDE.format(clipped=100 * MOST_CLIPPED, low=100 * low, high=100 * high, effective=FEWEST_EFFECTIVE)


def _levels(
    attributes: Mapping[str, Attribute], columns: Mapping[str, Float[np.ndarray, " _"]]
) -> dict[str, list[str]]:
    """Named levels where values are levels; other columns, as mean ratings, keep their values or are cut in three."""
    return {name: list(attributes[name].levels) for name, values in columns.items() if named(attributes, name, values)}


def _name(level: str) -> str:
    return words(level)


def _with_raters(fit: CoefficientTable, more: AddedByRaters | None) -> Float[np.ndarray, " k"] | None:
    """SD by subject and rater; None where it is not known."""
    return None if more is None or more.reason else np.sqrt(fit.subject_sd**2 + more.variance)


def _figure(fit: CoefficientTable, more: AddedByRaters | None) -> Figure:
    series = []
    spreads = {"SD by image (as published)": fit.image_sd, "SD by subject": fit.subject_sd}
    whole_sd = _with_raters(fit, more)
    for name, spread in (spreads if whole_sd is None else {**spreads, "SD by subject and rater": whole_sd}).items():
        rows = list(zip(fit.names, fit.coefficients, spread, fit.images, fit.notes, strict=True))[:SHOWN]
        points = [
            point(value, low=value - sd, high=value + sd, label=_name(level), n=int(n), reason=note)
            for level, value, sd, n, note in rows
        ]
        series.append(Series(name=name, points=points))
    panel = Panel(heading="Levels", y_words="log odds of an error", unit="number", series=series)
    left = len(fit.names) - SHOWN
    largest = f" ({SHOWN} largest of {len(fit.names)})" if left > 0 else ""
    return Figure(
        kind="rows",
        title=f"Coefficients, sorted by size{largest}",
        caption="(bars are one SD to either side)",
        panels=[panel],
    )


def _coefficients(fit: CoefficientTable, more: AddedByRaters | None) -> Table:
    spreads = {"SD by image": fit.image_sd, "SD by subject": fit.subject_sd}
    whole_sd = _with_raters(fit, more)
    spreads |= {} if whole_sd is None else {"SD by subject and rater": whole_sd}
    columns = [("level", "text"), ("log odds", "number"), *((name, "number") for name in spreads)]
    columns += [("images", "count"), ("note", "text")]
    rows = [
        [_name(level), value, *sds, int(n), fit.reason or note]
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


def _side_by_side(
    answers: Answers,
    columns: Mapping[str, Float[np.ndarray, " _"]],
    held: Collection[str],
    raters: adjusted_raters.Raters | None,
) -> Table:
    """A row per attribute that is compared; the columns of `held` are adjusted for and have none."""
    shown = {name: values for name, values in columns.items() if name not in held}
    parted = splits(answers, shown, {name: columns[name] for name in columns if name in held})
    left = whole(answers, shown, parted)
    more = {} if raters is None else adjusted_raters.differences(answers, parted, raters)
    rows: list[list[object]] = []
    for name in shown:
        if name in parted:
            rows.append([words(name), parted[name].told, *_estimates(answers, name, parted[name], more.get(name))])
        else:
            reason = left[name] + (": see the coefficients" if left[name].endswith("levels") else "")
            rows.append([words(name), reason, *[None, ""] * 4, ""])
    heads = [("attribute", "text"), ("compared", "text")]
    for estimator in ("unadjusted", "OLS", "g-computation", "AIPW"):
        heads += [(f"{estimator}, points", "points"), (f"{estimator}: 95 %", "text")]
    heads.append(("AIPW: overlap", "text"))
    return table("Differences in the error rate by four estimators", heads, rows)


def _estimates(answers: Answers, name: str, split: Split, more: AddedByRaters | None) -> list[object]:
    labels, clusters = Labels(answers.target, "error", "proportion"), answers.subjects
    cells: list[object] = []
    chosen, varied = split.chosen, split.others
    effects = [difference_in_means(answers.errors, {name: chosen}, clusters=clusters, labels=labels)]
    if varied:
        effects.append(ols(answers.errors, {name: chosen, **varied}, clusters=clusters, labels=labels)[0])
        effects.append(g_computation(answers.errors, {name: chosen}, varied, clusters=clusters, labels=labels))
        effects.append(
            aipw(answers.errors, {name: chosen}, varied, clusters=clusters, labels=labels, seed=answers.design.seed)
        )
    for place, effect in enumerate(effects):
        ends = _ends(effect, more, min(place, 1))
        cells += [None, _BEYOND] if abs(effect.estimate) > 1 + _ROUNDING else [number(effect.estimate), ends]
    cells += [None, "nothing to adjust for"] * (4 - len(effects))
    return [*cells, overlap(effects[-1]) if varied else ""]


def _ends(effect: Effect, more: AddedByRaters | None, place: int) -> str:
    """The interval, for other raters too where their part is known, within what a difference of rates can be."""
    if not np.isfinite(effect.low):
        return effect.reason
    low, high = effect.low, effect.high
    if more is not None and np.isfinite(more.variance[place]):
        down, up = replace(more, variance=more.variance[[place]]).widened(effect.estimate, low, high)
        low, high = float(down[0]), float(up[0])
    low, high = max(low, -1.0), min(high, 1.0)
    return f"{100 * low:+.1f} to {100 * high:+.1f}".replace("-", "−")


def overlap(effect: Effect) -> str:
    """How far the sides overlap, of an AIPW effect: share of chances clipped, effective subjects; "" where unknown."""
    treated, untreated = effect.spec["effective_treated"], effect.spec["effective_untreated"]
    if not np.isfinite(treated):
        return ""
    share = effect.spec["propensities_clipped"] / effect.n_images
    return f"{100 * share:.1f} % clipped; effective subjects {treated:.0f} against {untreated:.0f}"

"""Errors adjusted for other attributes: the logistic model of Balakrishnan et al. 2020, chosen regression models, and
how strong hidden confounding would have to be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from transect.analysis.sections import rater_uncertainty
from transect.analysis.sections.answers import (
    Answers,
    Split,
    compared,
    named,
    number,
    point,
    splits,
    table,
    whole,
    words,
)
from transect.analysis.sections.rater_uncertainty import judging
from transect.effects.confounding import E_VALUE, PARTIAL_R2, EValue, e_value, linear_robustness
from transect.effects.doubly_robust import (
    AIPW_SOURCE,
    CROSS_FITTING,
    FEWEST_EFFECTIVE,
    G_SOURCE,
    MOST_CLIPPED,
    OVERLAP_SOURCE,
    PROPENSITIES,
    aipw,
    g_computation,
)
from transect.effects.doubly_robust import SOURCE as WEIGHTS_SOURCE
from transect.effects.generalized import (
    FRACTIONAL_SOURCE,
    GEE_SOURCE,
    LOGIT,
    LOGIT_SOURCE,
    POISSON,
    POISSON_SOURCE,
    Family,
    gee_logit,
    logit,
    poisson,
)
from transect.effects.logistic import RESAMPLES, CoefficientTable, balakrishnan
from transect.effects.observational import cut
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import SQUARED, AddedByRaters
from transect.effects.regression import MEANS_SOURCE, OLS_SOURCE, difference_in_means, ols
from transect.effects.samples import Columns, Labels
from transect.effects.sensitivity import fractional_errors
from transect.errors import UnknownName
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
    raters = rater_uncertainty.raters_of(answers, columns)
    more = (
        None if fit.reason or raters is None else rater_uncertainty.coefficients(answers, columns, raters, fit, levels)
    )
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
    raters: rater_uncertainty.Raters | None,
) -> Table:
    """A row per attribute that is compared; the columns of `held` are adjusted for and have none."""
    shown = {name: values for name, values in columns.items() if name not in held}
    parted = splits(answers, shown, {name: columns[name] for name in columns if name in held})
    left = whole(answers, shown, parted)
    more = {} if raters is None else rater_uncertainty.differences(answers, parted, raters)
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


_MODELS_TEXT: Final = (
    "Each attribute is split at its median, at the cut point of --bins nearest to it, or into off and on, with all "
    "others held equal; errors are clustered by subject. An odds ratio of 2 doubles the odds of an error, a risk "
    "ratio of 2 its rate; for a common outcome the odds ratio is farther from 1. Both are causal only where "
    "attributes were set, or where no unlisted variable affects both the attribute and the errors."
)
_FRACTIONAL: Final = (
    "The fractional logit is of |score − mean rating|, 0 to 1: an image on which raters disagree counts as "
    "half right either way. {n:,} of {of:,} images have both."
)
_MODELS_RATERS: Final = (
    "Perceived values, and right answers that raters state, are means of a few raters' answers: intervals and p hold "
    "for other raters too, unless the note says otherwise. Those of the GEE are widened by what raters add to the "
    "logistic regression. Noise in the means pulls a difference towards 0 and a ratio towards 1, which no interval "
    "shows."
)
_THESE: Final = "interval and p hold for these raters alone, without the uncertainty of who was asked"
_MODELS_BY_IMAGE: Final = (
    "Ratings are one value per image: intervals and p hold for these ratings, not for other raters; give single "
    "answers with --ratings"
)
_SHARES: Final = "give single answers with --ratings (means, as with --perceived, suffice for two levels only)"
_BALAKRISHNAN: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)


@final
@dataclass(frozen=True, slots=True)
class Model:
    """fit: outcomes, columns, clusters to effects; ratio: whether an estimate is a logarithm, of what.

    family: of the fit that says what raters add; None for least squares. with_raters: whether that is known at all.
    """

    title: str
    ratio: str
    fit: Callable[..., Sequence[Effect]]
    sources: tuple[str, ...]
    family: Family | None = None
    with_raters: bool = True


def _gee(y: ArrayLike, x: Columns, clusters: ArrayLike) -> Sequence[Effect]:
    return gee_logit(y, x, clusters)


MODELS: Final[Mapping[str, Model]] = {
    "ols": Model("Least squares", "", ols, (OLS_SOURCE,)),
    "logit": Model("Logistic regression", "odds ratio", logit, (LOGIT_SOURCE,), LOGIT),
    "poisson": Model("Modified Poisson regression", "risk ratio", poisson, (POISSON_SOURCE,), POISSON),
    "gee": Model("Logistic GEE, exchangeable within subjects", "odds ratio", _gee, (GEE_SOURCE,), LOGIT),
    "fractional": Model(
        "Fractional logit of |score − mean rating|",
        "odds ratio",
        logit,
        (FRACTIONAL_SOURCE, _BALAKRISHNAN),
        LOGIT,
        with_raters=False,
    ),
}


def check(names: Sequence[str]) -> tuple[str, ...]:
    """The names, once each. Raises UnknownName for a model that there is not."""
    for name in names:
        if name not in MODELS:
            raise UnknownName("model", name, MODELS)
    return tuple(dict.fromkeys(names))


def model_section(answers: Answers, models: Sequence[str]) -> Section:
    """The section of one judged target in one study, a table per model that was asked for."""
    kind = "perceived attributes" if answers.perceived else "attributes"
    held = {} if answers.perceived else {k: x for k, x in answers.adjusted.items() if k in answers.held}
    columns = {name: values for name, values in answers.adjusted.items() if name not in held}
    parted = splits(answers, columns, held)
    left = whole(answers, columns, parted)
    raters = _raters(answers, columns)
    text, warnings, tables = [_MODELS_TEXT, *([_MODELS_RATERS] if raters else [])], [], []
    warnings += [_MODELS_BY_IMAGE] if answers.perceived and raters is None else []
    for name in models:
        outcomes, reason = (answers.errors, "") if name != "fractional" else _fractions(answers)
        if reason:
            warnings.append(f"No fractional logit: {reason}")
            continue
        if name == "fractional":
            text.append(_FRACTIONAL.format(n=int(np.isfinite(outcomes).sum()), of=len(outcomes)))
        more, alone = _added(answers, MODELS[name], parted, raters)
        warnings += [f"{MODELS[name].title}: {alone}"] if alone else []
        tables.append(_table(answers, MODELS[name], outcomes, parted, left, more))
    return Section(
        key="models",
        study=answers.study,
        title=f"Errors of {short_name(answers.target)} by {kind}: chosen models",
        text=text,
        warnings=warnings if parted else [*warnings, "No attribute varies in two groups: no model"],
        figures=[],
        tables=tables if parted else [],
        sources=[
            *dict.fromkeys(source for name in models for source in MODELS[name].sources),
            *([RATERS, SQUARED] if raters else []),
        ],
    )


def refused(untaken: Sequence[Answers]) -> Section:
    """The section that says of studies why none of the models that were asked for is of them."""
    first = untaken[0]
    return Section(
        key="models",
        study=first.study,
        title=f"Errors of {short_name(first.target)}: chosen models",
        text=[],
        warnings=[f"No model of {answers.study}: {_why_not(answers)}" for answers in untaken],
        figures=[],
        tables=[],
        sources=[],
    )


def _why_not(answers: Answers) -> str:
    if answers.steps:
        return "its images are steps from each subject's own value; see the sensitivities"
    if not answers.judged:
        return "errors of the target are not known there; state the right answer with --truth"
    return "attributes were set, and contrasts within subjects need no model; model what people saw with --perceived"


def _fractions(answers: Answers) -> tuple[Float[np.ndarray, " _"], str]:
    """|score - share of yes in the mean rating| of each image, or why there is none."""
    if not len(answers.people_yes) or not np.isfinite(answers.people_yes).any():
        about = f"about {words(answers.truth_attribute)}" if answers.truth_attribute else "about what the truth is"
        return np.empty(0), f"it needs the share of raters who say yes {about}; {_SHARES}"
    known = answers.scores[np.isfinite(answers.scores)]
    if not len(known) or known.min() < 0 or known.max() > 1:
        return np.empty(0), f"the scores of {answers.target} are no probabilities from 0 to 1"
    return fractional_errors(answers.scores, answers.people_yes), ""


def _table(
    answers: Answers,
    model: Model,
    outcomes: Float[np.ndarray, " n"],
    parted: Mapping[str, Split],
    left: Mapping[str, str],
    more: Mapping[str, AddedByRaters],
) -> Table:
    """more: what raters add to each attribute's estimate, NaN where it is not known; empty where none decides."""
    style = "number" if model.ratio else "points"
    heads = [
        ("attribute", "text"),
        ("compared", "text"),
        ("mean, former", "proportion"),
        ("mean, latter", "proportion"),
    ]
    heads += [(model.ratio or "difference", style), ("low", style), ("high", style), ("p", "p")]
    heads += [("images", "count"), ("note", "text")]
    rows = []
    for name, split in parted.items():
        effect = model.fit(outcomes, {name: split.chosen, **split.others}, clusters=answers.subjects)[0]
        place = np.exp if model.ratio else np.asarray
        low, high, p, note = _models_with_raters(effect, more.get(name))
        ends = [number(float(place(end))) for end in (effect.estimate, low, high)]
        means = [_mean(outcomes, split.chosen == side) for side in (1.0, 0.0)]
        rows.append([words(name), split.told, *means, *ends, number(p), effect.n_images, note])
    rows += [[words(name), "", *[None] * 7, f"no two sides: {why}"] for name, why in left.items()]
    return table(model.title, heads, rows)


def _raters(answers: Answers, columns: Mapping[str, Float[np.ndarray, " n"]]) -> rater_uncertainty.Raters | None:
    """The raters behind perceived columns or right answers; None where there are none of single answers."""
    raters, judge = rater_uncertainty.raters_of(answers, columns), judging(answers)
    return rater_uncertainty.Raters({}, judge) if raters is None and judge else raters


def _added(
    answers: Answers, model: Model, parted: Mapping[str, Split], raters: rater_uncertainty.Raters | None
) -> tuple[dict[str, AddedByRaters], str]:
    """What raters add to each attribute's estimate, and why that is not known; nothing where no rater decides."""
    if raters is None or not parted:
        return {}, ""
    if not model.with_raters:
        unknown = AddedByRaters(np.array([np.nan]), 0, "")
        return dict.fromkeys(parted, unknown), _THESE
    if model.family is None:
        both = rater_uncertainty.differences(answers, parted, raters)
        more = {name: AddedByRaters(each.variance[1:], each.raters, each.reason) for name, each in both.items()}
    else:
        more = rater_uncertainty.log_ratios(answers, parted, raters, model.family)
    reason = next((each.reason for each in more.values() if each.reason), "")
    return more, f"{_THESE}: {reason}" if reason else ""


def _models_with_raters(effect: Effect, more: AddedByRaters | None) -> tuple[float, float, float, str]:
    """Ends of the interval, p and note: for other raters too where their part is known.

    p is of Student's t with one degree of freedom less than raters, scaled so that it is 5 % where the interval ends
    at 0.
    """
    note = words(effect.reason)
    if more is None or not np.isfinite(effect.low):
        return effect.low, effect.high, effect.p, note
    added = float(more.variance[0])
    if not np.isfinite(added):
        return effect.low, effect.high, effect.p, "; ".join(filter(None, [note, _THESE]))
    if added == 0:
        return effect.low, effect.high, effect.p, note
    low, high = (float(end[0]) for end in more.widened([effect.estimate], [effect.low], [effect.high]))
    half = effect.estimate - low if effect.estimate > 0 else high - effect.estimate
    freedom = max(more.raters - 1, 1)
    return low, high, float(2 * stdtr(freedom, -abs(effect.estimate) / half * stdtrit(freedom, 0.975))), note


def _mean(values: Float[np.ndarray, " n"], rows: np.ndarray) -> float | None:
    """Unadjusted mean of one side."""
    known = values[rows & np.isfinite(values)]
    return float(known.mean()) if len(known) else None


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


def confounding_section(answers: Answers) -> Section | None:
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
    return float(np.sqrt(squares / freedom)) if squares > _CONFOUNDING_ROUNDING * float(y @ y) else np.nan


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

"""Errors by the regression models that were asked for: odds ratios, risk ratios, and errors against mean ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import stdtr, stdtrit

from transect.analysis.sections import adjusted_raters
from transect.analysis.sections.answers import Answers, number, table, words
from transect.analysis.sections.regrouped import judging
from transect.analysis.sections.splits import Split, splits, whole
from transect.effects.generalized import (
    FRACTIONAL_SOURCE,
    GEE_SOURCE,
    LOGIT_SOURCE,
    POISSON_SOURCE,
    gee_logit,
    logit,
    poisson,
)
from transect.effects.likelihood import LOGIT, POISSON, Family
from transect.effects.linear import OLS_SOURCE, ols
from transect.effects.perception import fractional_errors
from transect.effects.rater_uncertainty import SOURCE as RATERS
from transect.effects.rater_uncertainty import SQUARED, AddedByRaters
from transect.effects.samples import Columns
from transect.errors import UnknownName
from transect.records import Effect
from transect.reports.records import Section, Table
from transect.reports.wording import short_name

_TEXT: Final = (
    "Each attribute is split at its median, at the cut point of --bins nearest to it, or into off and on, with all "
    "others held equal; errors are clustered by subject. An odds ratio of 2 doubles the odds of an error, a risk "
    "ratio of 2 its rate; for a common outcome the odds ratio is farther from 1. Both are causal only where "
    "attributes were set, or where no unlisted variable affects both the attribute and the errors."
)
_FRACTIONAL: Final = (
    "The fractional logit is of |score − mean rating|, 0 to 1: an image on which raters disagree counts as "
    "half right either way. {n:,} of {of:,} images have both."
)
_RATERS: Final = (
    "Perceived values, and right answers that raters state, are means of a few raters' answers: intervals and p hold "
    "for other raters too, unless the note says otherwise. Those of the GEE are widened by what raters add to the "
    "logistic regression. Noise in the means pulls a difference towards 0 and a ratio towards 1, which no interval "
    "shows."
)
_THESE: Final = "interval and p hold for these raters alone, without the uncertainty of who was asked"
_BY_IMAGE: Final = (
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


def section(answers: Answers, models: Sequence[str]) -> Section:
    """The section of one judged target in one study, a table per model that was asked for."""
    kind = "perceived attributes" if answers.perceived else "attributes"
    held = {} if answers.perceived else {k: x for k, x in answers.adjusted.items() if k in answers.held}
    columns = {name: values for name, values in answers.adjusted.items() if name not in held}
    parted = splits(answers, columns, held)
    left = whole(answers, columns, parted)
    raters = _raters(answers, columns)
    text, warnings, tables = [_TEXT, *([_RATERS] if raters else [])], [], []
    warnings += [_BY_IMAGE] if answers.perceived and raters is None else []
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
        low, high, p, note = _with_raters(effect, more.get(name))
        ends = [number(float(place(end))) for end in (effect.estimate, low, high)]
        means = [_mean(outcomes, split.chosen == side) for side in (1.0, 0.0)]
        rows.append([words(name), split.told, *means, *ends, number(p), effect.n_images, note])
    rows += [[words(name), "", *[None] * 7, f"no two sides: {why}"] for name, why in left.items()]
    return table(model.title, heads, rows)


def _raters(answers: Answers, columns: Mapping[str, Float[np.ndarray, " n"]]) -> adjusted_raters.Raters | None:
    """The raters behind perceived columns or right answers; None where there are none of single answers."""
    raters, judge = adjusted_raters.of(answers, columns), judging(answers)
    return adjusted_raters.Raters({}, judge) if raters is None and judge else raters


def _added(
    answers: Answers, model: Model, parted: Mapping[str, Split], raters: adjusted_raters.Raters | None
) -> tuple[dict[str, AddedByRaters], str]:
    """What raters add to each attribute's estimate, and why that is not known; nothing where no rater decides."""
    if raters is None or not parted:
        return {}, ""
    if not model.with_raters:
        unknown = AddedByRaters(np.array([np.nan]), 0, "")
        return dict.fromkeys(parted, unknown), _THESE
    if model.family is None:
        both = adjusted_raters.differences(answers, parted, raters)
        more = {name: AddedByRaters(each.variance[1:], each.raters, each.reason) for name, each in both.items()}
    else:
        more = adjusted_raters.log_ratios(answers, parted, raters, model.family)
    reason = next((each.reason for each in more.values() if each.reason), "")
    return more, f"{_THESE}: {reason}" if reason else ""


def _with_raters(effect: Effect, more: AddedByRaters | None) -> tuple[float, float, float, str]:
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

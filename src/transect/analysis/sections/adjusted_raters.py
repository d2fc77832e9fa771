"""What the choice of raters adds to adjusted errors: coefficients by level, and differences between two sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, nominal
from transect.analysis.sections.regrouped import judging, rejudged
from transect.analysis.sections.splits import Split, half
from transect.effects.adjustment import CoefficientTable
from transect.effects.encoding import one_hot
from transect.effects.generalized import SURE
from transect.effects.likelihood import Family, maximise
from transect.effects.logistic import penalised
from transect.effects.rater_uncertainty import AddedByRaters, added_by_raters
from transect.records import Annotations

RESAMPLES: Final = 200
_SLIGHT: Final = 1e-8
"""Of a penalty that changes no estimate, but lets columns depend on each other."""
_Columns = Mapping[str, Float[np.ndarray, " n"]]


@final
@dataclass(frozen=True, slots=True)
class Raters:
    """Single answers behind columns, by column; judge: those that decide what is right, see `judging`."""

    answers: Mapping[str, Annotations]
    judge: Sequence[Annotations]

    @property
    def questions(self) -> list[Annotations]:
        """All of them, the judge last."""
        return [*self.answers.values(), *self.judge]

    def columns(self, columns: _Columns, means: Float[np.ndarray, "n q"]) -> dict[str, Float[np.ndarray, " n"]]:
        """The columns, with other mean answers where raters gave them."""
        places = {name: place for place, name in enumerate(self.answers)}
        return {name: means[:, places[name]] if name in places else x for name, x in columns.items()}

    def errors(self, answers: Answers, means: Float[np.ndarray, "n q"]) -> Float[np.ndarray, " n"]:
        """Errors, as these raters judge them where raters do."""
        return rejudged(answers, means[:, -len(self.judge) :]).errors if self.judge else answers.errors


def of(answers: Answers, columns: _Columns) -> Raters | None:
    """The raters behind perceived columns with an order; None where none is of single answers."""
    if not answers.perceived or answers.by_machine:
        return None
    seen = {each.about: each.answers for each in answers.seen.values() if each.answers is not None}
    said = {name: seen[name] for name in columns if name in seen and not nominal(answers.known.get(name))}
    return Raters(said, judging(answers)) if said else None


def coefficients(
    answers: Answers, columns: _Columns, raters: Raters, fit: CoefficientTable, levels: Mapping[str, Sequence[str]]
) -> AddedByRaters:
    """What raters add to the variance of each coefficient, in the order of the table."""
    first = one_hot(columns, edges=fit.edges, levels=levels)
    order = [first.names.index(name) for name in fit.names]
    edges = {name: fit.edges[name] if name in fit.edges else _middles(columns[name]) for name in columns}
    cut = {name: points for name, points in edges.items() if name in raters.answers or name in fit.edges}

    def statistic(means: Float[np.ndarray, "n q"], _: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
        named = {name: texts for name, texts in levels.items() if name not in raters.answers or name in fit.edges}
        x = one_hot(raters.columns(columns, means), edges=cut, levels=named).x
        return penalised(raters.errors(answers, means), x)[order]

    return added_by_raters(statistic, raters.questions, answers.subjects, resamples=RESAMPLES, seed=answers.design.seed)


def _middles(values: Float[np.ndarray, " n"]) -> tuple[float, ...]:
    """Cut points between the values that occur."""
    known = np.unique(values[np.isfinite(values)])
    return tuple(((known[1:] + known[:-1]) / 2).tolist())


def differences(answers: Answers, parted: Mapping[str, Split], raters: Raters) -> dict[str, AddedByRaters]:
    """What raters add to the variance of each attribute's unadjusted difference, and of that by least squares."""
    return _added(answers, parted, raters, _two)


def log_ratios(
    answers: Answers, parted: Mapping[str, Split], raters: Raters, family: Family
) -> dict[str, AddedByRaters]:
    """What raters add to the variance of each attribute's coefficient in a regression of errors of this family."""
    return _added(answers, parted, raters, partial(_log_ratio, family))


_Estimate = Callable[[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Sequence[Float[np.ndarray, " n"]]], list[float]]
"""From errors, sides and what is held equal to as many estimates for every attribute."""


def _added(
    answers: Answers, parted: Mapping[str, Split], raters: Raters, estimate: _Estimate
) -> dict[str, AddedByRaters]:
    def statistic(means: Float[np.ndarray, "n q"], _: Float[np.ndarray, " n"]) -> Float[np.ndarray, " k"]:
        errors = raters.errors(answers, means)
        estimates: list[float] = []
        for name, split in parted.items():
            values = raters.columns({name: split.chosen}, means)[name]
            chosen = half(values, split.at) if name in raters.answers else split.chosen
            estimates += estimate(errors, chosen, list(raters.columns(split.others, means).values()))
        return np.array(estimates)

    if not parted:
        return {}
    whole = added_by_raters(
        statistic, raters.questions, answers.subjects, resamples=RESAMPLES, seed=answers.design.seed
    )
    each = len(whole.variance) // len(parted)
    return {
        name: AddedByRaters(whole.variance[each * k : each * (k + 1)], whole.raters, whole.reason)
        for k, name in enumerate(parted)
    }


def _log_ratio(
    family: Family,
    errors: Float[np.ndarray, " n"],
    chosen: Float[np.ndarray, " n"],
    others: Sequence[Float[np.ndarray, " n"]],
) -> list[float]:
    """The coefficient of `chosen`; NaN where a side is empty, errors do not vary, or it is infinite."""
    x = np.column_stack([np.ones(len(errors)), chosen, *others])
    known = np.isfinite(errors) & np.isfinite(x).all(axis=1)
    x, y = x[known], errors[known]
    if len(y) <= x.shape[1] or np.ptp(x[:, 1]) == 0 or np.ptp(y) == 0:
        return [np.nan]
    beta, _ = maximise(x, y, np.ones(len(y)), family, penalty=np.full(x.shape[1], _SLIGHT))
    return [float(beta[1]) if np.abs(x @ beta).max() <= SURE else np.nan]


def _two(
    errors: Float[np.ndarray, " n"], chosen: Float[np.ndarray, " n"], others: Sequence[Float[np.ndarray, " n"]]
) -> list[float]:
    """The difference in means, and the coefficient of `chosen` by least squares; NaN where a side is empty."""
    known = np.isfinite(errors) & np.isfinite(chosen)
    sides = [errors[known & (chosen == side)] for side in (1.0, 0.0)]
    plain = float(sides[0].mean() - sides[1].mean()) if all(map(len, sides)) else np.nan
    if not others or not all(map(len, sides)):
        return [plain, plain]
    x = np.column_stack([np.ones(len(errors)), chosen, *others])
    complete = known & np.isfinite(x).all(axis=1)
    if complete.sum() <= x.shape[1] or np.ptp(chosen[complete]) == 0:
        return [plain, np.nan]
    return [plain, float(np.linalg.lstsq(x[complete], errors[complete], rcond=None)[0][1])]

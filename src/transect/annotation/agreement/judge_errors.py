"""How far a judge's yes or no agrees with people's on the same texts, and what its errors do to an effect.

A judge that errs alike at every level shrinks effects; one that errs more at one level makes an effect that is
none. So everything is counted by level too, and an effect is corrected with people's codes of a sample: the judge's
rate at each level, moved by how far it is off where people coded the same texts (prediction-powered inference).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects import clusters
from transect.effects.contrasts import known_mean
from transect.effects.intervals import wilson_clustered
from transect.effects.prediction_powered import SOURCES as PREDICTION_POWERED
from transect.effects.prediction_powered import PredictionPowered, ppi_difference, ppi_mean
from transect.runs.human_answers import Agreement, Figure

SOURCES: Final = (
    "Korn and Graubard 1998, Confidence intervals for proportions with small expected number of positive counts "
    "estimated from survey data, Survey Methodology 24, 193-201",
    clusters.SOURCES[clusters.PAIRED_SCORE],
    *PREDICTION_POWERED[:2],
)


@final
@dataclass(frozen=True, slots=True)
class Codes:
    """Codes of n texts, 1, 0 or NaN: the judge's, what most people say (NaN at a tie), and whom each text is about."""

    judge: Float[np.ndarray, " n"]
    people: Float[np.ndarray, " n"]
    subjects: Int[np.ndarray, " n"]

    def take(self, rows: Bool[np.ndarray, " n"]) -> Codes:
        """Those of some texts."""
        return Codes(self.judge[rows], self.people[rows], self.subjects[rows])

    @property
    def both(self) -> Bool[np.ndarray, " n"]:
        """Which texts have both codes."""
        return np.asarray(np.isfinite(self.judge) & np.isfinite(self.people))


def majority(ratings: Float[np.ndarray, "texts raters"]) -> Float[np.ndarray, " texts"]:
    """What most raters say of each text, 1 or 0; NaN without an answer, and where they are evenly split."""
    yes, no = (ratings == 1).sum(axis=1), (ratings == 0).sum(axis=1)
    return np.where(yes == no, np.nan, (yes > no).astype(np.float64))


def agreement(codes: Codes) -> Agreement:
    """The figures of the texts that both coded, with 95 % intervals by subject: Wilson's and the paired score one."""
    both = codes.take(codes.both)
    counts = _by_subject(both)
    yes = counts[:, 0] + counts[:, 1]
    return Agreement(
        texts=len(both.judge),
        yes=int(yes.sum()),
        sensitivity=_share(counts[:, 0], yes, "people say yes to no text"),
        specificity=_share(counts[:, 3], counts[:, 2] + counts[:, 3], "people say no to no text"),
        excess=_excess(both),
    )


def corrected_effects(
    codes: Codes, levels: Int[np.ndarray, " n"], count: int
) -> Iterator[tuple[float, PredictionPowered]]:
    """Of each later level against the first, the judge's and people's; any text may equally have been coded."""
    each = [_powered(codes.take(levels == level)) for level in range(count)]
    rates = [known_mean(codes.judge[levels == level]) for level in range(count)]
    for level in range(1, count):
        yield rates[level] - rates[0], ppi_difference(each[0], each[level])


def figure_of(found: PredictionPowered) -> Figure:
    """An estimate of prediction-powered inference as a figure; what has no interval has no estimate either."""
    if not math.isfinite(found.low):
        return Figure(None, None, None, found.reason or "no interval")
    return Figure(found.estimate, found.low, found.high)


def _powered(codes: Codes) -> PredictionPowered:
    coded, judged = codes.take(codes.both), codes.take(np.isfinite(codes.judge) & ~np.isfinite(codes.people))
    return ppi_mean(coded.people, coded.judge, judged.judge, subjects=coded.subjects, subjects_unrated=judged.subjects)


def _by_subject(codes: Codes) -> Float[np.ndarray, "s 4"]:
    """Texts of each subject: people yes and judge yes, yes and no, no and yes, no and no."""
    names, subject = np.unique(codes.subjects, return_inverse=True)
    place = (2 * (1 - codes.people) + (1 - codes.judge)).astype(np.int64)
    counts = np.zeros((len(names), 4))
    np.add.at(counts, (subject, place), 1.0)
    return counts


def _share(hits: Float[np.ndarray, " s"], counts: Float[np.ndarray, " s"], reason: str) -> Figure:
    if not counts.sum():
        return Figure(None, None, None, reason)
    low, high = wilson_clustered(hits[:, None], counts[:, None])
    return Figure(float(hits.sum() / counts.sum()), float(low[0]), float(high[0]))


def _excess(codes: Codes) -> Figure:
    if not len(codes.judge):
        return Figure(None, None, None, "no text has both codes")
    off = codes.judge - codes.people
    names, subject = np.unique(codes.subjects, return_inverse=True)
    if len(names) < 2:
        return Figure(float(off.mean()), None, None, "no interval: texts of one subject alone")
    low, high = clusters.paired_score(off[:, None], subject, np.ones(1), 0.95)
    return Figure(float(off.mean()), float(low[0]), float(high[0]))

"""From rendered images to photographs: many rendered effects, corrected by the few subjects that have both.

The effect on photographs is the rendered effect of all subjects plus what rendering gets wrong, which is measured on
the subjects that were rendered and photographed. Prediction-powered inference (Angelopoulos et al. 2023): a rendering
that is wrong by any amount costs width and not validity, and how far it counts is estimated from the same data (PPI++).
Summaries of two worlds do not suffice: without subjects in both, nothing says how wrong the rendering is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from transect.effects.prediction_powered import SOURCES as SOURCES_OF_MEANS
from transect.effects.prediction_powered import ppi_mean
from transect.errors import BadInput

SOURCES: Final = SOURCES_OF_MEANS[:2]
NO_OTHERS: Final = "fewer than two subjects that were rendered alone: nothing to add"


@final
@dataclass(frozen=True, slots=True)
class Transported:
    """The effect on photographs, from both worlds; NaN with a reason.

    alone: the photographs' own effect, with its interval. rendered: the effect of all renderings. off: rendered minus
    photographed effect, of the subjects that have both. trust: the weight of the rendering, 0 to 1. gained: by how much
    the rendering narrows the interval, as a share of the photographs' own width; worth: photographed subjects that it
    stands for. n_both, n_rendered: subjects with both, and rendered alone. n_missing: rows that were left out, since an
    effect on them is not known.
    """

    estimate: float
    low: float
    high: float
    alone: float
    alone_low: float
    alone_high: float
    rendered: float
    off: float
    off_low: float
    off_high: float
    trust: float
    gained: float
    worth: float
    n_both: int
    n_rendered: int
    n_missing: int = 0
    reason: str = ""


def transported(
    photographed: ArrayLike,
    rendered: ArrayLike,
    rendered_alone: ArrayLike,
    *,
    people: ArrayLike | None = None,
    people_alone: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Transported:
    """The mean effect on photographs of all subjects, of whom few were photographed and all were rendered.

    photographed, rendered: [n] float64, the effect (a difference of outcomes) on each subject that has both;
    rendered_alone: [N], on each subject that was only rendered. people: [n] and people_alone: [N], who is on each, by
    default one person on each; somebody who is in both counts once. The subjects that have both are assumed to be a
    random sample of all: their rendered effects are distributed as the others'. Nothing is assumed about the rendering;
    one that has nothing to do with its photograph gets the weight 0. Rows with a NaN are left out.

    Intervals are Student's, widened by skew: a change of yes or no is −1, 0 or 1, and is no rate where few subjects
    lack the −1.

    Returns Transported. Of fewer than 10 subjects with both there is no interval. Where the rendering is of no use, the
    interval is a little wider than that of the photographs alone, since its weight is estimated: `gained` is below 0.

    Raises BadInput where lengths differ, and for people_alone without people.

    >>> own, noise = np.random.default_rng(0).normal([[0.2], [0.1]], [[0.3], [0.05]], (2, 1020))
    >>> rendered = own + noise  # .1 too high, and nearly as the subject's own
    >>> result = transported(own[:20], rendered[:20], rendered[20:])
    >>> round(result.off, 1), result.low < 0.2 < result.high, result.gained > 0.7
    (0.1, True, True)
    """
    both, twins, others = (np.asarray(each, dtype=np.float64) for each in (photographed, rendered, rendered_alone))
    if both.shape != twins.shape or both.ndim != 1 or others.ndim != 1:
        raise BadInput(f"expected one rendered effect per photographed one, got {twins.shape} for {both.shape}")
    who, others_who = _people(people, people_alone, len(both), len(others))
    known, known_alone = np.isfinite(both) & np.isfinite(twins), np.isfinite(others)
    both, twins, who = both[known], twins[known], who[known]
    others, others_who = others[known_alone], others_who if others_who is None else others_who[known_alone]
    missing = int((~known).sum() + (~known_alone).sum())
    rendering = float(np.concatenate([twins, others]).mean()) if len(twins) + len(others) else math.nan
    alone, off = _mean(both, who, confidence), _mean(twins - both, who, confidence)
    if len(others) < 2 or len(both) < 2:
        reason = NO_OTHERS if len(others) < 2 else "fewer than two subjects in both worlds"
        return Transported(*alone, *alone, rendering, *off, 0.0, 0.0, 0.0, len(both), len(others), missing, reason)
    powered = ppi_mean(
        both, twins, others, subjects=who, subjects_unrated=others_who, rates=False, confidence=confidence
    )
    ends = powered.low, powered.high
    gained, worth = _gain(powered.high - powered.low, alone[2] - alone[1], len(both))
    return Transported(
        powered.estimate, *ends, *alone, rendering, *off, powered.trust, gained, worth, len(both), len(others), missing,
        powered.reason,
    )  # fmt: skip


def _people(
    people: ArrayLike | None, alone: ArrayLike | None, n: int, n_alone: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Who is on the subjects with both, and on those rendered alone; None where nothing says so."""
    who = np.arange(n) if people is None else np.asarray(people)
    others = None if alone is None else np.asarray(alone)
    if others is None and who.shape == (n,):
        return who, None
    if people is None:
        raise BadInput("people_alone: expected people too, got None; give who is on the subjects that have both")
    if others is not None and who.shape == (n,) and others.shape == (n_alone,):
        return who, others
    got = "" if others is None else f" and {others.shape} for {n_alone}"
    raise BadInput(f"people: expected one for each subject, got {who.shape} for {n}{got}; give all")


def _mean(values: Float[np.ndarray, " n"], people: np.ndarray, confidence: float) -> tuple[float, float, float]:
    """The mean with the interval that prediction-powered means have without a prediction."""
    if len(values) < 2:
        return (float(values.mean()) if len(values) else math.nan), math.nan, math.nan
    blank = np.zeros(len(values))
    found = ppi_mean(values, blank, blank[:2], subjects=people, trust=0.0, rates=False, confidence=confidence)
    return found.estimate, found.low, found.high


def _gain(width: float, alone: float, n: int) -> tuple[float, float]:
    """The share by which an interval is narrower, and how many more subjects would narrow it as far."""
    if not (width > 0 and alone > 0):
        return 0.0, 0.0
    return 1 - width / alone, max(0.0, n * (alone / width) ** 2 - n)

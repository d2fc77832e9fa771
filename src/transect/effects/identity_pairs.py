"""Do people take a reconstruction for the person? Real, reconstructed and duplicate pairs, as Singh et al. 2021 did.

The share of answers "same person" by kind of pair, in all and by familiarity or group (their Table 1), how often two
raters of a pair agree, and face distances of pairs that most raters call the same or not (their Fig. A4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from transect.effects.intervals import wilson, wilson_clustered
from transect.errors import BadInput

SOURCE: Final = (
    "Singh et al. 2021, Matched sample selection with GANs for mitigating attribute confounding, arXiv:2103.13455"
)
ALL: Final = "all"
PUBLISHED_CONFIDENCE: Final = float(2 * ndtr(1.0) - 1)
"""What the intervals of the published table hold, though it says 95 %: one standard error to either side."""


@final
@dataclass(frozen=True, slots=True)
class SameRow:
    """Share of answers "same" about one kind of pair in one group; low and high: Wilson's, by pair; NaN without any."""

    by: str
    group: str
    kind: str
    share: float
    low: float
    high: float
    answers: int
    unanswered: int


def same_shares(
    kind: Sequence[str],
    same: Float[np.ndarray, " r"],
    groups: Mapping[str, Sequence[str]],
    pair: Int[np.ndarray, " r"] | None = None,
    *,
    unanswered: Literal["left out", "same"] = "left out",
    confidence: float = 0.95,
) -> tuple[SameRow, ...]:
    """Rows of all answers, then of each group: a share for every kind of pair."""
    kinds, answers = np.asarray(kind), np.asarray(same, dtype=np.float64)
    columns = {ALL: np.full(len(answers), ALL), **{by: np.asarray(column) for by, column in groups.items()}}
    if any(len(column) != len(answers) for column in (kinds, *columns.values())):
        raise BadInput(f"expected a kind and a group of each of {len(answers)} answers, got others; pass one for each")
    if not np.isin(answers[np.isfinite(answers)], (0.0, 1.0)).all():
        raise BadInput("same: expected 1 (same), 0 (look-alike) or NaN (no answer); use these codes")
    rows = []
    for by, column in columns.items():
        for group in dict.fromkeys(text for text in column.tolist() if text):
            for pair_kind in dict.fromkeys(kinds.tolist()):
                mine = (column == group) & (kinds == pair_kind)
                rows.append(_row(by, group, pair_kind, answers, mine, pair, unanswered, confidence))
    return tuple(rows)


def _row(
    by: str,
    group: str,
    kind: str,
    answers: Float[np.ndarray, " r"],
    mine: np.ndarray,
    pair: Int[np.ndarray, " r"] | None,
    unanswered: str,
    confidence: float,
) -> SameRow:
    none = mine & np.isnan(answers)
    values = np.where(np.isnan(answers), 1.0, answers) if unanswered == "same" else answers
    known = mine & np.isfinite(values)
    n = int(known.sum())
    if not n:
        return SameRow(by, group, kind, np.nan, np.nan, np.nan, 0, int(none.sum()))
    if pair is None:
        low, high = (float(end) for end in wilson(values[known].sum(), n, confidence))
    else:
        place = np.unique(pair[known], return_inverse=True)[1].reshape(-1)
        sums, counts = np.bincount(place, weights=values[known]), np.bincount(place).astype(np.float64)
        low, high = (float(end[0]) for end in wilson_clustered(sums[:, None], counts[:, None], confidence))
    return SameRow(by, group, kind, float(values[known].mean()), low, high, n, int(none.sum()))


@final
@dataclass(frozen=True, slots=True)
class Distances:
    """Median face distance of pairs that most raters call the same, and of the others; p: Mann and Whitney's.

    tied: pairs that raters split evenly on, or nobody answered; missing: pairs without a distance. NaN with a reason.
    """

    same: float
    other: float
    p: float
    n_same: int
    n_other: int
    tied: int
    missing: int
    reason: str = ""


def against_distance(
    same: Float[np.ndarray, " r"], pair: Int[np.ndarray, " r"], distance: Float[np.ndarray, " p"]
) -> Distances:
    """Face distances by the answer of most raters on a pair. pair [r]: index into `distance` [p], NaN where unknown."""
    from scipy.stats import mannwhitneyu

    known = np.isfinite(same)
    yes = np.bincount(pair[known], weights=same[known], minlength=len(distance))
    n = np.bincount(pair[known], minlength=len(distance))
    decided, measured = (2 * yes != n) & (n > 0), np.isfinite(distance)
    called, others = (distance[decided & measured & side] for side in (2 * yes > n, 2 * yes < n))
    near, far = (float(np.median(values)) if len(values) else np.nan for values in (called, others))
    both = len(called) > 0 and len(others) > 0
    p = float(mannwhitneyu(called, others).pvalue) if both else np.nan
    lacks = "different" if len(called) else "the same"
    reason = "" if both else f"no pair with a distance that most raters call {lacks}"
    tied, missing = int((~decided).sum()), int((decided & ~measured).sum())
    return Distances(near, far, p, len(called), len(others), tied, missing, reason)

"""What the page of a matching shows, and where its marks lie: the love plot, shares, histograms of overlap; and the
unrounded numbers of its figures for their CSV.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import final

import numpy as np
from jaxtyping import Float

from transect.effects.matched_pairs import Balance, Cell, Side
from transect.jobs.match.outcomes import MatchNumbers
from transect.reports.blocks import TextTable
from transect.reports.drawing.svg import Interval, Scale, covering

MOST_PAIRS = 60
MOST_REFUSED = 30
MOST_PANELS = 24
_BINS = 24


@final
@dataclass(frozen=True, slots=True)
class Card:
    """A pair, or a refused one: rows, distance, reason (empty for a pair), pictures as PNG or JPEG bytes (or none)."""

    a: int
    b: int | None
    distance: float
    reason: str = ""
    picture_a: bytes | None = field(default=None, repr=False)
    picture_b: bytes | None = field(default=None, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Joint:
    """The joint distribution of binary covariates in two groups, before and after matching: the same cells."""

    treated: str
    control: str
    before: Sequence[Cell]
    after: Sequence[Cell]


@final
@dataclass(frozen=True, slots=True)
class Content:
    """What the page of a matching shows. overlap: log odds of both groups before and after; empty without propensity.
    joints: of each two groups that were matched. references: distances of both groups from their reference images.
    """

    numbers: MatchNumbers
    balance: Sequence[Balance]
    groups: tuple[str, str]
    pairs: Sequence[Card] = ()
    refused: Sequence[Card] = ()
    overlap: Mapping[str, tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]] = field(default_factory=dict)
    joints: Sequence[Joint] = ()
    gate: float = 0.1
    references: Mapping[str, tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class LoveRow:
    """One covariate of the love plot: its marks (hollow before, filled after; none where unknown), and SMDs."""

    name: str
    used: bool
    marks: tuple[Interval, ...]
    smd_before: float
    smd_after: float
    beyond: bool


@final
@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of two groups in equal bins, as heights per cent of the highest bar of the figure."""

    title: str
    treated: tuple[float, ...]
    control: tuple[float, ...]


def love_rows(balance: Sequence[Balance], gate: float) -> tuple[Scale, list[LoveRow]]:
    """The axis of |SMD| and a row per covariate, the farthest before matching first (Ahmed et al. 2006)."""
    values = [
        abs(side.smd) for covariate in balance for side in (covariate.before, covariate.after) if np.isfinite(side.smd)
    ]
    scale = covering([*values, gate])
    order = sorted(balance, key=lambda covariate: -abs(np.nan_to_num(covariate.before.smd)))
    return scale, [_love_row(covariate, scale, gate) for covariate in order]


def _love_row(covariate: Balance, scale: Scale, gate: float) -> LoveRow:
    smd = (covariate.before.smd, covariate.after.smd)
    before, after = (100 * scale.fraction(abs(value)) if np.isfinite(value) else None for value in smd)
    low, high = (None, None) if before is None or after is None else sorted((before, after))
    marks = [] if after is None else [Interval(after, low, high)]
    marks += [] if before is None else [Interval(before, filled=False)]
    return LoveRow(covariate.covariate, covariate.used, tuple(marks), *smd, not abs(smd[1]) <= gate)


def share_marks(side: Side | Cell) -> list[Interval]:
    """Both groups' shares on an axis from 0 to 100 %, the treated above."""
    pairs = ((side.treated, side.treated_interval), (side.control, side.control_interval))
    return [
        Interval(100 * share, 100 * low, 100 * high, series, down=30 + 40 * series)
        for series, (share, (low, high)) in enumerate(pairs)
        if np.isfinite(low)
    ]


def overlap_histograms(
    overlap: Mapping[str, tuple[Float[np.ndarray, " _"], Float[np.ndarray, " _"]]],
) -> tuple[tuple[float, float], list[Histogram]]:
    """The range of log odds and, for each title, both groups' shares in equal bins."""
    known = {name: [group[np.isfinite(group)] for group in groups] for name, groups in overlap.items()}
    every = np.concatenate([np.zeros(0), *(group for groups in known.values() for group in groups)])
    if not len(every):
        return (0.0, 0.0), []
    low, high = (float(end) for end in np.quantile(every, [0.0, 1.0]))
    edges = np.linspace(low, high if high > low else low + 1, _BINS + 1)
    shares = {
        name: [np.histogram(group, edges)[0] / max(len(group), 1) for group in groups] for name, groups in known.items()
    }
    top = max(float(part.max()) for groups in shares.values() for part in groups) or 1.0
    histograms = []
    for name, groups in shares.items():
        treated, control = (tuple((100 * part / top).round(2).tolist()) for part in groups)
        histograms.append(Histogram(name, treated, control))
    return (low, high), histograms


def histogram_numbers(edges: tuple[float, float], drawn: Sequence[Histogram]) -> TextTable:
    """Each bin, and the height of both groups' bars in per cent of the highest."""
    ends = list(itertools.pairwise(np.linspace(*edges, _BINS + 1).tolist()))
    rows = [
        (panel.title, f"{low:.6g}", f"{high:.6g}", f"{treated:g}", f"{control:g}")
        for panel in drawn
        for (low, high), treated, control in zip(ends, panel.treated, panel.control, strict=True)
    ]
    headings = ("images", "from", "to", "treated, % of the highest bar", "control, % of the highest bar")
    return TextTable("Histograms", headings, rows)


def share_numbers(page: Content, shares: Sequence[Balance]) -> TextTable:
    """Shares of both groups before and after, with their intervals."""
    rows = [
        (share.covariate, when, *map(str, (side.treated, *side.treated_interval, side.control, *side.control_interval)))
        for share in shares
        for when, side in (("before", share.before), ("after", share.after))
    ]
    sides = [f"{group}{end}" for group in page.groups[::-1] for end in ("", " low", " high")]
    return TextTable("Shares", ("attribute", "images", *sides), rows)


def joint_numbers(joint: Joint) -> TextTable:
    """Shares of each combination before and after, with their intervals."""
    rows = [
        (levels(cell), when, *map(str, (cell.treated, *cell.treated_interval, cell.control, *cell.control_interval)))
        for when, cells in (("before", joint.before), ("after", joint.after))
        for cell in cells
    ]
    sides = [f"{group}{end}" for group in (joint.treated, joint.control) for end in ("", " low", " high")]
    return TextTable("Joint distribution", ("combination", "images", *sides), rows)


def levels(cell: Cell) -> str:
    """The combination in words."""
    return ", ".join(name if level else f"not {name}" for name, level in cell.levels.items())

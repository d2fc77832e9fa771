"""The numbers of a matching's figures as tables, unrounded, for their CSV."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transect.effects.matched_pairs import Balance, Cell
from transect.jobs.match.figures import Content, Histogram, Joint
from transect.reports.blocks import TextTable


def histogram_numbers(edges: tuple[float, float], drawn: Sequence[Histogram]) -> TextTable:
    """Each bin, and the height of both groups' bars in per cent of the highest."""
    rows = [
        (panel.title, f"{low:.6g}", f"{high:.6g}", f"{treated:g}", f"{control:g}")
        for panel in drawn
        for low, high, treated, control in zip(
            *_bins(edges, len(panel.treated)), panel.treated, panel.control, strict=True
        )
    ]
    headings = ("images", "from", "to", "treated, % of the highest bar", "control, % of the highest bar")
    return TextTable("Histograms", headings, rows)


def _bins(edges: tuple[float, float], count: int) -> tuple[list[float], list[float]]:
    ends = np.linspace(*edges, count + 1).tolist()
    return ends[:-1], ends[1:]


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

"""What the section on matched pairs says of them: who was shown, what a preference cannot show, what still differs."""

from __future__ import annotations

from typing import Final

import numpy as np

from transect.analysis.finished_run import Run
from transect.analysis.sections.answers import table, words
from transect.analysis.two_images import Matched
from transect.effects.balance import GATE, balance
from transect.reports.records import Table

_TEXT: Final = (
    "This is an observation, not an experiment: the model sees images of two different people at once, in both orders. "
    "A preference is associated with the level. It may come from anything else in which the two images differ and "
    "that was not matched.",
    "A pair counts for a level where the model chooses its image in both orders (with several wordings: on average "
    "above one half in either order); a choice that follows the place, or is neither, counts for no level. Shares have "
    "exact intervals over pairs; pairs that share a person count as one. In the tables, a subject is such a pair.",
    "A finding is a share, among pairs of which a level was preferred, whose interval excludes one half and whose "
    "exact sign test holds (p of at most 5 %) when corrected for all pairs of levels (Holm). Levels are appearances, "
    "as an onlooker sees them. The share does not say how large a difference is.",
)


def shown(matched: Matched) -> str:
    """Which pairs these are."""
    n, people = len(matched.images), len(np.unique(matched.people))
    joined = "" if n == people else f", of which {n - people:,} share a person with another"
    alone = f"; on the images of {matched.alone:,} it is one person" if matched.alone else ""
    return f"{n:,} pairs of {matched.source} that differ in {words(matched.attribute)}{joined}{alone}"


def text(run: Run, matched: Matched) -> list[str]:
    """What was done, how it was counted, and which labels still differ within pairs."""
    apart = [name for name, smd, _ in _differences(run, matched) if not abs(smd) <= GATE]
    left = ", ".join(words(name) for name in apart)
    still = (
        f"Still apart within pairs (standardized mean difference above {GATE:g}): {left}."
        if left
        else f"No other label of the data set differs within pairs by a standardized mean difference above {GATE:g}."
    )
    return [*_TEXT, still + " What has no label could not be compared."]


def balanced(run: Run, matched: Matched) -> Table:
    """How far the labels differ within pairs, and in how many pairs."""
    rows = [[words(name), smd, share] for name, smd, share in _differences(run, matched)]
    heads = [("label", "text"), ("standardized mean difference, second less first level", "number")]
    return table("In what else the pairs differ", [*heads, ("pairs that differ in it", "proportion")], rows)


def _differences(run: Run, matched: Matched) -> list[tuple[str, float, float]]:
    first, second = matched.images[:, 0], matched.images[:, 1]
    others = [name for name in {**run.attributes, **run.held} if name != matched.attribute and name in run.true]
    values = {name: np.asarray(run.true[name], dtype=np.float64) for name in others}
    found = balance(values, np.unique(second), np.unique(first), (second, first))
    rows = []
    for each in found:
        a, b = values[each.covariate][first], values[each.covariate][second]
        known = np.isfinite(a) & np.isfinite(b)
        differ = float((a != b)[known].mean()) if known.any() else float("nan")
        rows.append((each.covariate, each.after.smd, differ))
    return rows

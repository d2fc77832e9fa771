"""Several targets on the same images: on how many they answer otherwise than the first, and how to compare them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from transect.analysis.sections.answers import Answers, table
from transect.reports.records import Section

_TEXT: Final = (
    "These targets saw the same images, and have the same truth. Which of them is better, on what, and by how much, "
    "says `transect compare` with the folder of this run: differences of rates and gaps, paired by subject."
)


def section(answer_sets: Sequence[Answers]) -> Section | None:
    """The section of one study, where targets with answers of yes or no share its truth; None where none do."""
    first, *others = answer_sets
    alike = [each for each in others if each.stated == first.stated and len(each.answers) == len(first.answers)]
    rows = [row for each in alike if (row := _row(first, each))]
    if not rows:
        return None
    heads = [("target", "text"), ("answered by both", "number"), ("answered otherwise", "number")]
    return Section(
        key="several_targets",
        study=first.study,
        title=f"Targets against the first, {first.target}",
        text=[_TEXT],
        tables=[table("Images on which targets answer otherwise than the first", heads, rows)],
    )


def _row(first: Answers, other: Answers) -> list[str | int] | None:
    both = np.isfinite(first.answers) & np.isfinite(other.answers)
    if not both.any():
        return None
    return [other.target, int(both.sum()), int((first.answers != other.answers)[both].sum())]

"""The verdicts of `results.json`: what the audit concludes about each attribute, and interactions that are findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from pydantic import Field

from transect.reports.entries import OfOutcome
from transect.reports.models import Count, Estimate, Model, Number

MOST: Final = 10
"""Verdicts in a terminal."""
ON_FIRST_SCREEN: Final = 4
"""Verdicts on the page before the rest, which is folded below."""
MARKS: Final = {
    "found": "▲",
    "unsized": "△",
    "not judged": "!",
    "cannot tell": "?",
    "no difference": "=",
    "not estimable": "–",
    "check": "✓",
}
"""The mark of each kind of verdict, in the order of the page; every shape is different, so color is never needed."""


def kind_of(verdict: str, *, check: bool, sized: bool = True) -> str:
    """The kind of a verdict: a check is one that was passed; one that failed stands with the other verdicts."""
    if verdict != "found":
        return verdict
    return "check" if check else "found" if sized else "unsized"


def kind_of_pair(low: float | None, high: float | None) -> str:
    """The kind of an interaction that was found, by its interval."""
    return "found" if low is not None and high is not None and (low > 0 or high < 0) else "unsized"


def doubted(rows: Iterable[tuple[str, str, str, str]]) -> dict[tuple[str, str], dict[str, int]]:
    """The attributes about which nothing is concluded, by target and reason, each with the place of its first row.

    rows: verdict, target, reason and attribute of every verdict.

    >>> doubted([("not judged", "m", "why", "hair"), ("found", "m", "", "hair"), ("not judged", "m", "why", "smile")])
    {('m', 'why'): {'hair': 0, 'smile': 2}}
    """
    about: dict[tuple[str, str], dict[str, int]] = {}
    for place, (verdict, target, reason, attribute) in enumerate(rows):
        if verdict == "not judged":
            about.setdefault((target, reason), {}).setdefault(attribute, place)
    return about


class VerdictEntry(OfOutcome):
    """What the audit concludes about one attribute and one outcome of a target."""

    attribute: str
    verdict: Literal["found", "not judged", "no difference", "cannot tell", "not estimable"]
    effect: Count | None = Field(description="index into effects: the one that the verdict rests on")
    check: bool = Field(description="the target is meant to react to the attribute")
    margin: Estimate = Field(description="differences up to it count as none, in the outcome's unit; null: none stated")
    low: Estimate = Field(description="lowest end of the 90 % intervals of all pairs of levels")
    high: Estimate = Field(description="highest end of the 90 % intervals of all pairs of levels")
    subjects_needed: Count | None = Field(
        default=None, description="subjects that can tell a difference of the margin from none; null where not known"
    )
    subjects_to_confirm: Count | None = Field(
        default=None,
        description="subjects that would find a difference as large as the one measured; null: not known, none needed",
    )
    reason: str = Field(default="", description="why nothing is estimable, or judged")
    sized: bool = Field(default=True, description="false: found, but the interval of the effect holds 0")
    text: str = Field(default="", description="the verdict in words, as the page has it")


class FoundInteraction(Model):
    """A significant interaction, with an interval that allows for its being picked."""

    interaction: Count = Field(description="index into interactions")
    low: Estimate
    high: Estimate
    confidence: Number
    text: str = Field(default="", description="the finding in words, as the page has it")

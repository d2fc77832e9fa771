"""The verdicts of `results.json`: what the audit concludes about each attribute, and interactions that are findings."""

from __future__ import annotations

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
    "not judged": "!",
    "cannot tell": "?",
    "no difference": "=",
    "not estimable": "–",
    "check": "✓",
}
"""The mark of each kind of verdict, in the order of the page; every shape is different, so color is never needed."""


def kind_of(verdict: str, *, check: bool) -> str:
    """The kind of a verdict: a check is one that was passed; one that failed stands with the other verdicts.

    >>> kind_of("found", check=True), kind_of("cannot tell", check=True)
    ('check', 'cannot tell')
    """
    return "check" if check and verdict == "found" else verdict


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
    reason: str = Field(default="", description="why nothing is estimable, or judged")
    text: str = Field(default="", description="the verdict in words, as the page has it")


class FoundInteraction(Model):
    """A significant interaction, with an interval that allows for its being picked."""

    interaction: Count = Field(description="index into interactions")
    low: Estimate
    high: Estimate
    confidence: Number
    text: str = Field(default="", description="the finding in words, as the page has it")

"""The answer of the page on raters: on which questions they agree, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from markupsafe import Markup

from transect.reports.blocks import Answer
from transect.reports.document import WrittenDocument

RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff's α from which answers count as reliable, and from which conclusions are tentative."""
MOST: Final = 6
"""Questions that the answer names; the tables have all."""
_TABLE: Final = "Agreement between raters"
_SOURCE: Final = (
    "α is Krippendorff's: 1 for full agreement, 0 for chance; of ordinal answers and of numbers, near answers agree in "
    "part. Raters agree reliably where the whole interval lies at 0.8 or above, well enough for tentative conclusions "
    "where it lies at 0.667 or above, and not enough where it lies below 0.667 (Krippendorff 2004). The intervals are "
    "for other subjects and these raters."
)


def agreement(doc: WrittenDocument, raters: str = "raters") -> Iterator[Answer]:
    """A sentence for each question that was asked of single images; nothing without one. raters: who they are."""
    places = [
        (section, f"{table}/rows/{row}")
        for section in doc.places("/sections")
        for table in doc.places(f"{section}/tables")
        if doc.value(f"{table}/title") == _TABLE
        for row in range(len(doc.value(f"{table}/rows")))
    ]
    if not places:
        return
    several = len({section for section, _ in places}) > 1
    sentences = [_sentence(doc, section if several else "", at, raters) for section, at in places[:MOST]]
    left = len(places) - MOST
    more = [f"{left} more {'question is' if left == 1 else 'questions are'} below."] if left > 0 else []
    yield Answer(sentences, (_SOURCE, *more))


def _sentence(doc: WrittenDocument, section: str, at: str, raters: str) -> Markup:
    """The row's columns: question, scale, equal pairs, α, its ends, median spread, note."""
    study = Markup(" ({})").format(doc.text(f"{section}/study")) if section else ""
    head = Markup("<b>{}</b>{}: ").format(doc.text(f"{at}/0"), study)
    alpha, low, high = (doc.value(f"{at}/{column}") for column in (3, 4, 5))
    if alpha is None:
        reason = doc.text(f"{at}/7") if doc.value(f"{at}/7") else "too few answers"
        return head + Markup("agreement cannot be estimated: {}.").format(reason)
    equal = Markup("{} % of pairs of answers are exactly equal").format(doc.number(f"{at}/2", "percent"))
    ends = Markup(", no interval")
    if low is not None:
        shown = doc.number(f"{at}/4", "fixed", 3), doc.number(f"{at}/5", "fixed", 3)
        ends = Markup(' <span class="range">({} to {}, 95 % interval)</span>').format(*shown)
    number, scale = doc.number(f"{at}/3", "fixed", 2), doc.text(f"{at}/1")
    said = verdict(low, high).format(raters)
    return head + Markup("{}. α of {} answers {}{}; {}.").format(said, scale, number, ends, equal)


def verdict(low: float | None, high: float | None) -> str:
    """What the interval of α, which is over subjects, says of the answers; {} is for who gave them."""
    if low is None or high is None:
        return "it is open whether {} agree"
    if low >= RELIABLE:
        return "{} agree reliably"
    if high < TENTATIVE:
        return "{} do not agree enough to rely on"
    if low >= TENTATIVE:
        return "{} agree well enough for tentative conclusions"
    return "it is open whether {} agree well enough; answers about more subjects would tell"

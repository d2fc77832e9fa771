"""What the answers took: texts sent, and tokens, as far as the model counts them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, table
from transect.reports.records import Section
from transect.said import Status

_TEXT: Final = (
    "Tokens are as the model or its interface counts them; an image counts as tokens, too. Sums are over texts whose "
    "tokens are counted, means over images with all texts counted. Calls and money of a model behind a web address are "
    "in the section on calls."
)


def section(answers: Answers, asked: Asked) -> Section:
    """The section on tokens."""
    every = [one for of_image in asked.said for one in of_image]
    uncounted = sum(one.tokens_sent is None or one.tokens_received is None for one in every)
    images = sum(map(bool, asked.said))
    rows: list[list[object]] = [
        ["images asked about", images, None],
        ["texts sent", len(every), len(every) / images if images else None],
        ["calls that failed", sum(one.status is Status.FAILED for one in every), None],
        ["texts whose tokens are not counted", uncounted, None],
        ["tokens sent", *_counted([[one.tokens_sent for one in of_image] for of_image in asked.said])],
        ["tokens received", *_counted([[one.tokens_received for one in of_image] for of_image in asked.said])],
    ]
    return Section(
        key="tokens",
        study=answers.study,
        target=answers.target,
        title="What the answers took",
        text=[_TEXT],
        tables=[table("Texts and tokens", [("what", "text"), ("in all", "count"), ("per image", "number")], rows)],
    )


def _counted(tokens: Sequence[Sequence[int | None]]) -> tuple[int | None, float | None]:
    """The sum of all known counts, and the mean per image whose counts are all known; None without any."""
    every = [one for of_image in tokens for one in of_image if one is not None]
    whole = [[one for one in of_image if one is not None] for of_image in tokens if of_image and None not in of_image]
    return sum(every) if every else None, sum(map(sum, whole)) / len(whole) if whole else None

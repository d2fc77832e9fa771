"""What the answers took: texts sent, and tokens, as far as the model counts them."""

from __future__ import annotations

from typing import Final

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, table
from transect.reports.records import Section
from transect.reports.wording import short_name
from transect.said import Status

_TEXT: Final = (
    "Tokens are as the model or its interface counts them; an image counts as tokens, too. Calls and money of a model "
    "behind a web address are in the section on calls."
)


def section(answers: Answers, asked: Asked) -> Section:
    """The section on tokens."""
    every = [one for of_image in asked.said for one in of_image]
    sent = [one.tokens_sent for one in every if one.tokens_sent is not None]
    received = [one.tokens_received for one in every if one.tokens_received is not None]
    images = sum(map(bool, asked.said))
    rows: list[list[object]] = [
        ["images asked about", images, None],
        ["texts sent", len(every), len(every) / images if images else None],
        ["calls that failed", sum(one.status is Status.FAILED for one in every), None],
        ["texts whose tokens are not counted", len(every) - len(sent), None],
        ["tokens sent", sum(sent), sum(sent) / images if images else None],
        ["tokens received", sum(received), sum(received) / images if images else None],
    ]
    return Section(
        key="tokens",
        study=answers.study,
        target=answers.target,
        title=f"What the answers took: {short_name(answers.target)}",
        text=[_TEXT],
        tables=[table("Texts and tokens", [("what", "text"), ("in all", "count"), ("per image", "number")], rows)],
    )

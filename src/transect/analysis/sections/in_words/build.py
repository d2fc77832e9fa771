"""The sections on one question that a model was asked in words, in the order of the page."""

from __future__ import annotations

from transect.analysis.sections.answers import Answers
from transect.analysis.sections.in_words import judged, options, places, prompts, refusals, said, tokens
from transect.reports.records import Section


def sections(answers: Answers) -> list[Section]:
    """What was said, and made of it by a judge, what was not answered, options, wordings, places, and tokens.

    None of a target that answers in numbers.
    """
    if answers.asked is None:
        return []
    parts = (said, judged, refusals, options, prompts, places, tokens)
    built = (part.section(answers, answers.asked) for part in parts)
    return [section for section in built if section is not None]

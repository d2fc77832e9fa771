"""The sections on one question that a model was asked in words, in the order of the page."""

from __future__ import annotations

from transect.analysis.sections.answers import Answers
from transect.analysis.sections.in_words import options, places, prompts, refusals, said, tokens
from transect.reports.records import Section


def sections(answers: Answers) -> list[Section]:
    """What was said, what was not answered, which options, whether wordings and places matter, and tokens.

    None of a target that answers in numbers.
    """
    if answers.asked is None:
        return []
    built = (part.section(answers, answers.asked) for part in (said, refusals, options, prompts, places, tokens))
    return [section for section in built if section is not None]

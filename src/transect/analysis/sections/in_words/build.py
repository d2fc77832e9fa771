"""The sections on one question that a model was asked in words, in the order of the page."""

from __future__ import annotations

from dataclasses import replace

from transect.analysis.sections.answers import Answers
from transect.analysis.sections.in_words import judged, options, places, prompts, refusals, said, tokens
from transect.reports.records import Section
from transect.reports.wording import short_name


def sections(answers: Answers) -> list[Section]:
    """What was said, and made of it by a judge, what was not answered, options, wordings, places, and tokens."""
    if answers.asked is None:
        return []
    parts = (said, judged, refusals, options, prompts, places, tokens)
    built = [part.section(answers, answers.asked) for part in parts]
    heading = f"Answers to {short_name(answers.target)}"
    found = (section for section in built if section is not None)
    return [replace(section, group=heading) for section in found]

"""Builds the sections of a report that follow from targets' answers, in the order of the page.

A section is built only where its studies have what it needs. `analysis/reporting.py` appends the sections that follow
from a run's folder: edits, canaries, required gates, ratings, raters, directions, interpolation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from transect.analysis.sections import (
    adjustment,
    associations,
    error_rates,
    rater_uncertainty,
    ratings,
    sensitivity,
    unanswered,
    verification,
)
from transect.analysis.sections import spoken_answers as in_words
from transect.analysis.sections.answers import Answers
from transect.reports.records import Section
from transect.runs.parts import stage


def build(answer_sets: Sequence[Answers]) -> list[Section]:
    """The sections of all targets of all studies, as entries of `results.json`."""
    targets = list(dict.fromkeys(answers.target for answers in answer_sets))
    sections: list[Section] = []
    for target in targets:
        stage(f"sections about {target}")
        of_target = [answers for answers in answer_sets if answers.target == target]
        sections += _of_target(of_target)
    for study in dict.fromkeys(answers.study for answers in answer_sets):
        if found := associations.several_targets_section(
            [answers for answers in answer_sets if answers.study == study]
        ):
            sections.append(found)
    plain = (
        [answers for answers in answer_sets if answers.target == targets[0] and not answers.steps] if targets else []
    )
    sections += [section for answers in plain if (section := associations.distribution_section(answers))]
    if (
        plain
        and any(not answers.design.levels for answers in plain)
        and (balance_section := associations.balance_section(plain))
    ):
        sections.append(balance_section)
    sections += [section for answers in plain if (section := associations.correlation_section(answers))]
    return _told_apart(sections)


def _told_apart(sections: Sequence[Section]) -> list[Section]:
    """The sections, the study in each title that several have."""
    counts = Counter((section.group, section.title) for section in sections)
    return [
        replace(section, title=f"{section.title}, {section.study}")
        if section.study and counts[section.group, section.title] > 1
        else section
        for section in sections
    ]


def _adjustable(answers: Answers) -> bool:
    """Whether errors are adjusted: those of images as they come, or by what was seen on images that were made."""
    return not answers.steps and answers.judged and bool(answers.perceived or not answers.design.levels)


def _of_target(answer_sets: Sequence[Answers]) -> list[Section]:
    sections: list[Section] = []
    if stepped := [answers for answers in answer_sets if answers.steps]:
        sections.append(sensitivity.section(stepped))
    plain = [answers for answers in answer_sets if not answers.steps]
    sections += [section for answers in plain for section in in_words.sections(answers)]
    sections += [section for answers in plain if (section := unanswered.section(answers))]
    sections += [section for answers in plain if (section := error_rates.condition_section(answers))]
    sections += [section for answers in plain if (section := verification.section(answers))]
    experiments = [answers for answers in plain if answers.design.levels]
    observations = [answers for answers in plain if not answers.design.levels]
    for experiment in experiments:
        sections += [associations.comparison_section(experiment, answers) for answers in observations]
    sections += [ratings.perceived_section(answers) for answers in experiments if answers.perceived]
    sections += [adjustment.section(answers) for answers in answer_sets if _adjustable(answers)]
    sections += [section for answers in plain if (section := ratings.people_section(answers))]
    sections += [section for answers in plain if (section := rater_uncertainty.section(answers))]
    sections += [section for answers in observations if (section := adjustment.confounding_section(answers))]
    sections += [section for answers in observations if (section := error_rates.attribute_section(answers))]
    sections += [error_rates.threshold_section(answers) for answers in plain if error_rates.has_section(answers)]
    return sections

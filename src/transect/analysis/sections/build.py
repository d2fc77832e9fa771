"""Builds the sections of a report in the order of the places that their functions declare."""

from __future__ import annotations

import json
import pkgutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from itertools import product
from pathlib import Path

from transect.analysis import sections as folder_of_sections
from transect.analysis.sections.answers import Answers
from transect.analysis.sections.places import PLACED, Placed, RunFindings, Scope
from transect.reports.records import Section
from transect.runs.parts import stage


@cache
def every_place() -> tuple[Placed, ...]:
    """All declared places, in order."""
    for module in pkgutil.iter_modules(folder_of_sections.__path__):
        import_module(f"{folder_of_sections.__name__}.{module.name}")
    return tuple(PLACED[at] for at in sorted(PLACED))


def _made(given: dict[Scope, list[tuple[object, ...]]]) -> list[Section]:
    """The sections of some scopes. given: by scope, what its functions are called with, one call after the other."""
    return [
        section
        for place in every_place()
        for arguments in given.get(place.scope, ())
        for section in place.sections(*arguments)
    ]


def build(answer_sets: Sequence[Answers]) -> list[Section]:
    """The sections that follow from the answers of all targets of all studies, as entries of `results.json`."""
    sections: list[Section] = []
    targets = list(dict.fromkeys(answers.target for answers in answer_sets))
    for target in targets:
        stage(f"sections about {target}")
        sections += _of_target([answers for answers in answer_sets if answers.target == target])
    names = dict.fromkeys(answers.study for answers in answer_sets)
    first = [answers for answers in answer_sets if answers.target == targets[0] and not answers.steps]
    about: dict[Scope, list[tuple[object, ...]]] = {
        "study": [([answers for answers in answer_sets if answers.study == name],) for name in names],
        "first": [(each,) for each in first],
        "all": [(first,)] if first else [],
    }
    return _told_apart([*sections, *_made(about)])


def _of_target(answer_sets: Sequence[Answers]) -> list[Section]:
    walks = [answers for answers in answer_sets if answers.steps]
    plain = [answers for answers in answer_sets if not answers.steps]
    experiments = [answers for answers in plain if answers.design.levels]
    observed = [answers for answers in plain if not answers.design.levels]
    return _made({
        "walks": [(walks,)] if walks else [],
        "answers": [(each,) for each in plain],
        "beside": list(product(experiments, observed)),
    })  # fmt: skip


def of_runs(folder: Path, runs: Sequence[RunFindings]) -> list[Section]:
    """The sections that follow from run folders: how attributes were set, then what is known of each run."""
    specs = {json.dumps(each.run.spec.generator.directions): each.run.spec for each in runs}
    sections = _made({"spec": [(spec,) for spec in specs.values()], "folder": [(folder,)]})
    return [*sections, *(section for each in runs for section in _made({"run": [(each,)]}))]


def _told_apart(sections: Sequence[Section]) -> list[Section]:
    """The sections, the study in each title that several have."""
    counts = Counter((section.group, section.title) for section in sections)
    return [
        replace(section, title=f"{section.title}, {section.study}")
        if section.study and counts[section.group, section.title] > 1
        else section
        for section in sections
    ]

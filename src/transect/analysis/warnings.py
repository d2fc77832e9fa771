"""What must be checked before a number is used: answers that hardly vary, guess or never change, and assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from transect.analysis.findings import Findings
from transect.analysis.sections.in_words import judged
from transect.analysis.trust import doubts
from transect.analysis.verdicts import AttributeVerdict
from transect.reports.wording import short_name
from transect.runs.spec import TargetEntry
from transect.runs.wording import spaced

_FIX: Final = "check --preprocess, --output, --threshold and --task"


def warnings_of(studies: Sequence[Findings], verdicts: Sequence[AttributeVerdict]) -> list[str]:
    """The warnings about the targets and the images of some studies, each once."""
    lines: list[str] = []
    for study in studies:
        for target in study.spec.targets:
            answers = next(each for each in study.answers if each.target == target.name)
            found = [*(f"{doubt.text}; {_FIX}." for doubt in doubts(answers)), *_assumed(target)]
            found += [] if answers.asked is None else judged.warnings(answers.asked)
            lines += [f"{short_name(target.name)}: {line}" for line in found]
    lines += _unread(studies)
    failed = [verdict for verdict in verdicts if verdict.check and verdict.verdict != "found"]
    lines += [
        f"{short_name(verdict.target)}: no effect of {spaced(verdict.attribute)} on the {verdict.outcome} was found, "
        f"although that is what it should react to; {_FIX}."
        for verdict in failed
    ]
    return list(dict.fromkeys(lines))


def _assumed(target: TargetEntry) -> Iterator[str]:
    """The preprocessing that the model does not state."""
    assumed = target.description.facts.get("assumed")
    if isinstance(assumed, list | tuple) and assumed:
        names = ", ".join(spaced(str(name)) for name in assumed)
        verb, pronoun = ("was", "it") if len(assumed) == 1 else ("were", "them")
        yield f"the {names} of its input {verb} assumed; state {pronoun} with --preprocess."


def _unread(studies: Sequence[Findings]) -> list[str]:
    """The varied attributes whose readability from the images was not measured, world by world."""
    unread: dict[str, dict[str, None]] = {}
    for study in studies:
        generator = study.spec.generator
        if generator.of_photographs:
            continue
        read = {reading.attribute for reading in study.spec.readings if reading.value is not None}
        names = {spaced(name): None for name in study.design.levels if name not in read}
        unread[generator.name] = unread.get(generator.name, {}) | names
    return [
        f"How well {', '.join(names)} can be read from the images of {world} was not measured: an effect may be small "
        "because a change is hard to see. Measure it with --check-attribute NAME=TARGET or --check-shipped."
        for world, names in unread.items()
        if names
    ]

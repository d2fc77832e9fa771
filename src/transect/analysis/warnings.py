"""What must be checked before a number is used: answers that hardly vary, guess or never change, and assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from transect.analysis.findings import Findings
from transect.analysis.sections import edit_validity
from transect.analysis.sections.in_words import judged
from transect.analysis.trust import doubts
from transect.analysis.verdicts import AttributeVerdict
from transect.experiment import photograph_edits
from transect.reports.records import Section
from transect.reports.wording import short_name
from transect.runs.spec import TargetEntry
from transect.runs.wording import counted, spaced

_SHOWN: Final = 3
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
    lines += [*_unread(studies), *_copies(studies)]
    failed = [verdict for verdict in verdicts if verdict.check and verdict.verdict != "found"]
    lines += [
        f"{short_name(verdict.target)}: no effect of {spaced(verdict.attribute)} on the {verdict.outcome} was found, "
        f"although that is what it should react to; {_FIX}."
        for verdict in failed
    ]
    return list(dict.fromkeys(lines))


def _copies(studies: Sequence[Findings]) -> Iterator[str]:
    """A line for each set of photographs in which pictures repeat."""
    for facts in (study.spec.generator.facts for study in studies):
        copies = facts.get("copies")
        if isinstance(copies, list | tuple) and copies:
            verb = "is the same picture" if len(copies) == 1 else "are the same pictures"
            yield (
                f"{facts['name']}: {counted(len(copies), 'photograph')} {verb} as another "
                f"({'; '.join(copies[:_SHOWN])}{'; …' if len(copies) > _SHOWN else ''}) and count as further subjects; "
                "intervals are too narrow. Remove the copies."
            )


def failed_edits(sections: Sequence[Section]) -> list[str]:
    """A line for each study in which most edited images fail the checks that were asked for."""
    several = len({section.study for section in sections if section.key == edit_validity.KEY}) > 1
    return [
        f"{section.study}: {line}" if several else line
        for section in sections
        if section.key == edit_validity.KEY
        for line in section.warnings
        if line.startswith(edit_validity.MOST_FAIL)
    ]


def _assumed(target: TargetEntry) -> Iterator[str]:
    """The preprocessing that the model does not state."""
    assumed = target.description.facts.get("assumed")
    if isinstance(assumed, list | tuple) and assumed:
        names = ", ".join(spaced(str(name)) for name in assumed)
        verb, pronoun = ("was", "it") if len(assumed) == 1 else ("were", "them")
        yield f"the {names} of its input {verb} assumed; state {pronoun} with --preprocess."


def _checked(study: Findings) -> set[str]:
    """The attributes that a target, or the network that ships, read from each image."""
    edits = study.spec.edits
    if edits is None:
        return set()
    return set(edits.attributes) | (set(photograph_edits.well_read()) if edits.shipped else set())


def _set_by_a_camera(study: Findings) -> set[str]:
    """Settings of a camera, which are computed on a photograph and need no reading."""
    return {attribute.name for attribute in study.attributes.values() if attribute.role == "nuisance"}


def _unread(studies: Sequence[Findings]) -> list[str]:
    """The varied attributes whose readability from the images was not measured, world by world."""
    unread: dict[str, dict[str, None]] = {}
    for study in studies:
        generator = study.spec.generator
        if generator.of_photographs:
            continue
        read = {reading.attribute for reading in study.spec.readings if reading.value is not None}
        read |= _checked(study)
        read |= _set_by_a_camera(study) if generator.edits_photographs else set()
        names = {spaced(name): None for name in study.design.levels if name not in read}
        unread[generator.name] = unread.get(generator.name, {}) | names
    return [
        f"How well {', '.join(names)} can be read from the images of {world} was not measured: an effect may be small "
        "because a change is hard to see. Measure it with --check-attribute NAME=TARGET or --check-shipped."
        for world, names in unread.items()
        if names
    ]

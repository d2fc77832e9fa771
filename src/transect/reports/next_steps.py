"""What to do next? By what was found, commands to copy; they run in the folder of the page."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

from markupsafe import Markup

from transect.effects.outcomes import OF_TRUTH
from transect.generators.photographs.attributes import NEUTRAL
from transect.reports.blocks import Block
from transect.reports.document import Document, Entry
from transect.reports.drawing.svg import joined, tag
from transect.reports.entries import VerdictEntry
from transect.reports.results import StudyEntry
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import spaced
from transect.targets.kinds import ships

MOST: Final = 4
_PLACE: Final = "The commands run in the folder of this page."
_OWN: Final = re.compile(r"\b[A-Z]{4,}\b")
HERE: Final = "The commands run where this page was made."
GATE: Final = "transect check {} --requirements requirements.toml"


@final
@dataclass(frozen=True, slots=True)
class Step:
    """What to do and the commands that do it."""

    words: str
    commands: Sequence[str]


def listed(steps: Sequence[Step], place: str = _PLACE) -> list[Block]:
    """The steps as a list to copy from; nothing without one."""
    if not steps:
        return []
    if any(_OWN.search(command) for step in steps for command in step.commands):
        place += " Replace words in capitals."
    items = [tag("li", tag("span", step.words) + joined(map(_code, step.commands))) for step in steps]
    heading = tag("h3", "What to do next") + tag("ol", joined(items)) + tag("p", place, class_="fine")
    return [tag("div", heading, class_="next")]


def gate(words: str, run: str = ".", **keys: object) -> Step:
    """To fail a build by one requirement on a run, of these keys."""
    table = ["[[require]]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items())]
    return Step(words, [f"printf '%s\\n' {shlex.join(table)} > requirements.toml", GATE.format(shlex.quote(run))])


def _code(command: str) -> Markup:
    """A command whose lines break between words, and not within an option."""
    words = (tag("span", word) if word.startswith("--") else word for word in command.split(" "))
    return tag("code", Markup(" ").join(words))


def next_steps(document: Document) -> list[Block]:
    """What to do about the verdicts of an audit."""
    return listed(list(_steps(document))[:MOST])


def _steps(document: Document) -> Iterator[Step]:
    verdicts: list[Entry[VerdictEntry]] = [row for row in document.entries("verdicts") if not row.row.check]
    first = {row.row.verdict: row for row in reversed(verdicts)}
    if doubted := first.get("not judged"):
        size = document.results.studies[document.study(doubted.row.study)].spec["generator"].get("image_size")
        shown = f" --size {size}" if size else ""
        command = f"transect targets check {model_word(doubted.row.target)}{shown}"
        yield Step("Check what the model receives and answers:", [command])
    yield from _looking(document)
    if found := first.get("found"):
        yield from _confirming(document, found.row)
    if unclear := first.get("cannot tell"):
        yield from _deciding(document, unclear)
    if gated := first.get("found", first.get("no difference")):
        yield from _gating(document, gated.row)


def model_word(target: str) -> str:
    """The target as a word of a command, where anybody has it."""
    return shlex.quote(target) if ships(target) else "MODEL"


def _looking(document: Document) -> Iterator[Step]:
    if any(_in_words(study) for study in document.results.studies):
        yield Step("Read what the model says:", ["transect view ."])
    elif document.results.gallery.failures_total:
        count = document.counted("/gallery/failures_total", "wrong or missing answer")
        wrong = any(row.outcome in OF_TRUTH and row.rate for row in document.results.rates)
        if wrong:
            yield Step("Look at the wrong answers:", ["transect view . --wrong"])
        else:
            yield Step(Markup("Look at the {}:").format(count), ["transect view ."])


def _in_words(study: StudyEntry) -> bool:
    return any("asked_in_words" in target.description for target in study.targets)


def _confirming(document: Document, found: VerdictEntry) -> Iterator[Step]:
    study = document.results.studies[document.study(found.study)]
    on = "--generator photographs:folder:PHOTOS --vary" if found.attribute in NEUTRAL else ""
    if GeneratorDescription(study.spec["generator"]).starts_from_photographs:
        words = "Check whether it holds on other photographs:"
    elif study.basis == "experimental":
        words, on = "Confirm it on your photographs:", on or "--dataset folder:PHOTOS --compare"
    else:
        words = f"Test whether {spaced(found.attribute)} itself is the cause:"
    if on:
        stated = next((each.truth for each in study.targets if each.name == found.target), None)
        more = f" --truth {shlex.quote(stated)}" if stated else ""
        more += " --questions QUESTIONS" if _in_words(study) else ""
        audit = f"transect audit {model_word(found.target)} {on} {shlex.quote(found.attribute)}{more}"
        yield Step(words, [f"{audit} --out ../photographs", "transect replicate . ../photographs"])


def _deciding(document: Document, unclear: Entry[VerdictEntry]) -> Iterator[Step]:
    row = unclear.row
    run = f"studies/{row.study}" if document.results.studies[1:] else "."
    if row.margin is None or row.subjects_needed is None:
        return
    text = Markup("Deciding on {} takes about {} subjects; plan for your own margin:")
    words = text.format(spaced(row.attribute), unclear.count("subjects_needed"))
    about = " ".join(f"--about {shlex.quote(word)}" for word in (row.attribute, row.outcome, row.target))
    yield Step(words, [f"transect plan --pilot {shlex.quote(run)} {about} --margin {row.margin:g}"])


def _gating(document: Document, gated: VerdictEntry) -> Iterator[Step]:
    if gated.margin is None:
        return
    studies = document.results.studies
    about = {"study": gated.study} if studies[1:] else {}
    if any(study.targets[1:] for study in studies):
        about["target"] = gated.target
    words = f"Fail the build when {spaced(gated.attribute)} makes a difference larger than the margin:"
    yield gate(words, **about, attribute=gated.attribute, outcome=gated.outcome, margin=gated.margin)

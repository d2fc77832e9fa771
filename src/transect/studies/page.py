"""The page of a study: its steps with links to their pages, what people must do, the paper's figures beside ours."""

from __future__ import annotations

import os
from pathlib import Path

from markupsafe import Markup

from transect.reports import builder
from transect.reports.blocks import Answer, Block, Folded, Page, Paragraph, Part, TextTable, summary
from transect.reports.drawing.svg import tag
from transect.studies.result import StudyNumbers, StudyResult, StudyStep, ours_of

_READ = (
    "A figure of a small profile, of simulated raters, or of another generator or model need not equal the published "
    "one: it shows that the protocol runs, and where its figure comes from."
)


def write(numbers: StudyNumbers, folder: Path) -> Path:
    """Write study.html and study.json into the folder; return the page's path."""
    return builder.write(page(numbers, folder), folder / "study.html", numbers)


def page(numbers: StudyNumbers, folder: Path) -> Page:
    """What the page shows. folder: where it will lie, which links are relative to."""
    result = StudyResult(numbers)
    parts = [summary(Answer((result.headline(),), (f"Paper: {numbers.paper}",)), *_to_do(numbers))]
    parts.append(Part("steps", "Steps", (_steps(numbers, folder), _commands(numbers))))
    if numbers.claims:
        parts.append(
            Part("claims", "The paper's figures, and those of this study", (_claims(numbers), Paragraph(_READ, "fine")))
        )
    return Page(numbers.study, parts)


def _to_do(numbers: StudyNumbers) -> list[Block]:
    waits = numbers.waits_for
    if waits is None:
        return []
    lines = Markup("").join(tag("pre", line) for line in (*waits.lines, numbers.resume))
    return [Paragraph(f"Step {waits.step} waits for {waits.missing}. Have people rate, then rerun:", "notice"), lines]


def _steps(numbers: StudyNumbers, folder: Path) -> TextTable:
    rows = [[f"{step.number}. {step.name}", step.does, _state(step), _link(step, folder)] for step in numbers.steps]
    return TextTable("Steps", ("step", "what it does", "state", "page"), rows)


def _state(step: StudyStep) -> str:
    return f"{step.state}: {step.note}" if step.note else step.state


def _link(step: StudyStep, folder: Path) -> str:
    if not step.page:
        return ""
    return tag("a", Path(step.page).name, href=Path(os.path.relpath(step.page, folder)).as_posix())


def _commands(numbers: StudyNumbers) -> Folded:
    lines = [step for step in numbers.steps if step.state != "left out"]
    return Folded(
        "The command of each step", [tag("pre", f"# {step.name}\n{step.command}") for step in lines], long=True
    )


def _claims(numbers: StudyNumbers) -> TextTable:
    rows = [[claim.about, claim.published, ours_of(claim), claim.note, claim.step] for claim in numbers.claims]
    return TextTable("Figures", ("figure", "paper", "here", "", "step"), rows, numbers={2})

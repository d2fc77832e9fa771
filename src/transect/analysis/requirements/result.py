"""The result of a check of requirements, and the files for other programs: JUnit XML, a summary, a badge."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final
from xml.etree import ElementTree

from markupsafe import Markup, escape

from transect.analysis.reporting import CHECKS
from transect.analysis.requirements import judging
from transect.analysis.requirements.records import Checked, Requirement
from transect.effects.verdicts import Status
from transect.records import Estimate
from transect.reports.answer_picture import Judged, mark_of, picture, valued
from transect.reports.blocks import Block
from transect.reports.columns import Column, Table, shown
from transect.reports.document import breakable
from transect.reports.wording import short_name
from transect.runs import working_folders
from transect.runs.folder import write_atomically, write_json
from transect.runs.json_records import plain
from transect.runs.wording import counted
from transect.texts import one_line, say

MARKS: Final[dict[Status, str]] = {"met": "✓", "violated": "✗", "not shown": "?"}
_NOT_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COLORS: Final[dict[Status, str]] = {"met": "#2a6f4e", "violated": "#a3300f", "not shown": "#6b6f76"}


def overall(rows: Sequence[Checked]) -> Status:
    """Violated where one requirement is; else not shown where one is not; else met."""
    found = {row.status for row in rows}
    return "violated" if "violated" in found else "not shown" if "not shown" in found else "met"


def summary(rows: Sequence[Checked]) -> str:
    """How many requirements are met, violated and not shown."""
    if not rows:
        return "no requirement was checked"
    counts = {status: sum(row.status == status for row in rows) for status in MARKS}
    said = [f"{number} {status}" for status, number in counts.items() if number]
    return f"{counted(len(rows), 'requirement')}: {', '.join(said)}"


def junit_xml(rows: Sequence[Checked], suite: str) -> str:
    """JUnit XML, a test case each: a violated requirement is a failure, one that is not shown an error."""
    tally = {status: sum(row.status == status for row in rows) for status in MARKS}
    top = ElementTree.Element("testsuites")
    attributes = {"name": suite, "tests": len(rows), "failures": tally["violated"], "errors": tally["not shown"]}
    node = ElementTree.SubElement(top, "testsuite", {key: _xml(str(value)) for key, value in attributes.items()})
    for row in rows:
        case = ElementTree.SubElement(node, "testcase", {"name": _xml(row.name), "classname": _xml(row.target)})
        if row.status != "met":
            kind = "failure" if row.status == "violated" else "error"
            ElementTree.SubElement(case, kind, {"type": row.status, "message": _xml(row.text)}).text = _xml(row.text)
        else:
            ElementTree.SubElement(case, "system-out").text = _xml(row.text)
    ElementTree.indent(top)
    return ElementTree.tostring(top, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """The text without what XML 1.0 cannot hold."""
    return _NOT_XML.sub("", one_line(text))


def markdown(rows: Sequence[Checked]) -> str:
    """A GitHub step summary: how many, and a table with a row for each requirement."""
    lines = [f"### Bias requirements: {overall(rows)}", "", summary(rows), ""]
    lines += ["| | requirement | model | what the run shows |", "| --- | --- | --- | --- |"]
    for row in rows:
        cells = [f"{MARKS[row.status]} {row.status}", *map(_cell, (row.name, row.target, row.text))]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A text that cannot leave its cell or become markup."""
    plain = "".join(f"\\{sign}" if sign in "\\`*_[]~" else sign for sign in one_line(text))
    return str(escape(plain)).replace("|", "&#124;")


def badge_svg(rows: Sequence[Checked]) -> str:
    """An SVG badge: "bias" and the overall status."""
    status = overall(rows)
    left, right = 38, 12 + 7 * len(status)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="bias: {status}"><title>bias: {status}</title>'
        f'<rect width="{left}" height="20" fill="#444b57"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLORS[status]}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2:g}" y="14">bias</text><text x="{left + right / 2:g}" y="14">{status}</text></g></svg>\n'
    )


_EXIT_CODES: Final[dict[Status, int]] = {"met": 0, "violated": 1, "not shown": 4}
STEP_SUMMARY: Final = "GITHUB_STEP_SUMMARY"


@final
@dataclass(frozen=True, slots=True)
class CheckNumbers:
    """The run that was checked, the status of all requirements together, and each of them."""

    run: str
    status: Status
    requirements: tuple[Checked, ...]

    @property
    def exit_code(self) -> int:
        """0 where all are met, 1 where one is violated, 4 where one is not shown."""
        return _EXIT_CODES[self.status]


def requirements_table(rows: Sequence[Checked]) -> Table[Checked]:
    """A row per requirement and model: status, requirement, model and what the run shows."""
    return Table("Requirements", rows, _COLUMNS)


def requirements_picture(rows: Sequence[Checked]) -> list[Block]:
    """Each requirement as a dot, up to the value that it is below with 95 % confidence; the limit of each is 1."""
    judged = [_judged(row) for status in ("violated", "not shown", "met") for row in rows if row.status == status]
    return picture(judged, dict(zip(MARKS, MARKS, strict=True)), _AXIS, "within the limit")


_AXIS: Final = "What was found, up to its upper 95 % limit, by what is required"


def _judged(row: Checked) -> Judged:
    size, upper = (end / row.limit if row.limit else math.nan for end in (row.estimate, row.upper))
    return Judged(
        verdict=row.status,
        about=row.name,
        detail=Markup("{}: {}").format(breakable(short_name(row.target)), row.text.partition(";")[0]),
        value=valued(f"{shown(size, 'number')} ×", "the limit"),
        mark=mark_of(Estimate(size, size, upper)),
        unit="times the limit",
        margin=1.0,
        said=row.text,
        sized=True,
    )


_COLUMNS: Final[Sequence[Column[Checked]]] = (
    Column("status", lambda row: f"{MARKS[row.status]} {row.status}"),
    Column("requirement", "name"),
    Column("model", "target"),
    Column("what the run shows", "text"),
)


def check_run(folder: Path, requirements: Sequence[Requirement]) -> CheckNumbers:
    """Judge the requirements on a finished run and store what was found in it as checks.json."""
    judge = judging.judge_other_job if judging.numbers_in(folder) else judging.judge
    rows = judge(folder, requirements)
    numbers = CheckNumbers(working_folders.name_of(folder), overall(rows), rows)
    write_json(folder / CHECKS, plain(numbers))
    return numbers


def write_outputs(
    numbers: CheckNumbers,
    *,
    junit: str | Path | None = None,
    summary: str | Path | None = None,
    badge: str | Path | None = None,
) -> None:
    """Write JUnit XML, a Markdown summary and a badge where a path is given; the summary also for GitHub."""
    rows = numbers.requirements
    texts = ((junit, junit_xml(rows, numbers.run)), (summary, markdown(rows)), (badge, badge_svg(rows)))
    for place, text in texts:
        if place is not None:
            path = Path(place)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
    if step := os.environ.get(STEP_SUMMARY):
        try:
            with Path(step).open("a", encoding="utf-8") as file:
                file.write(markdown(rows))
        except OSError as error:
            say(f"the step summary {step} cannot be written ({error.strerror})", error=True)

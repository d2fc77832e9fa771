"""Checked requirements as other programs read them: JUnit XML, a GitHub step summary, a badge."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from markupsafe import escape

from transect.analysis.requirements.records import Checked
from transect.effects.requirements import Status
from transect.runs.wording import counted
from transect.texts import one_line

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


def junit(rows: Sequence[Checked], suite: str) -> str:
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


def badge(rows: Sequence[Checked]) -> str:
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

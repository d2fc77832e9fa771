"""Pages and terminals as a whole: every word that a reader sees, kept in tests/snapshots."""

import json
import re

import numpy as np
import pytest
from canonical import audit_result
from report_factory import make_gallery, make_results

from snapshots import page_text, sections_text
from transect.analysis.audit_result import AuditNumbers, AuditResult
from transect.analysis.sections.associations import matrix_table
from transect.reports import build, write
from transect.reports.records import Section
from transect.runs.json_records import plain


@pytest.mark.integration
def test_the_page_of_an_audit(snapshot):
    snapshot("report-page", page_text(build(make_results(), make_gallery())))


def test_the_terminal_of_an_audit(snapshot, tmp_path):
    write(make_results(), make_gallery(), tmp_path)
    result = AuditResult(AuditNumbers(()), tmp_path, json.loads((tmp_path / "results.json").read_text()))
    headings, rows = result.rows()
    snapshot(
        "report-terminal", "\n".join([result.headline(), *result.verdict_lines(), *map(" | ".join, [headings, *rows])])
    )


@pytest.mark.parametrize("name", ["words", "whole"])
def test_what_sections_say(canonical, snapshot, name):
    """Of an audit in words, and of one with experiment, walk, photographs, ratings and rules."""
    snapshot(f"sections-of-{name}", sections_text(audit_result(canonical(name)).results))


def test_cells_of_a_matrix_are_colored_by_their_sign():
    """A cell is half as dark as its number is large, and of the other color below 0."""
    matrix = matrix_table("Correlations", ("age", "smile"), np.array([[1.0, -0.5], [-0.5, 0.0]]))
    section = Section(key="m", title="Together", text=[], tables=[matrix])
    page = build({**make_results(), "sections": [plain(section)]}, make_gallery())
    cells = re.findall(r'class="n heat( below)?" style="--shade:([\d.]+)"', page)
    assert cells == [("", "0.5"), (" below", "0.25"), (" below", "0.25"), ("", "0.0")]

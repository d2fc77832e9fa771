"""Pages and terminals as a whole: every word that a reader sees, kept in tests/snapshots."""

import json

import pytest
from canonical import audit_result
from report_factory import make_gallery, make_results

from snapshots import page_text, sections_text
from transect.analysis.audit_result import AuditNumbers, AuditResult
from transect.reports import build, write


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

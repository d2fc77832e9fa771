"""`transect.check`: a finished run, judged by requirements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from transect.analysis.requirements import records
from transect.analysis.requirements.records import Requirement
from transect.analysis.requirements.result import CheckResult, check_run, write_outputs
from transect.runs import working_folders


def check(
    folder: str | Path,
    requirements: str | Path | Requirement | Sequence[Requirement],
    *,
    junit: str | Path | None = None,
    summary: str | Path | None = None,
    badge: str | Path | None = None,
) -> CheckResult:
    """Judge a finished run by requirements: each is met, violated, or not shown because there are too few subjects.

    folder: a run folder of an audit (or one of several studies), of a recognition benchmark or of a leakage analysis;
    or an address of one, as "s3://bucket/path".
    requirements: a TOML file with tables [[require]], or records. junit, summary, badge: files for JUnit XML, a
    Markdown summary and an SVG badge. The run folder keeps what was found as checks.json.

    Returns the status of each, and of all together (`numbers.status`). A requirement is met only where the data show
    it: at a true difference of exactly the limit it passes in at most 5 % of runs.

    Raises BadInput or UnknownName for a folder without a finished run, or a requirement that does not fit it.
    """
    if isinstance(requirements, str | Path):
        chosen: Sequence[Requirement] = records.read(requirements)
    else:
        chosen = [requirements] if isinstance(requirements, Requirement) else requirements
    result = check_run(working_folders.opened(folder), chosen)
    files = {"junit_file": junit, "summary_file": summary, "badge_file": badge}
    write_outputs(result, **{name: None if path is None else Path(path) for name, path in files.items()})
    return result

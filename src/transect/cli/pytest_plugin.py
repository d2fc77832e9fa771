"""The pytest plugin: the fixture `transect`, with which a test requires that a model treats levels alike.

    def test_bias(transect):
        transect.require(model, "skin_tone", outcome="miss", margin=0.02, truth="face")

pytest finds it by itself where Transect is installed. `--transect-runs DIR` keeps the runs, which then resume.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, final

import pytest

if TYPE_CHECKING:
    from transect.analysis.requirements.records import Checked, Requirement
    from transect.experiment.audit_request import AuditRequest
    from transect.protocols import TargetLike


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option `--transect-runs`."""
    parser.getgroup("transect").addoption(
        "--transect-runs", metavar="DIR", default=None, help="keep the runs of bias tests in DIR, so that they resume"
    )


@final
class BiasTests:
    """Runs the audits of one test, one for each requirement, and keeps their run folders in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._audits = 0

    def require(
        self,
        model: TargetLike,
        attribute: str = "",
        *,
        outcome: str = "",
        margin: float | None = None,
        max_rate: float | None = None,
        by: str | Sequence[str] = (),
        no_worse_than: str | Path | None = None,
        truth: str | Sequence[str] = (),
        subjects: int | None = None,
        not_shown: Literal["fail", "skip"] = "fail",
        request: AuditRequest | None = None,
    ) -> tuple[Checked, ...]:
        """Audit the model and fail the test where the requirement is violated, or not shown.

        model: a spec string, a function of uint8 pixels [n, h, w, 3] or an object with `predict`. attribute: it is
        varied, and its levels are compared, all or those stated ("skin_tone=1,10"); by: these are varied, and every
        group's rate is limited. outcome, margin,
        max_rate, no_worse_than: as in a table [[require]]. truth, subjects: as of an audit, by default those of the
        request. not_shown: whether too few subjects fail the test or skip it. request: all further settings.

        Returns what the run says about the requirement. Wrong settings fail the test with one line.
        """
        from transect.analysis.requirements.records import Requirement, named
        from transect.analysis.requirements.result import check_run
        from transect.errors import TransectError
        from transect.runs.table_inputs import as_names

        baseline = None if no_worse_than is None else Path(no_worse_than)
        varied = [attribute] if attribute else list(as_names(by))
        asked = Requirement(
            attribute=_bare(attribute),
            outcome=outcome,
            by=tuple(map(_bare, as_names(by))),
            margin=margin,
            max_rate=max_rate,
            no_worse_than=baseline,
        )
        try:
            ((_, requirement),) = named([asked])
            run = self._audit(model, requirement, varied, truth, subjects, request)
            rows = check_run(run, [requirement]).numbers.requirements
        except TransectError as error:
            pytest.fail(str(error), pytrace=False)
        _conclude(rows, run, not_shown)
        return rows

    def _audit(
        self,
        model: TargetLike,
        requirement: Requirement,
        varied: Sequence[str],
        truth: str | Sequence[str],
        subjects: int | None,
        request: AuditRequest | None,
    ) -> Path:
        """The folder of an audit that varies these attributes, unless the request says what to vary."""
        import transect
        from transect.errors import BadInput
        from transect.experiment.audit_request import AuditRequest, with_settings

        whole = request or AuditRequest()
        levels = [text for text in varied if "=" in text]
        if levels and whole.vary:
            raise BadInput(f"{levels[0]}: expected levels here or in the request's vary, got both; leave one out")
        counted = [requirement.outcome] if requirement.outcome else []
        stated = {
            "vary": whole.vary or varied,
            "truth": truth or whole.truth,
            "outcomes": whole.outcomes or counted,
            "subjects": whole.subjects if subjects is None else subjects,
        }
        place = self.folder / f"audit-{self._audits}"
        self._audits += 1
        return transect.audit(model, with_settings(whole, stated), out=place, quiet=True).folder


def _bare(text: str) -> str:
    """The attribute that a text names, without its levels."""
    return text.partition("=")[0].strip()


def _conclude(rows: Sequence[Checked], run: Path, not_shown: str) -> None:
    for status in ("violated", "not shown"):
        found = [f"{row.name} ({row.target}) is {status}: {row.text}" for row in rows if row.status == status]
        if found:
            message = "\n".join([*found, f"report: {run / 'report.html'}"])
            if status == "not shown" and not_shown == "skip":
                pytest.skip(message)
            pytest.fail(message, pytrace=False)


@pytest.fixture
def transect(request: pytest.FixtureRequest, tmp_path: Path) -> BiasTests:
    """Requires of a model that levels of an attribute are treated alike: `transect.require(…)`."""
    kept = request.config.getoption("--transect-runs")
    if kept is None:
        return BiasTests(tmp_path / "transect")
    from transect.runs.folder import slug

    return BiasTests(Path(kept) / slug(request.node.nodeid))

"""Audit OpenCV's stock face and smile detectors on rendered faces, in about a minute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, final

import typer

from transect.analysis import reporting
from transect.analysis.audit_result import AuditResult
from transect.console.options import Json, with_options
from transect.console.results import show
from transect.experiment import audit_studies, study
from transect.experiment.audit_request import AuditRequest, RunSettings, with_settings
from transect.experiment.edits import EditCheck
from transect.job import Option
from transect.options import asked
from transect.protocols import Target
from transect.runs.folder import mark_finished, mark_unfinished
from transect.runs.layout import STUDIES
from transect.runs.locks import refuse_links_in
from transect.runs.parts import announcing_stages

RESUMES_FROM: Final = "finished parts"
SMILE_NEIGHBORS: Final = 20
"""As the smile cascade is commonly used: with the detectors' default of 3 it says yes to almost every face."""


@final
@dataclass(frozen=True)
class Demo:
    """OpenCV's face cascade over skin tone, light and glasses, and its smile cascade over smile and beard."""

    out: Annotated[Path, Option("The folder of the report and its studies.")] = Path("runs/demo")
    subjects: Annotated[int, Option("Subjects of each study; fewer take less time and show less.")] = 150
    seed: Annotated[int, Option("Random seed; the same seed gives the same subjects.")] = 0

    def result(self) -> AuditResult:
        """The report of both studies, written."""
        for name, (target, request) in self._requests().items():
            (designed,), _ = audit_studies.designs(request, [target])
            (part,) = audit_studies.complete([designed], request, [target], EditCheck())
            place = self.out / STUDIES / name
            refuse_links_in(self.out, place)
            study.run(replace(part, name=name), place)
            mark_unfinished(self.out)
            study.run_control(replace(part, name=name), place)
        mark_finished(self.out)
        with announcing_stages():
            return reporting.report(self.out)

    def _requests(self) -> Mapping[str, tuple[Target, AuditRequest]]:
        """By name of the study, its target and what is asked of it."""
        from transect.targets import resolve

        shared = AuditRequest(subjects=self.subjects, seed=self.seed, run=RunSettings(out=self.out))
        shared = with_settings(shared, {"image_size": 96})
        face = resolve("opencv:haarcascade_frontalface_default")
        smile = resolve("opencv:haarcascade_smile", min_neighbors=SMILE_NEIGHBORS)
        vary = ["skin_tone=1:10:3", "light_level=-6:0:3", "glasses=none,thick frame"]
        return {
            "face": (face, replace(shared, vary=vary, truth="face")),
            "smile": (smile, replace(shared, vary=["smile=0,1", "facial_hair=0,1"], truth="smile>0.5")),
        }


@with_options(Demo)
def command(context: typer.Context, json: Json = False, **given: object) -> None:  # noqa: ARG001  (as all commands)
    """As the record."""
    result = asked(Demo, given).result()
    show(result, json, *result.blocks(), page=result.page)

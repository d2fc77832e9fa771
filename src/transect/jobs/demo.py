"""Audit OpenCV's stock face and smile detectors on rendered faces, in about a minute."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from transect.analysis import reporting
from transect.analysis.audit_result import AuditResult
from transect.console.options import Json
from transect.console.results import show
from transect.experiment import audit_studies, study
from transect.experiment.audit_request import AuditRequest, RunSettings, with_settings
from transect.experiment.edits import EditCheck
from transect.runs.folder import mark_finished, mark_unfinished
from transect.runs.layout import STUDIES
from transect.runs.locks import refuse_links_in
from transect.runs.parts import announcing_stages

SMILE_NEIGHBORS: Final = 20
"""As the smile cascade is commonly used: with the detectors' default of 3 it says yes to almost every face."""


def demo(out: Path, *, subjects: int = 150, seed: int = 0, device: str = "cpu", quiet: bool = False) -> AuditResult:
    """The main job: OpenCV's face cascade over skin tone, light and glasses; its smile cascade over smile and beard."""
    from transect.targets import resolve

    shared = AuditRequest(subjects=subjects, seed=seed, run=RunSettings(out=out))
    shared = with_settings(shared, {"image_size": 96, "device": device})
    face = resolve("opencv:haarcascade_frontalface_default")
    smile = resolve("opencv:haarcascade_smile", min_neighbors=SMILE_NEIGHBORS)
    vary = ["skin_tone=1:10:3", "light_level=-6:0:3", "glasses=none,thick frame"]
    requests = {
        "face": (face, replace(shared, vary=vary, truth="face")),
        "smile": (smile, replace(shared, vary=["smile=0,1", "facial_hair=0,1"], truth="smile>0.5")),
    }
    for name, (target, request) in requests.items():
        (designed,), _ = audit_studies.designs(request, [target])
        (part,) = audit_studies.complete([designed], request, [target], EditCheck())
        place = out / STUDIES / name
        refuse_links_in(out, place)
        study.run(replace(part, name=name), place, quiet=quiet)
        mark_unfinished(out)
        study.run_control(replace(part, name=name), place, quiet=quiet)
    mark_finished(out)
    with announcing_stages(quiet=quiet):
        return reporting.report(out)


def command(
    out: Annotated[Path, typer.Option(help="The folder of the report and its studies.")] = Path("runs/demo"),
    subjects: Annotated[int, typer.Option(help="Subjects of each study; fewer take less time and show less.")] = 150,
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same subjects.")] = 0,
    device: Annotated[str, typer.Option(help="Where images are computed: cpu, cuda, cuda:1, …")] = "cpu",
    json: Json = False,
) -> None:
    """As the function."""
    result = demo(out, subjects=subjects, seed=seed, device=device)
    show(result, json, *result.blocks(), page=result.page)

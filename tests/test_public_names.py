"""The public names: each can be imported, and a user's typed calls pass mypy --strict against the installed package."""

import inspect
import subprocess
import sys

import pytest
from places import ROOT

import transect

JOBS = (
    "audit", "plan", "render", "search", "match", "neighbours", "recognition", "leakage", "mitigate", "invert",
    "fit_directions", "train_gan", "train_encoder", "train_classifier", "verify", "report", "open_run",
)  # fmt: skip


@pytest.mark.parametrize("name", transect.__all__)
def test_a_public_name_is_there(name):
    assert getattr(transect, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    assert not hasattr(transect, "audits")


def test_no_folder_has_the_name_of_a_function():
    """Importing a module of that folder would put the folder in the function's place."""
    folders = {path.name for path in (ROOT / "src" / "transect").iterdir() if path.is_dir()}
    assert not folders & set(JOBS)


@pytest.mark.parametrize("name", JOBS)
def test_a_job_takes_at_most_twelve_typed_arguments(name):
    signature = inspect.signature(getattr(transect, name))
    assert len(signature.parameters) <= 12
    assert all(each.annotation is not inspect.Parameter.empty for each in signature.parameters.values())
    assert signature.return_annotation is not inspect.Signature.empty


USER = """
from pathlib import Path

import numpy as np
import transect
from transect import AuditRequest, Limits, ModelSettings, WorldSettings


def brightness(pixels: np.ndarray) -> np.ndarray:
    return np.asarray(pixels.mean(axis=(1, 2, 3)) / 255)


request = AuditRequest(
    vary={"skin_tone": (1, 10), "glasses": None},
    model=ModelSettings(threshold=0.4),
    limits=Limits(timeout=5.0),
    world=WorldSettings(population="celebrity-like"),
)
audited = transect.audit(brightness, request, subjects=8, out="runs/a")
audited = transect.audit(["opencv:haarcascade_smile", brightness], vary=["glasses"], out=Path("runs/b"))
estimate: float = audited.effects[0].estimate
page: Path = audited.report("pages")
cost: float | None = transect.audit_cost(brightness, request).cost
rows: int = transect.open_run("runs/a").images.num_rows
again = transect.report("runs/a", correction="max-t", shares=["clinic.csv"])
subjects: int = transect.plan(0.05, 0.1, power=0.8).numbers.subjects
images: int = transect.render("sheet.png", subjects=4, vary=["glasses"]).numbers.images
"""

WRONG = """
import transect

transect.audit("opencv:haarcascade_smile", subjects="8")
transect.plan("0.05", 0.1)
transect.render("sheet.png", size=4)
transect.nothing("runs/a")
transect.open_run("runs/a").pictures
"""


def test_a_users_file_passes_mypy_strict_and_wrong_calls_do_not(tmp_path):
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "user.py", "wrong.py"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    places = [line.split(" ")[0] for line in done.stdout.splitlines() if " error: " in line]
    assert places == [f"wrong.py:{line}:" for line in (4, 5, 6, 7, 8)], done.stdout

"""What raters saw as an attribute of the report: from the command line's names to the run folder and the page."""

import auditing
import pytest
from rating_files import csv

import transect
from transect.analysis import finished_run
from transect.errors import UnknownName
from transect.runs import report_options
from transect.runs.report_options import ReportSettings
from transect.targets import as_target

SUBJECTS = 6
IDS = [f"{subject}-{cell:04d}" for subject in range(SUBJECTS) for cell in range(2)]
AUDIT = {"vary": ["earrings"], "subjects": SUBJECTS, "image_size": 32, "control": False, "quiet": True}


def by_light(pixels):
    return [float(image.mean() > 110) for image in pixels]


@pytest.fixture(scope="module")
def target():
    return as_target(by_light, name="light", task="binary")


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Two raters; subjects 0 to 2 look female, 3 to 5 male."""
    gender = [float(subject >= 3) for subject in range(SUBJECTS) for _ in range(4)]
    ids = [image for image in IDS for _ in range(2)]
    path = tmp_path_factory.mktemp("rated") / "answers.csv"
    fake = [0.25, 0.5] * len(IDS)
    return csv(path, id=ids, rater=["a", "b"] * len(IDS), gender=gender, fakeness=fake)


@pytest.fixture(scope="module")
def run(target, tmp_path_factory):
    return auditing.audit(target, out=tmp_path_factory.mktemp("seen") / "run", **AUDIT).folder


@pytest.mark.integration
def test_ratings_are_attributes_of_a_report(run, answers):
    settings = ReportSettings(by=["gender", "earrings"], bins=["gender=0.5"], covariates=["perceived_gender"])
    made = transect.report(run, ratings=answers, reference="gender>=0.5", settings=settings, quiet=True)
    counting = finished_run.counting(finished_run.runs_in(run), report_options.read(run))
    assert counting.by == ("perceived_gender", "earrings")
    assert counting.bins == {"perceived_gender": (0.5,)}
    assert counting.covariates == ("gender",)
    sections = {each["key"]: each for each in made.results["sections"]}
    groups = {row[0]: row[5] for row in sections["errors"]["tables"][0]["rows"]}
    assert groups["perceived gender: [0, 0.5)"] == groups["perceived gender: [0.5, 1]"] == SUBJECTS
    assert groups["perceived gender [0.5, 1], earrings on"] == SUBJECTS / 2
    levels = {row[0].split(":")[0] for row in sections["adjustment"]["tables"][0]["rows"]}
    assert levels == {"gender"}
    assert sections["distributions"]["title"] == "Attributes by perceived gender × earrings"
    again = transect.report(run, quiet=True)
    assert again.results["sections"] == made.results["sections"], "all is stored with the run"


def test_an_audit_with_ratings_takes_their_names_at_once(target, answers, tmp_path):
    made = auditing.audit(target, out=tmp_path / "run", ratings=answers, by=["gender"], bins=["gender=0.5"], **AUDIT)
    counting = finished_run.counting(finished_run.runs_in(made.folder), report_options.read(made.folder))
    assert counting.by == ("perceived_gender",)
    assert counting.bins == {"perceived_gender": (0.5,)}
    with pytest.raises(UnknownName, match="unknown attribute 'gendre'"):
        auditing.audit(target, out=tmp_path / "none", ratings=answers, by=["gendre"], **AUDIT)
    assert not (tmp_path / "none").exists()

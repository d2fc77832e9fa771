"""`transect.annotate` in Python: a project of a run, answers in, figures out."""

import json
import shutil

import audited
import auditing
import pytest
from published import fits

import transect
from transect.errors import BadInput
from transect.jobs.annotate import same_person

pytest.importorskip("sqlalchemy")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("api") / "run"
    options = {"image_size": 32, "quiet": True, "control": False}
    auditing.audit(audited.brightness, vary=["face_shape=0:1:2"], subjects=3, out=folder, **options)
    return folder


@pytest.fixture(scope="module")
def project(run, tmp_path_factory):
    """Two raters see the intended condition on all six images; of quality, both say the same of each image."""
    import pyarrow.parquet as pq

    images = [
        row for part in sorted((run / "images").glob("*.parquet")) for row in pq.read_table(part)["id"].to_pylist()
    ]
    table = tmp_path_factory.mktemp("answers") / "answers.csv"
    rows = [
        f"{image},{question},rater-{rater},{level}\n"
        for place, image in enumerate(images)
        for question, level in (("condition", place % 2), ("quality", 2 + place // 2))
        for rater in ("0001", "0002")
    ]
    table.write_text("id,question,rater,answer\n" + "".join(rows))
    project = transect.annotate(run, questions=["quality"])
    imported = project.import_answers(table)
    assert (imported.answers, imported.raters) == (24, 2)
    assert project.import_answers(table).duplicates == 24
    return project


def test_agreement_is_a_record_with_a_table(project):
    result = project.agreement()
    assert [question.question for question in result.numbers.questions] == ["quality", "condition"]
    assert result.numbers.questions[1].alpha == 1.0
    assert len(result.table) == 4
    fits(result)


def test_validation_is_what_the_command_writes(project, run):
    result = project.validate()
    assert result.to_json() == json.loads((run / "validation.json").read_text())
    (study,) = result.numbers.values()
    assert (study.groups[0].judged, study.groups[0].differing, study.passed) == (6, 0, False)
    assert result.table["attribute"].to_pylist() == ["", "face_shape", "face_shape"]
    fits(result)


def test_the_page_the_answers_and_invitations(project, tmp_path):
    assert project.raters_page(tmp_path / "page").path.name == "annotate.html"
    assert project.export(tmp_path / "answers.parquet")["rows"] == 24
    (invitation,) = project.invite(url="https://rate.example")
    assert (invitation.rater, invitation.link[:28]) == ("rater-0003", "https://rate.example/invite/")


def test_what_was_seen_in_two_folders_stands_side_by_side(project, run, tmp_path):
    """The other folder is a copy of the run, with the answers of another project about it."""
    other = tmp_path / "copy"
    shutil.copytree(run, other, ignore=shutil.ignore_patterns("annotations"))
    with pytest.raises(BadInput, match=f"`beside` {other}: no answers from raters yet"):
        project.raters_page(tmp_path / "page", beside=str(other))
    with pytest.raises(BadInput, match="a folder is given twice"):
        project.raters_page(tmp_path / "page", beside=str(run))
    answered = transect.annotate(other, questions=["quality"])
    answers = tmp_path / "answers.csv"
    ids = transect.annotate(run).table["id"].to_pylist()
    answers.write_text(f"id,question,rater,answer\n{ids[0]},quality,rater-0001,5\n{ids[0]},condition,rater-0001,1\n")
    assert answered.import_answers(answers).answers == 2
    page = project.raters_page(tmp_path / "page", beside=[str(other)]).path
    sections = json.loads(page.with_suffix(".json").read_text())["sections"]
    (panel,) = next(one for one in sections if one["key"] == "side by side")["figures"][0]["panels"]
    shapes = panel["series"][0]["points"]
    assert [(one["label"], one["value"], one["n"]) for one in shapes] == [("run", 3.0, 6), ("copy", 5.0, 1)]
    assert "Raters on sets of images" in page.read_text()


def test_pairs_in_python(tmp_path):
    (tmp_path / "answers.csv").write_text("id,second,question,rater,answer,level\na,b,same,r1,same person,0\n")
    (tmp_path / "pairs.csv").write_text("first,second,kind\na,b,real\n")
    result = same_person(tmp_path / "answers.csv", tmp_path / "pairs.csv")
    assert (result.numbers.rows[0].kind, result.numbers.rows[0].share) == ("real", 1.0)
    assert result.table["kind"].to_pylist() == [row.kind for row in result.numbers.rows]
    fits(result)
    page = result.report(tmp_path / "page")
    assert page.name == "annotate-same-person.html"
    assert json.loads(page.with_suffix(".json").read_text()) == result.to_json()

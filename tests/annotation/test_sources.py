"""Where rated images come from: folders, data sets, rendered samples, inversions and the pairs that these make."""

import io
import shutil

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from small_run import png, write_questions

from transect.errors import BadInput, UnknownName
from transect.runs.folder import RunFolder


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Answers about images of no run lie in the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def faces(tmp_path):
    """Four photographs of two people, of two sizes, one in a folder below."""
    folder = tmp_path / "faces"
    (folder / "more").mkdir(parents=True)
    for number, name in enumerate(("a.png", "b.png", "c.png", "more/d.png")):
        (folder / name).write_bytes(png(number, 16 if number else 24))
    return folder


def label(folder, people="ppqq"):
    """Say who is on each photograph."""
    names = ("a.png", "b.png", "c.png", "more/d.png")
    rows = [f"{name},{person}" for name, person in zip(names, people, strict=True)]
    (folder / "labels.csv").write_text("\n".join(["file,subject", *rows]))


def invert(folder, names, batch=3, failed=()):
    """What `transect invert` leaves: a row per image with its reconstruction, failed ones with the reason."""
    spec = {"kind": "inversion", "images": {"count": len(names)}, "batch": batch, "generator": {"name": "g"}}
    with RunFolder(folder, spec) as run:
        for part, start in enumerate(range(0, len(names), batch)):
            some = names[start : start + batch]
            columns = {
                "id": list(some),
                "failure": ["diverged" if name in failed else "" for name in some],
                "image": pa.array([png(100 + start + place) for place in range(len(some))], pa.binary()),
            }
            run.write_part("inversions", part, pa.table(columns))
    return folder


def test_the_images_of_an_encoding_are_rated(tmp_path):
    """`transect invert encode` stores 64 images a part, and its record names no batch."""
    names = [f"{number:02}.png" for number in range(66)]
    spec = {"kind": "encoding", "images": {"count": len(names)}, "generator": {"name": "g"}}
    with RunFolder(tmp_path / "encoded", spec) as run:
        for part, ids in enumerate((names[:64], names[64:])):
            columns = {"id": ids, "failure": [""] * len(ids), "image": pa.array([png(1)] * len(ids), pa.binary())}
            run.write_part("inversions", part, pa.table(columns))
    project = opened(tmp_path / "encoded", (write_questions(tmp_path / "q.toml"),))
    assert [picture.id for picture in project.pictures.all] == names
    project.database.close()


def opened(place, questions=(), **options):
    from transect.annotation.project import open_project

    return open_project(place, questions=tuple(map(str, questions)), **options)


def answer_all(project, raters=2, value=lambda first, second, rater: 0):
    """Every rater answers everything that is asked of them."""
    from transect.annotation.assignment import Submitted, answer, next_tasks
    from transect.annotation.raters import invite

    invite(project.database, raters, now=0.0)
    for rater in range(1, raters + 1):
        for number in range(1000):
            held = next_tasks(project, rater, now=100.0, count=1)
            if not held:
                break
            question = project.questionnaire.named(held[0].question)
            detail = 0 if question.follow_up else None
            level = value(held[0].first, held[0].second, rater)
            answer(project, rater, Submitted(held[0].id, f"{rater}-{number}", level, detail), now=100.0 + number)


def test_a_folder_of_images_is_rated_as_it_is(faces, tmp_path):
    project = opened("faces")
    assert [picture.id for picture in project.pictures.all] == ["a.png", "b.png", "c.png", "more/d.png"]
    shown = np.asarray(Image.open(io.BytesIO(project.pictures.png("", "a.png"))))
    assert np.array_equal(shown, np.asarray(Image.open(faces / "a.png")))  # neither resized nor framed
    assert (tmp_path / "annotations-faces" / "annotation.sqlite").exists()
    assert not (faces / "annotations").exists()
    project.database.close()
    again = opened("faces", create=False)
    again.database.close()
    (faces / "a.png").write_bytes(png(7))
    with pytest.raises(BadInput, match="expected the ratings of faces, got those of other images"):
        opened("faces")


def test_photographs_of_one_person_stand_together(faces, tmp_path):
    """Subjects are people: "ends" pairs the first and the last photograph of each."""
    label(faces)
    project = opened(f"folder:{faces}", [write_questions(tmp_path / "q.toml", more=PAIRED)])
    people = [picture.person for picture in project.pictures.all]
    assert people[0] == people[1] != people[2] == people[3]
    from transect.annotation.exchange.crowd import items_of

    pairs = {(item.first, item.second) for item in items_of(project) if item.second}
    assert pairs == {("a.png", "b.png"), ("c.png", "more/d.png")}
    answer_all(project)
    from transect.annotation.agreement.summary import summary

    (differs,) = summary(project).pairs
    assert (differs.difference.pairs, differs.difference.subjects, differs.difference.answers) == (2, 2, 4)
    project.database.close()


PAIRED = '[[question]]\nname = "differs"\ntext = "Do they differ?"\npairs = "ends"\nlevels = ["no", "yes"]'


def test_a_large_photograph_is_reduced(tmp_path):
    (tmp_path / "big").mkdir()
    Image.new("RGB", (3000, 1500), "red").save(tmp_path / "big" / "a.png")
    project = opened("big")
    assert Image.open(io.BytesIO(project.pictures.png("", "a.png"))).size == (1024, 512)
    project.database.close()


def test_reconstructions_alone(tmp_path):
    invert(tmp_path / "inv", ["a.png", "b.png", "c.png", "d.png"], failed=["c.png"])
    project = opened("inv")
    assert [picture.id for picture in project.pictures.all] == ["a.png", "b.png", "d.png"]
    assert project.pictures.png("", "d.png") == png(103)
    assert not list(project.pictures.pairs)
    project.database.close()
    with pytest.raises(BadInput, match="and --photographs"):
        opened("inv", ["same-person"], address=tmp_path / "other.sqlite")


def test_real_fake_and_duplicate_pairs(faces, tmp_path):
    """p has two photographs: a real, a fake and a duplicate pair; r has one: its own reconstruction, no real pair."""
    label(faces, people="ppqr")
    shutil.move(faces / "more" / "d.png", faces / "d.png")
    (faces / "labels.csv").write_text((faces / "labels.csv").read_text().replace("more/", ""))
    invert(tmp_path / "inv", ["a.png", "b.png", "d.png"])
    project = opened("inv", ["same-person"], photographs=f"folder:{faces}")
    assert [tuple(pair) for _, pair in project.pictures.pairs] == [
        ("a.png@photograph", "b.png@photograph", "real"),
        ("a.png@photograph", "b.png", "fake"),
        ("a.png@photograph", "a.png@crop", "dup"),
        ("d.png@photograph", "d.png", "fake"),
        ("d.png@photograph", "d.png@crop", "dup"),
    ]
    crop = np.asarray(Image.open(io.BytesIO(project.pictures.png("", "a.png@crop"))))
    assert np.array_equal(crop, np.asarray(Image.open(faces / "a.png"))[1:-1, 1:-1])
    answer_all(project, raters=3, value=lambda first, second, rater: int(second == "b.png" and rater == 1))
    project.database.close()

    import transect

    rated = transect.annotate("inv")  # the photographs are kept in the database
    (pairs,) = rated.agreement().numbers.pairs
    every = {row.kind: (row.share, row.answers) for row in pairs.same if row.by == "all"}
    assert every == {"real": (1.0, 3), "fake": (pytest.approx(5 / 6), 6), "dup": (1.0, 6)}
    written = rated.export(kind="pairs"), rated.export(tmp_path / "answers.csv")
    assert written[0]["rows"] == 5
    from transect.jobs.annotate import same_person

    shares = same_person(tmp_path / "answers.csv", tmp_path / "inv" / "annotations" / "pairs.csv").numbers.rows
    assert {row.kind: (row.share, row.answers) for row in shares if row.by == "all"} == every
    page = (rated.report(tmp_path / "page")).read_text()
    assert "Taken for the same person" in page
    assert [picture.id for picture in rated._pictures().alone][-1] == "d.png@photograph"


def test_photographs_that_are_not_there(faces, tmp_path):
    invert(tmp_path / "inv", ["a.png", "x.png", "y.png"])
    with pytest.raises(BadInput, match=r"the 3 inverted photographs, found none named x\.png or 1 others"):
        opened("inv", photographs=str(faces))
    with pytest.raises(BadInput, match="--photographs applies to an inversion, got faces"):
        opened("faces", photographs=str(faces))
    assert not (tmp_path / "annotations-faces").exists()


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("nowhere", BadInput, "no run folder, folder of images, or data set as READER:PATH"),
        ("celbea:faces", UnknownName, "celbea"),
        ("empty", BadInput, "folder of images, or data set as READER:PATH"),
    ],
)
def test_other_places_are_refused_in_one_line(tmp_path, place, error, message):
    (tmp_path / "empty").mkdir()
    with pytest.raises(error, match=message) as caught:
        opened(place)
    assert "\n" not in str(caught.value)

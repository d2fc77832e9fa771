"""`transect audit --generator photographs:…` from end to end: audits, workers, sheets, searches, comparisons, tables."""

from __future__ import annotations

import json

import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import run_here
from photograph_folders import people, pictures, save
from report_reader import parse, text_of
from worker_runs import content

import transect
from transect.errors import BadInput, FolderOfAnotherSpec

SHOTS = [3, 1, 2, 4, 1, 5, 2, 2, 1, 3, 2, 4]


def bright(pixels):
    """Yes where the picture is bright: more light makes more of them."""
    return pixels.mean(axis=(1, 2, 3)) / 255


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return people(tmp_path_factory.mktemp("private") / "faces", SHOTS, 40)


@pytest.fixture(scope="module")
def audited(folder, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    result = auditing.audit(
        bright, vary=["exposure=-2,0,2", "board=none,top"], subjects=30, generator=f"photographs:folder:{folder}",
        truth="smile", out=out, task="binary",
    )  # fmt: skip
    return out, result


def test_copies_of_a_picture_are_warned_of(tmp_path):
    place = save(tmp_path / "faces", pictures(6, 40))
    for copy in ("q0.png", "q1.png"):
        (place / copy).write_bytes((place / "p000.png").read_bytes())
    result = auditing.audit(
        bright, vary=["exposure=-1,1"], subjects=4, generator=f"photographs:folder:{place}", out=tmp_path / "run",
        task="binary", control=False,
    )  # fmt: skip
    assert any(
        "2 photographs are the same pictures as another (q0.png = p000.png; q1.png = p000.png)" in line
        for line in result.results["warnings"]
    )
    assert "Each photograph is treated as a different person" in result.results["world"]["statement"]


def test_effects_count_people(audited):
    out, result = audited
    effect = next(e for e in result.effects if (e.outcome, e.attribute, e.kind) == ("answer", "exposure", "contrast"))
    assert effect.estimate > 0.5
    assert effect.n_subjects == len(SHOTS)
    assert effect.n_images == 30 * 4
    assert effect.interval_method in ("paired score by person", "Student t by person")
    assert "photographs of people who repeat" in effect.always_reason
    errors = [e for e in result.effects if e.outcome == "error"]
    assert errors
    assert all(np.isfinite(e.estimate) for e in errors)
    table = pq.read_table(sorted((out / "images").glob("*.parquet"))[0])
    assert {"true.subject", "true.smile", "true.luminance", "intended.exposure"} <= set(table.column_names)


def test_the_folder_names_no_place(audited, folder):
    out, _ = audited
    spec = json.loads((out / "run.json").read_text())
    described = spec.get("spec", spec)["generator"]
    assert described["name"] == "photographs:folder:faces"
    assert len(described["pictures_sha256"]) == 64
    for path in out.rglob("*"):
        if path.is_file():
            assert str(folder.parent).encode() not in path.read_bytes(), path


def test_the_page_says_what_the_images_are(audited):
    _, result = audited
    text = result.page.read_text()
    assert "images of 30 photographs of 12 people, each at every combination" in text_of(parse(text).find("body"))
    assert "Where no edit is set" in text
    assert "photometry validated" not in text
    assert "not yet validated" not in text
    assert "a network trained on other images" not in text
    assert "Not checked: how near an edited photograph comes" in text
    assert "nothing responds to what is set on a photograph" in text
    assert "skin it meters" not in text
    assert text.count("nothing reads it back") - text.count('"nothing reads it back') <= 8


def test_another_folder_is_another_run(audited, tmp_path_factory):
    out, _ = audited
    other = people(tmp_path_factory.mktemp("other") / "faces", [1, *SHOTS[1:], 2], 40)
    with pytest.raises(FolderOfAnotherSpec, match="changed"):
        auditing.audit(
            bright, vary=["exposure=-2,0,2", "board=none,top"], subjects=30, generator=f"photographs:folder:{other}",
            truth="smile", out=out, task="binary",
        )  # fmt: skip


def test_too_many_subjects_are_refused_before_anything_is_made(folder, tmp_path):
    with pytest.raises(BadInput, match="expected at most 30 photographs, as many as can be used, got 31"):
        auditing.audit(
            bright, vary=["exposure"], subjects=31, generator=f"photographs:folder:{folder}", out=tmp_path / "run"
        )
    assert not (tmp_path / "run").exists()


def test_the_command_audits_renders_and_makes_a_data_set(folder, tmp_path):
    source = f"photographs:folder:{folder}"
    made = run_here(
        "audit", "opencv:haarcascade_frontalface_default", "--generator", source, "--vary", "exposure=-2:2:3",
        "--subjects", "4", "--size", "32", "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    again = run_here("reproduce", str(tmp_path / "run"), "--generator", source, "--out", str(tmp_path / "again"))
    assert again.returncode == 0, again.stderr
    sheet = run_here(
        "render", "--generator", source, "--vary", "hand", "--subjects", "2", "--out", str(tmp_path / "sheet.png")
    )
    assert sheet.returncode == 0, sheet.stderr
    made = run_here(
        "render", "--generator", source, "--subjects", "3", "--vary", "crop=0.5,1", "--data-set", "--out",
        str(tmp_path / "set"),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr


def test_workers_make_the_same_bytes(folder, tmp_path):
    settings = {"vary": ["noise=0,6400"], "subjects": 6, "generator": f"photographs:folder:{folder}"}
    target = "opencv:haarcascade_frontalface_default"
    transect.audit(target, auditing.request(**settings, out=tmp_path / "here"), quiet=True)
    transect.audit(target, auditing.request(**settings, out=tmp_path / "apart", workers=2), quiet=True)
    here, apart = (content(tmp_path / name / "images") for name in ("here", "apart"))
    assert here
    assert here == apart


def test_two_runs_are_compared_by_people(folder, tmp_path):
    def darker(pixels):
        return pixels.mean(axis=(1, 2, 3)) / 300

    audits = [
        auditing.audit(
            target, vary=["exposure=-1,1"], subjects=30, generator=f"photographs:folder:{folder}", names=["model"],
            truth="smile", out=tmp_path / name, task="binary",
        )
        for name, target in (("a", bright), ("b", darker))
    ]  # fmt: skip
    compared = transect.compare([tmp_path / "a", tmp_path / "b"])
    assert {row.n_subjects for row in compared.numbers.rows} == {len(SHOTS)}
    rows = [row for row in compared.numbers.rows if row.kind == "effect"]
    assert rows
    for row in rows:
        own = [next(e.estimate for e in audit.effects if e.outcome == row.outcome) for audit in audits]
        assert (row.first, row.second) == pytest.approx(own)


def test_a_search_over_exposure(folder, tmp_path):
    found = transect.search(
        bright,
        generator=f"photographs:folder:{folder}",
        vary=["exposure=-4:4"],
        truth="smile",
        budget=30,
        out=tmp_path / "s",
    )
    assert found is not None
    with pytest.raises(BadInput, match="expected at most 30 photographs"):
        transect.search(
            bright, generator=f"photographs:folder:{folder}", vary=["exposure=-4:4"], truth="smile", budget=31,
            out=tmp_path / "t",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": ["exposure"]}, "--steps: photographs begin at the level as it is of every edit"),
        ({"observe": 5, "vary": ["exposure"]}, "--observe: photographs:folder:faces has nothing of its own"),
        ({"images": 5}, "compare photographs by their labels: --dataset READER:PATH"),
        ({"interpolate": 2, "vary": ["exposure"]}, "--interpolate: nothing lies between two photographs"),
    ],
)
def test_what_is_not_about_edits_is_refused(folder, tmp_path, settings, message):
    with pytest.raises(BadInput, match=message):
        auditing.audit(bright, subjects=5, generator=f"photographs:folder:{folder}", out=tmp_path / "run", **settings)

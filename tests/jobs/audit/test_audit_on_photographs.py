"""`transect audit --generator photographs:…` from end to end: audits, workers, sheets, searches, comparisons, tables."""

from __future__ import annotations

import json

import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest
from audited import brightness
from canonical import PHOTOGRAPHED, audit_result
from commands import run_here
from photograph_folders import pictures, save

import transect
from transect import generators


@pytest.fixture(scope="module")
def folder(canonical):
    return canonical("photographs").parent / "faces"


@pytest.fixture(scope="module")
def audited(canonical):
    out = canonical("photographs")
    return out, audit_result(out)


@pytest.mark.integration
def test_effects_count_people(audited):
    out, result = audited
    effect = next(e for e in result.effects if (e.outcome, e.attribute, e.kind) == ("answer", "exposure", "contrast"))
    assert effect.estimate > 0.5
    assert effect.n_subjects == len(PHOTOGRAPHED)
    assert effect.n_images == 30 * 4
    assert effect.interval_method in ("paired score by person", "Student t by person")
    assert "photographs that repeat people" in effect.always_reason
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


def test_the_command_audits_renders_and_makes_a_data_set(folder, tmp_path):
    source = f"photographs:folder:{folder}"
    made = run_here(
        "audit", "opencv:haarcascade_frontalface_default", "--generator", source, "--vary", "exposure=-2:2:3",
        "--subjects", "4", "--size", "32", "--out", str(tmp_path / "run"),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    again = run_here(
        "reproduce", str(tmp_path / "run"), "--file", f"generator={source}", "--out", str(tmp_path / "again")
    )
    assert again.returncode == 0, again.stderr
    sheet = run_here(
        "render", "--generator", source, "--vary", "board", "--subjects", "2", "--out", str(tmp_path / "sheet.png")
    )
    assert sheet.returncode == 0, sheet.stderr
    made = run_here(
        "render", "--generator", source, "--subjects", "3", "--vary", "crop=0.5,1", "--data-set", "--out",
        str(tmp_path / "set"),
    )  # fmt: skip
    assert made.returncode == 0, made.stderr


def test_two_runs_are_compared_by_people(folder, tmp_path):
    def darker(pixels):
        return pixels.mean(axis=(1, 2, 3)) / 300

    audits = [
        auditing.audit(
            target, vary=["exposure=-1,1"], subjects=30, generator=f"photographs:folder:{folder}", names=["model"],
            truth="smile", out=tmp_path / name, task="binary",
        )
        for name, target in (("a", brightness), ("b", darker))
    ]  # fmt: skip
    compared = transect.compare([tmp_path / "a", tmp_path / "b"])
    assert {row.n_subjects for row in compared.numbers.rows} == {len(PHOTOGRAPHED)}
    rows = [row for row in compared.numbers.rows if row.kind == "effect"]
    assert rows
    for row in rows:
        own = [next(e.estimate for e in audit.effects if e.outcome == row.outcome) for audit in audits]
        assert (row.first, row.second) == pytest.approx(own)


@pytest.mark.parametrize("name", ["a?marks=b", "a%20b"])
def test_a_folder_may_have_any_name(tmp_path, name):
    place = save(tmp_path / name, pictures(2, 40))
    assert generators.load(f"photographs:folder:{place}").photographs == 2

"""Photographs that cannot be read: named, counted in the report, left out up to --max-unreadable, refused beyond."""

import json

import audited
import auditing
import numpy as np
import pytest
from commands import refused_here
from PIL import Image

import transect

SMALL = {"image_size": 32, "quiet": True, "outcomes": ["score"]}


@pytest.fixture
def faces(tmp_path):
    """Twelve photographs: the end of 3.png is missing, and 7.png is no image."""
    folder = tmp_path / "faces"
    folder.mkdir()
    lines = ["file,glasses"]
    for number in range(12):
        pixels = np.random.default_rng(number).integers(0, 255, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        lines.append(f"{number}.png,{number % 2}")
    (folder / "labels.csv").write_text("\n".join(lines))
    half = (folder / "3.png").read_bytes()
    (folder / "3.png").write_bytes(half[: len(half) // 2])
    (folder / "7.png").write_bytes(b"no image")
    return folder


def test_they_are_left_out_named_and_counted_in_the_report(faces, tmp_path, capsys):
    out = tmp_path / "run"
    settings = {"dataset": f"folder:{faces}", "max_unreadable": 2, **SMALL}
    result = auditing.audit(audited.brightness, out=out, **settings)
    assert "Left out, unreadable image files: 2 (3.png, 7.png)." in capsys.readouterr().err
    (study,) = json.loads((out / "results.json").read_text())["studies"]
    assert study["spec"]["generator"]["left_out"] == {"unreadable image files": 2}
    assert "3.png, 7.png" in study["spec"]["world"]["statement"]
    assert transect.open_run(out).images.num_rows == 10
    assert {effect.n_subjects for effect in result.effects} == {10}


def test_more_than_that_are_refused(faces, tmp_path):
    told = refused_here(
        "audit", "audited:brightness", "--dataset", f"folder:{faces}", "--max-unreadable", "1", "--out",
        str(tmp_path / "run"),
    )  # fmt: skip
    assert (
        "--max-unreadable 1: expected at most 1 photograph that cannot be read, found 2 (3.png, 7.png; the first: "
        in told
    )
    assert not (tmp_path / "run").exists()

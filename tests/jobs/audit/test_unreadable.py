"""Photographs that cannot be read: named, counted in the report, left out up to --max-unreadable, refused beyond."""

import json

import audited
import auditing
import numpy as np
import pytest
from commands import refused_here
from PIL import Image

import transect
from transect.datasets import open_dataset
from transect.errors import BadInput, FolderOfAnotherSpec

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


@pytest.mark.parametrize(
    ("most", "message"),
    [
        (
            1,
            "--max-unreadable 1: expected at most 1 photograph that cannot be read, found 2 (3.png, 7.png; the first: ",
        ),
        (
            0,
            "--max-unreadable 0: expected at most 0 photographs that cannot be read, found 2 (3.png, 7.png; the first: ",
        ),
        (-1, "--max-unreadable: expected 0 photographs or more, got -1"),
    ],
)
def test_more_than_that_are_refused(faces, tmp_path, most, message):
    told = refused_here(
        "audit", "audited:brightness", "--dataset", f"folder:{faces}", "--max-unreadable", str(most), "--out",
        str(tmp_path / "run"),
    )  # fmt: skip
    assert message in told
    assert not (tmp_path / "run").exists()


def test_the_way_on_leads_on_where_the_folder_holds_a_run_of_all(faces, tmp_path):
    out, settings = tmp_path / "run", {"dataset": f"folder:{faces}", **SMALL}
    broken = {name: (faces / name).read_bytes() for name in ("3.png", "7.png")}
    for name in broken:
        Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(faces / name)
    auditing.audit(audited.brightness, out=out, **settings)
    (faces / "7.png").write_bytes(broken["7.png"])
    with pytest.raises(BadInput, match="--max-unreadable 1 leaves it out .and another --out, or --overwrite, where"):
        auditing.audit(audited.brightness, out=out, **settings)
    told = "holds a run with other settings: the number of photographs was 12 and is 11; the number of unreadable image files left out was 0 and is 1: choose another --out"  # fmt: skip
    with pytest.raises(FolderOfAnotherSpec, match=told):
        auditing.audit(audited.brightness, out=out, max_unreadable=1, **settings)
    auditing.audit(audited.brightness, out=out, max_unreadable=1, overwrite=True, **settings)
    assert transect.open_run(out).images.num_rows == 11


def test_without_the_option_the_first_is_refused_with_the_way_on(faces, tmp_path):
    advice = "an audit with --max-unreadable 1 leaves it out"
    settings = {"dataset": f"folder:{faces}", "out": tmp_path / "run", **SMALL}
    with pytest.raises(BadInput, match=f"7.png: expected an image, .*; {advice}"):
        auditing.audit(audited.brightness, **settings)
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(faces / "7.png")
    with pytest.raises(BadInput, match=f"3.png: expected an image, .*; {advice}"):  # its header is sound
        auditing.audit(audited.brightness, **settings)


def test_more_than_ten_are_counted_and_not_all_named(tmp_path):
    (tmp_path / "labels.csv").write_text("file,glasses\n" + "".join(f"{n}.png,{n % 2}\n" for n in range(14)))
    for number in range(14):
        (tmp_path / f"{number}.png").write_bytes(b"no image")
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "0.png")
    made = open_dataset(f"folder:{tmp_path}", max_unreadable=13)
    assert made.unreadable == tuple(f"{number}.png" for number in range(1, 14))
    assert made.notes()[0].endswith("unreadable image files: 13 (1.png, 2.png, 3.png, 4.png, 5.png, 6.png, 7.png, 8.png, 9.png, 10.png, and 3 more).")  # fmt: skip

"""Data sets as other programs and systems left them: what is found, and what is counted by name."""

import json
import unicodedata

import numpy as np
import pytest
import replicas
from commands import run_here
from PIL import Image, features

from transect.datasets import open_dataset
from transect.errors import BadInput
from transect.runs import pictures


def shown(reader, path):
    done = run_here("datasets", "show", f"{reader}:{path}", "--json")
    return json.loads(done.stdout) if done.returncode == 0 else done.stderr


def table(folder, names, column="smile"):
    rows = "".join(f"{name},{k % 2}\n" for k, name in enumerate(names))
    (folder / "labels.csv").write_text(f"file,{column}\n{rows}", encoding="utf-8")


def faces(folder, *names):
    for grey, name in enumerate(names):
        replicas.put(folder / name, 10 * grey)
    return folder


COMPOSED = unicodedata.normalize("NFC", "zoë.png")


@pytest.mark.parametrize(
    ("stored", "named"),
    [
        (("000.jpg", "001.jpg"), ("000", "001")),
        (("sub/0.png", "sub/1.png"), (r"C:\data\faces\sub\0.png", r"C:\data\faces\sub\1.png")),
        (("sub/0.png", "sub/1.png"), (r"sub\0.png", r"sub\1.png")),
        (("sub/0.png", "sub/1.png"), ("/home/me/faces/sub/0.png", "/home/me/faces/sub/1.png")),
        ((COMPOSED, "b.png"), (unicodedata.normalize("NFD", COMPOSED), "b.png")),
        ((unicodedata.normalize("NFD", COMPOSED), "b.png"), (COMPOSED, "b.png")),
    ],
    ids=["no-suffix", "windows", "backslash", "another-machine", "nfd-names", "nfd-files"],
)
def test_names_that_another_system_wrote_are_found(tmp_path, stored, named):
    table(faces(tmp_path, *stored), named)
    found = open_dataset(f"folder:{tmp_path}")
    assert found.pixels([0, 1])[:, 0, 0, 0].tolist() == pytest.approx([0, 10], abs=1)
    assert not found.left_out


@pytest.mark.parametrize(
    ("stored", "named", "difference"),
    [
        ("1.JPG", "1.jpg", "1.JPG: upper and lower case differ"),
        ("1.png", "1.jpg", "1.png: the suffix differs"),
        ("1.png", r"D:\else\7.png", "a path from a different machine"),
    ],
)
def test_a_name_that_is_near_is_said_and_its_row_counted(tmp_path, stored, named, difference):
    table(faces(tmp_path, "0.png", stored, "2.jpg"), ("0.png", named, "2.jpg"))
    with pytest.raises(BadInput, match=f"row 2 .*{difference}"):
        open_dataset(f"folder:{tmp_path}")
    found = shown("folder", tmp_path)
    assert found["images"] == 2
    assert [n for reason, n in found["left_out"].items() if "without an image" in reason and difference in reason] == [
        1
    ]


def test_two_files_that_a_name_may_mean_are_none(tmp_path):
    table(faces(tmp_path, "0.png", "0.jpg"), ("0",))
    with pytest.raises(BadInput, match="row 1 names '0', which does not exist"):
        open_dataset(f"folder:{tmp_path}")


@pytest.mark.parametrize("name", ["../outside.png", "/etc/../outside.png", "sub/../../outside.png"])
def test_no_name_leads_out_of_the_folder(tmp_path, name):
    folder = faces(tmp_path / "faces", "0.png")
    faces(tmp_path, "outside.png")
    table(folder, ("0.png", name))
    with pytest.raises(BadInput, match="row 2 names"):
        open_dataset(f"folder:{folder}")


def test_celeba_without_the_line_that_counts(tmp_path):
    replicas.celeba(tmp_path)
    labels = tmp_path / "Anno" / "list_attr_celeba.txt"
    whole = shown("celeba", tmp_path)
    labels.write_text(labels.read_text().partition("\n")[2])
    cut = shown("celeba", tmp_path)
    assert (cut["images"], cut["attributes"]) == (whole["images"], whole["attributes"]) == (5, cut["attributes"])


@pytest.mark.parametrize(
    ("cell", "level"),
    [("3-Sep", "3-9"), ("09-Mar", "3-9"), ("Oct-19", "10-19"), ("19-Oct", "10-19"), ("3-9", "3-9"), ("n/a", None)],
)
def test_ages_that_a_spreadsheet_took_for_dates(tmp_path, cell, level):
    replicas.fairface(tmp_path)
    labels = tmp_path / "fairface_label_train.csv"
    labels.write_text(labels.read_text().replace("train/2.png,3-9", f"train/2.png,{cell}"))
    made = open_dataset(f"fairface:{tmp_path}")
    assert made.level_names("age").to_pylist()[1] == level


def test_a_date_that_is_no_age_is_refused_with_its_row(tmp_path):
    replicas.fairface(tmp_path)
    labels = tmp_path / "fairface_label_train.csv"
    labels.write_text(labels.read_text().replace("train/2.png,3-9", "train/2.png,10-Oct"))
    refusal = shown("fairface", tmp_path)
    assert "train/2.png: expected an age" in refusal
    assert "'10-Oct'" in refusal


def test_names_of_utkface_with_blanks_and_two_suffixes_are_read_and_others_named(tmp_path):
    good = ("24_0_1_20170116220224657 .jpg", "25_1_2_20170116220224658.jpg.chip.jpg", "30_0_2_20170116220224999.JPG")
    faces(tmp_path, *good, "39_1_20170116174525125.jpg", "53__0_20170116184028385.jpg")
    found = shown("utkface", tmp_path)
    assert found["images"] == 3
    ((reason, count),) = found["left_out"].items()
    assert (count, "39_1_20170116174525125.jpg, 53__0_20170116184028385.jpg" in reason) == (2, True)


def test_objects_of_pictures_and_kinds_that_coco_does_not_list_are_named(tmp_path):
    replicas.coco(tmp_path)
    file = tmp_path / "annotations" / "instances_train2014.json"
    whole, content = shown("coco", tmp_path), json.loads(file.read_text())
    first = content["annotations"][0]
    content["annotations"] += [{**first, "image_id": 99}, {**first, "category_id": 77}]
    file.write_text(json.dumps(content))
    captions = tmp_path / "annotations" / "captions_train2014.json"
    said = json.loads(captions.read_text())
    said["annotations"].append({"image_id": 1, "caption": None})
    captions.write_text(json.dumps(said))
    found = shown("coco", tmp_path)
    assert found["attributes"] == whole["attributes"]
    assert found["left_out"]["objects whose picture or kind is not listed (picture 99, kind 77)"] == 2


def test_missing_values_and_levels_that_are_called_none(tmp_path):
    faces(tmp_path, *(f"{k}.png" for k in range(6)))
    rows = [
        ("male", "none", "1.5", "0"),
        ("male ", "beard", "N/A", "1"),
        ("female", "n/a", "none", "-"),
        (" female", "none", "2", "NA"),
        ("-", "beard", "3", "None"),
        ("n/a", "-", "", "1"),
    ]
    text = "".join(f"{k}.png,{','.join(row)}\n" for k, row in enumerate(rows))
    (tmp_path / "labels.csv").write_text(f"file,gender,hair,age,smile\n{text}")
    made = open_dataset(f"folder:{tmp_path}")
    assert made.level_names("gender").to_pylist() == ["male", "male", "female", "female", None, None]
    assert made.level_names("hair").to_pylist() == ["none", "beard", None, "none", "beard", None]
    np.testing.assert_equal(made.values["age"], [1.5, np.nan, np.nan, 2.0, 3.0, np.nan])
    np.testing.assert_equal(made.values["smile"], [0.0, 1.0, np.nan, np.nan, np.nan, 1.0])
    gender = next(one for one in made.attributes if one.name == "gender")
    assert "2 labels" in gender.meaning  # whose blanks were taken off


HEIC = b"\0\0\0\x18ftypheic" + bytes(40)


def test_photographs_that_cannot_be_read_here_and_other_files_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "readable", lambda: pictures.FORMATS)
    faces(tmp_path, "a.png")
    for name, content in {"b.heic": HEIC, "c.HEIC": HEIC, "d.mp4": b"x", "e.txt": b"x", "f": b"x"}.items():
        (tmp_path / name).write_bytes(content)
    found = shown("folder", tmp_path)
    assert found["images"] == 1
    kind = "photographs of the kind HEIF, which needs pip install 'transect[heic]'"
    assert f"Left out, {kind}: 2 (b.heic, c.HEIC)." in open_dataset(f"folder:{tmp_path}", labelled=False).notes()
    assert found["left_out"] == {
        "files that are no image (.mp4)": 1,
        "files that are no image (.txt)": 1,
        "files that are no image (without suffix)": 1,
        kind: 2,
    }


@pytest.mark.skipif(not features.check("avif"), reason="this Pillow reads no AVIF")
def test_avif_photographs_are_read(tmp_path):
    Image.fromarray(np.full((8, 12, 3), 120, np.uint8)).save(tmp_path / "a.avif")
    made = open_dataset(f"folder:{tmp_path}", labelled=False)
    assert made.pixels([0]).shape == (1, 8, 12, 3)
    assert abs(int(made.pixels([0]).mean()) - 120) <= 2


def test_heic_photographs_are_read(tmp_path):
    heif = pytest.importorskip("pillow_heif")
    heif.register_heif_opener()
    Image.fromarray(np.full((64, 96, 3), 120, np.uint8)).save(tmp_path / "a.heic")
    made = open_dataset(f"folder:{tmp_path}", labelled=False)
    assert made.pixels([0]).shape == (1, 64, 96, 3)

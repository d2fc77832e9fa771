"""Readers of the data sets that people have, on tiny replicas: the right rows, and everything left out counted."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import replicas
from hypothesis import given
from hypothesis import strategies as st

from transect.datasets import Crop, open_dataset
from transect.errors import BadInput, UnknownName


def opened(reader, root, **options):
    return open_dataset(f"{reader}:{root}", **options)


def refusal(reader, root, kind=BadInput, **options):
    with pytest.raises(kind) as error:
        opened(reader, root, **options)
    assert "\n" not in str(error.value)
    return str(error.value).replace(str(root), "data")


# CelebA


@pytest.mark.parametrize("tables", ["Anno", ".", "Eval"])
def test_celeba(tmp_path, tables):
    made = opened("celeba", replicas.celeba(tmp_path, tables))
    assert made.ids == ("000001", "000002", "000003", "000004", "000005")
    assert [(one.name, one.levels) for one in made.attributes] == [("Smiling", ("no", "yes")), ("Male", ("no", "yes"))]
    assert made.column("Smiling").tolist() == [1, 0, 1, 0, 1]
    assert made.subjects == (0, 1, 0, 2, 3)  # 1 and 3 are of person 77
    assert made.parts == ("train", "train", "train", "valid", "test")
    assert made.skipped == {"Young": "one value only"}
    assert made.left_out == {"rows of labels without an image": 1, "images without a row of labels": 1}
    assert made.pixels([2, 0])[:, 0, 0, 0].tolist() == [60, 20]
    assert (made.fitted, made.pixels([0]).shape) == (False, (1, 218, 178, 3))
    assert "Left out, rows of labels without an image: 1." in made.validity()["statement"]
    assert "how annotators saw the faces" in made.validity()["statement"]


def test_celeba_by_part(tmp_path):
    root = replicas.celeba(tmp_path)
    train, test = opened("celeba", root, split="train"), opened("celeba", root, split="test", labelled=False)
    assert train.ids == ("000001", "000002", "000003")
    assert train.left_out["rows of other parts"] == 3
    assert test.ids == ("000005",)  # 6 is of that part too, and has no picture
    assert test.left_out["rows of labels without an image"] == 1
    assert open_dataset(f"celeba:{root}?split=train&crop=148&limit=2").left_out["rows beyond the limit"] == 1
    assert "unknown part of CelebA 'tset': did you mean test" in refusal("celeba", root, UnknownName, split="tset")
    (root / "Anno" / "list_eval_partition.txt").unlink()
    assert "split needs list_eval_partition.txt" in refusal("celeba", root, split="test")
    assert opened("celeba", root).parts == ()


def test_celeba_as_kaggle_has_it(tmp_path):
    root = replicas.celeba(tmp_path)
    first = opened("celeba", root)
    rows = [line.split() for line in replicas.CELEBA.splitlines()[1:]]
    text = "\n".join(",".join(row) for row in [["image_id", *rows[0]], *rows[1:]])
    (root / "Anno" / "list_attr_celeba.txt").unlink()
    (root / "list_attr_celeba.csv").write_text(text + "\n")
    nested = root / "img_align_celeba" / "img_align_celeba"
    nested.mkdir()
    for file in list((root / "img_align_celeba").glob("*.png")):
        file.rename(nested / file.name)
    second = opened("celeba", root)
    assert (second.ids, second.subjects, second.left_out) == (first.ids, first.subjects, first.left_out)
    np.testing.assert_equal(second.values, first.values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("6\nSmiling\n000001.jpg 1\n", "expected 6 rows, as its first line says, got 1"),
        ("1\nSmiling\n000001.jpg 7\n", "expected 1, 0 or -1 for Smiling, got '7' in row 1"),
        ("2\nSmiling\n000001.jpg 1\n000001.jpg -1\n", "rows 1 and 2 share the id '000001'; keep one of them"),
    ],
)  # fmt: skip
def test_a_celeba_table_that_does_not_fit_is_one_line(tmp_path, text, message):
    root = replicas.celeba(tmp_path)
    (root / "Anno" / "list_attr_celeba.txt").write_text(text)
    assert message in refusal("celeba", root)


def test_celeba_without_its_files(tmp_path):
    assert "no list_attr_celeba.txt or list_attr_celeba.csv in it or in one of Anno" in refusal("celeba", tmp_path)
    replicas.celeba(tmp_path)
    (tmp_path / "Anno" / "identity_CelebA.txt").write_text("000001.jpg\n")
    assert "identity_CelebA.txt: expected 2 columns in line 1, got 1; fix the line" in refusal("celeba", tmp_path)
    (tmp_path / "Anno" / "identity_CelebA.txt").unlink()
    assert opened("celeba", tmp_path).subjects == (0, 1, 2, 3, 4)  # nobody is known: each is a person of its own


def test_broken_files_are_counted_and_a_truncated_one_is_named(tmp_path):
    root = replicas.celeba(tmp_path)
    pictures = root / "img_align_celeba"
    (pictures / "000002.png").write_bytes(b"no image")
    (pictures / "000003.png").write_bytes((pictures / "000003.png").read_bytes()[:60])
    made = opened("celeba", root)
    assert made.ids == ("000001", "000003", "000004", "000005")
    assert made.left_out["unreadable image files"] == 1
    with pytest.raises(BadInput, match=r"000003\.png: expected an image, got .*; fix it or drop it"):
        made.pixels([1])


def test_celeba_hq_has_the_people_of_celeba(tmp_path):
    made = opened("celeba-hq", replicas.celeba_hq(tmp_path), image_size=8)
    assert (made.ids, made.subjects) == (("0", "1", "2", "3"), (0, 1, 0, 2))
    assert made.column("Smiling").tolist() == [0, 1, 0, 1]
    assert made.pixels([3]).shape == (1, 8, 8, 3)


# FairFace, UTKFace, FFHQ


@pytest.mark.parametrize("below", [".", "fairface-img-margin025-trainval"])
def test_fairface(tmp_path, below):
    made = opened("fairface", replicas.fairface(tmp_path, below))
    assert (made.ids, made.parts) == (("train/1", "train/2", "val/1"), ("train", "train", "val"))
    assert made.validity()["statement"].count("Each photograph is treated as a different person.") == 1
    age = made.attributes[0]
    assert (age.name, age.levels[0], age.levels[-1], len(age.levels)) == ("age", "0-2", "more than 70", 9)
    assert made.column("age").tolist() == [3, 1, 8]  # their places among the nine levels
    # levels in sorted order: Female 0, Male 1; Black 0, Indian 1, White 2
    assert made.column("gender").tolist() == [1, 0, 0]
    assert made.column("race").tolist() == [0, 2, 1]
    assert made.skipped == {"service_test": "how the row was used, not what it shows"}
    assert made.left_out == {"rows of labels without an image": 1, "images without a row of labels": 1}


def test_fairface_by_part_and_without_columns(tmp_path):
    root = replicas.fairface(tmp_path)
    assert opened("fairface", root, split="val", labelled=False).left_out == {"rows of other parts": 3}
    assert "unknown part of FairFace 'test': expected train, val" in refusal(
        "fairface", root, UnknownName, split="test"
    )
    (root / "fairface_label_val.csv").write_text("file,age,gender,race\n../x.png,3-9,Male,White\n")
    assert "names '../x.png', which lies outside; keep the images in the folder" in refusal("fairface", root)
    for table in root.glob("*.csv"):
        table.unlink()
    assert "expected fairface_label_train.csv or fairface_label_val.csv" in refusal("fairface", root)


def test_the_pilot_parliaments_benchmark_as_distributed(tmp_path):
    made = opened("ppb", replicas.ppb(tmp_path))
    assert made.ids == ("a", "b", "c")
    assert made.column("gender").tolist() == [0, 1, 0]  # levels in sorted order: female, male
    fitz = next(attribute for attribute in made.attributes if attribute.name == "fitz")
    assert fitz.levels == ("I", "II", "III", "IV", "V", "VI")
    np.testing.assert_array_equal(made.column("fitz"), [5, 1, np.nan])
    assert [attribute.name for attribute in made.attributes] == ["id", "country", "gender", "bi_fitz", "fitz"]
    assert made.left_out == {"rows of labels without an image": 1, "images without a row of labels": 1}
    (tmp_path / "PPB-2017" / "PPB-2017-metadata.csv").write_text("file,gender\na.png,male\n")
    assert "expected a column filename, got file, gender" in refusal("ppb", tmp_path)


def test_utkface_reads_names_and_counts_the_others(tmp_path):
    made = opened("utkface", replicas.utkface(tmp_path))
    # sorted by path: the one of 1 year comes first; the one without a race is left out
    assert made.column("age").tolist() == [1, 25]
    assert [made.attributes[place].label(made.values[name][1]) for place, name in ((1, "gender"), (2, "race"))] == ["male", "Asian"]  # fmt: skip
    ((reason, count),) = made.left_out.items()
    assert (count, "61_1_20170109142408075" in reason) == (1, True)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "expected images named age_gender_race_date.jpg, got 0 of 0" in refusal("utkface", empty)


def test_ffhq_with_a_table_and_without(tmp_path):
    made = opened("ffhq", replicas.ffhq(tmp_path))
    assert (made.ids, made.subjects) == (("00002", "00000", "01000"), (0, 0, 1))
    assert made.column("glasses").tolist() == [1, 0, 1]
    assert made.left_out == {"rows of labels without an image": 1, "images without a row of labels": 1}
    (tmp_path / "labels.csv").unlink()
    plain = opened("ffhq", tmp_path, labelled=False)
    assert (plain.ids, plain.attributes) == (("00000", "00001", "00002", "01000"), ())
    assert len(opened("ffhq", tmp_path / "thumbnails128x128", labelled=False)) == 4
    listed = {str(k): {"category": "training" if k < 2 else "validation"} for k in (0, 1, 2, 1000)}
    (tmp_path / "ffhq-dataset-v2.json").write_text(json.dumps(listed))
    part = opened("ffhq", tmp_path, split="training", labelled=False)
    assert (part.ids, part.left_out) == (("00000", "00001"), {"rows of other parts": 2})


# Parquet


def hugging_face(path, greys, names=("no", "yes"), group=2):
    """A picture column {bytes, path}, a ClassLabel, numbers, and a list, which is no attribute."""
    rows = [{"bytes": None if grey is None else replicas.png(grey), "path": f"{grey}.png"} for grey in greys]
    count = len(greys)
    table = pa.table(
        {
            "image": pa.array(rows, pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
            "smile": pa.array([k % 2 for k in range(count)], pa.int64()),
            "age": pa.array([20.0 + k for k in range(count)]),
            "points": [[1, 2]] * count,
        }
    )
    features = {"image": {"_type": "Image"}, "smile": {"names": list(names), "_type": "ClassLabel"}}
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=group)
    return path


def test_parquet_of_hugging_face(tmp_path):
    hugging_face(tmp_path / "data" / "train-00000-of-00002.parquet", [10, 20, None, 40, 50])
    hugging_face(tmp_path / "data" / "train-00001-of-00002.parquet", [60])
    hugging_face(tmp_path / "data" / "test-00000-of-00001.parquet", [70])
    made = opened("parquet", tmp_path, split="train")
    assert made.ids == ("0", "1", "3", "4", "5")  # rows of the whole part; row 2 has no picture
    assert {one.name: one.levels for one in made.attributes} == {"smile": ("no", "yes"), "age": ()}
    assert made.column("smile").tolist() == [0, 1, 1, 0, 0]
    assert made.column("age").tolist() == [20, 21, 23, 24, 20]
    assert made.pixels([4, 0, 2])[:, 0, 0, 0].tolist() == [60, 10, 40]
    assert made.left_out == {"rows of labels without an image": 1, "rows of other parts": 1}
    assert opened("parquet", tmp_path).parts == ("test",) + ("train",) * 5
    assert "expected files whose names begin with dev" in refusal("parquet", tmp_path, split="dev")


def test_one_relative_path_in_two_folders_is_two_files(tmp_path, monkeypatch):
    """A row group that was read is kept, but not for another file, nor for the same one after a change."""
    for name, shades in (("first", [10, 20, 30]), ("second", [40, 50, 60, 70])):
        hugging_face(tmp_path / name / "faces.parquet", shades)
    for name, shades in (("first", [10, 20, 30]), ("second", [40, 50, 60, 70])):
        monkeypatch.chdir(tmp_path / name)
        found = opened("parquet", Path("faces.parquet"))
        assert found.pixels(range(len(found)))[:, 0, 0, 0].tolist() == shades
    hugging_face(Path("faces.parquet"), [80, 90])
    assert opened("parquet", Path("faces.parquet")).pixels([0, 1])[:, 0, 0, 0].tolist() == [80, 90]


def test_parquet_whose_pictures_are_files_beside_it(tmp_path):
    for number in (1, 2):
        replicas.put(tmp_path / "faces" / f"{number}.png", 10 * number)
    replicas.put(tmp_path.parent / "secret.png", 99)
    rows = [{"bytes": None, "path": name} for name in ("faces/1.png", "../secret.png", "gone.png", "faces/2.png")]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    pq.write_table(pa.table({"image": pa.array(rows, kind), "x": [1, 2, 3, 4]}), tmp_path / "labels.parquet")
    made = opened("parquet", tmp_path / "labels.parquet")
    assert (made.ids, made.left_out) == (("0", "3"), {"rows of labels without an image": 2})
    assert made.pixels([1])[0, 0, 0, 0] == 20


def test_parquet_that_is_none(tmp_path):
    assert "no Parquet file or folder of them" in refusal("parquet", tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PAR1 and no more")
    assert "expected a readable Parquet file" in refusal("parquet", tmp_path)
    pq.write_table(pa.table({"age": [1, 2]}), tmp_path / "a.parquet")
    assert "expected a column of images, struct {bytes, path} or bytes, got age" in refusal("parquet", tmp_path)
    hugging_face(tmp_path / "b.parquet", [1, 2])
    assert "expected the columns of a.parquet in every file, got different ones in b.parquet" in refusal(
        "parquet", tmp_path
    )


# What all readers share


def test_crops_are_those_of_the_papers(tmp_path):
    """A picture whose columns and rows are their own numbers shows where the cut lies: 148 central, 128 at 89, 121."""
    from PIL import Image

    down, across = np.mgrid[0:218, 0:178]
    picture = np.stack([across, down, 0 * down], axis=2).astype(np.uint8)
    root = replicas.celeba(tmp_path)
    for number in (1, 2):
        Image.fromarray(picture).save(root / "img_align_celeba" / f"{number:06d}.png")
    larsen = open_dataset(f"celeba:{root}?crop=148")
    assert larsen.image_size == 148
    corner = larsen.pixels([0])[0]
    assert (corner[0, 0, :2].tolist(), corner[-1, -1, :2].tolist()) == ([15, 35], [162, 182])
    karras = open_dataset(f"celeba:{root}?crop=128@89,121").pixels([0])[0]
    assert (karras[0, 0, :2].tolist(), karras[-1, -1, :2].tolist()) == ([25, 57], [152, 184])
    sized = opened("celeba", root, crop="center", image_size=64)
    assert (sized.pixels([0]).shape, sized.describe()["crop"]) == ((1, 64, 64, 3), "center")


@given(width=st.integers(1, 300), height=st.integers(1, 300), side=st.integers(1, 300))
def test_a_central_crop_lies_in_the_middle_or_is_refused(width, height, side):
    if side > min(width, height):
        with pytest.raises(BadInput):
            Crop(side).box(width, height)
        return
    left, top, right, bottom = Crop(side).box(width, height)
    assert (right - left, bottom - top) == (side, side)
    assert abs(left - (width - right)) <= 1
    assert abs(top - (height - bottom)) <= 1


def test_a_limit_is_drawn_from_everywhere_and_stays_in_order(tmp_path):
    names = [f"{age}_{age % 2}_0_{age}.png" for age in range(1, 101)]
    for name in names:
        replicas.put(tmp_path / name)
    made = opened("utkface", tmp_path, limit=20)
    ages = made.column("age")
    assert len(made) == 20
    assert list(made.ids) == sorted(made.ids)
    assert ages.min() < 30
    assert ages.max() > 70  # the first twenty by name would be 1 and 10 to 27
    assert opened("utkface", tmp_path, limit=20).ids == made.ids


def test_batches_hold_each_image_once_with_its_labels(tmp_path):
    made = opened("celeba", replicas.celeba(tmp_path), crop="center", image_size=4)
    for shuffle in (None, 3):
        seen = list(made.batches(2, shuffle=shuffle))
        assert [len(images) for images, _ in seen] == [2, 2, 1]
        rows = [row for _, table in seen for row in table.to_pylist()]
        assert sorted(row["id"] for row in rows) == list(made.ids)
        for images, table in seen:
            assert images.dtype == np.uint8
            # picture k is grey 20 k
            assert images[:, 0, 0, 0].tolist() == [20 * int(one) for one in table["id"].to_pylist()]
    first, second = ([t["id"].to_pylist() for _, t in made.batches(5, shuffle=seed)] for seed in (1, 1))
    assert first == second

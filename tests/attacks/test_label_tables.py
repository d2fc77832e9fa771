"""Every format gives the same data; what is wrong with a file is said in one line."""

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from transect.attacks.tables import labelled_data, read_labels
from transect.errors import BadInput, UnknownName

COLUMNS = {
    "id": ["a", "b", "c", "d", "e", "f"],
    "split": ["train", "train", "val", "test", "test", "train"],
    "verb": ["cooking", "driving", "cooking", "cooking", "driving", "driving"],
    "obj_cup": [1, 0, 1, 1, 0, 0],
    "obj_car": [0, 1, 0, 0, 1, 1],
    "gender": ["woman", "man", "man", "woman", "man", "woman"],
    "kept": [True, True, True, True, True, False],
}
TABLE = pa.table(COLUMNS)


def written(path):
    if path.suffix == ".csv":
        pa.csv.write_csv(TABLE, path)
    elif path.suffix == ".parquet":
        pa.parquet.write_table(TABLE, path)
    elif path.suffix == ".npz":
        np.savez(path, **{name: np.array(values) for name, values in COLUMNS.items()})
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, TABLE.schema) as writer:
            writer.write_table(TABLE)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.npz", "t.arrow"])
def test_each_format_gives_the_same_data(name, tmp_path):
    data = labelled_data(read_labels(written(tmp_path / name)), ["verb"], "gender", split="split")
    assert data.labels.category.tolist() == [0, 1, 0, 0, 1, 1]
    assert data.labels.names == ("cooking", "driving")
    assert (data.classes, data.protected.tolist()) == (("man", "woman"), [1, 0, 0, 1, 0, 1])
    assert data.split.tolist() == ["train", "train", "development", "test", "test", "train"]
    assert data.ids == tuple("abcdef")


def test_a_hugging_face_data_set_with_splits(tmp_path):
    """As `datasets.DatasetDict.save_to_disk` lays it out: a folder a split, Arrow streams in it."""
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": ["train", "test"]}))
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        rows = TABLE.filter(pa.compute.equal(TABLE["split"], split)).drop_columns("split")
        path = str(tmp_path / split / "data-00000-of-00001.arrow")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
    data = labelled_data(read_labels(tmp_path), ["verb"], "gender", split="split")
    assert sorted(data.split.tolist()) == ["test"] * 2 + ["train"] * 3


@pytest.mark.parametrize("name", ["data/{}-00000-of-00001.parquet", "default/{}/0000.parquet"])
def test_splits_are_what_files_are_called_on_the_hub(name, tmp_path):
    for split in ("train", "validation"):
        path = tmp_path / name.format(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        pa.parquet.write_table(TABLE.drop_columns("split").slice(0, 3 if split == "train" else 2), path)
    table = read_labels(tmp_path)
    assert sorted(table["split"].to_pylist()) == ["train"] * 3 + ["validation"] * 2


def test_a_data_set_names_its_classes():
    """The numbers of a ClassLabel; labels stay numbers, in whose order models give their scores."""
    features = {"gender": {"names": ["woman", "man"], "_type": "ClassLabel"}, "verb": {"dtype": "string"}}
    table = changed("gender", [0, 1, 1, 0, 1, 0])
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    data = labelled_data(table, ["verb"], "gender")
    assert (data.classes, data.protected.tolist()) == (("woman", "man"), [0, 1, 1, 0, 1, 0])


def test_columns_by_pattern_and_lists_are_several_labels():
    wide = labelled_data(TABLE, ["obj_*"], "gender")
    assert wide.labels.names == ("obj_cup", "obj_car")
    lists = TABLE.append_column(
        "objects", pa.array(np.stack([COLUMNS["obj_cup"], COLUMNS["obj_car"]], axis=1).tolist())
    )
    assert (labelled_data(lists, ["objects"], "gender").labels.values == wide.labels.values).all()


def test_rows_are_filtered_everywhere_or_in_training_alone():
    assert len(labelled_data(TABLE, ["verb"], "gender", split="split", where="kept")) == 5
    flipped = TABLE.set_column(6, "kept", pa.array([False, True, True, False, True, True]))
    chosen = labelled_data(flipped, ["verb"], "gender", split="split", where="kept", where_train_only=True)
    assert chosen.ids == ("b", "c", "d", "e", "f")


def changed(name, values):
    return TABLE.set_column(TABLE.column_names.index(name), name, pa.array(values))


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        (TABLE, {"labels": ["verbs"]}, "unknown column 'verbs': did you mean verb"),
        (TABLE, {"labels": ["verb", "obj_cup"]}, "several columns must hold 0 and 1"),
        (TABLE, {"split": "verb"}, "split column verb: expected train, val and test, got 'cooking'"),
        (changed("gender", ["man"] * 6), {}, "expected at least two classes, got only 'man' in 6 rows"),
        (changed("gender", ["man", None, None, "woman", "man", "man"]), {}, "column gender: expected a value in every row, 2 of 6 are missing"),
        (changed("id", list("abcdbf")), {"split": "split"}, "identifier 'b' occurs twice in train and test (1 repeated in all)"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(table, arguments, message):
    given = {"labels": ["verb"], "protected": "gender", **arguments}
    with pytest.raises((BadInput, UnknownName), match=re.escape(message)):
        labelled_data(table, given.pop("labels"), given.pop("protected"), **given)


@pytest.mark.parametrize("missing", ["", "NA", "null"])
def test_a_text_that_is_missing_in_a_csv_is_no_class(missing, tmp_path):
    (tmp_path / "t.csv").write_text(f"verb,gender\ncooking,man\ndriving,woman\ncooking,{missing}\n")
    with pytest.raises(BadInput, match="column gender: expected a value in every row, 1 of 3 are missing"):
        labelled_data(read_labels(tmp_path / "t.csv"), ["verb"], "gender")


def test_files_that_are_no_tables_are_refused(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"not parquet")
    (tmp_path / "notes.txt").write_text("")
    np.savez(tmp_path / "pickled.npz", a=np.array([{}], dtype=object))
    for name, message in [
        ("bad.parquet", "expected a readable parquet file"),
        ("notes.txt", "expected one of .parquet, .pq, .csv, .arrow, .feather, .npz, got .txt"),
        ("pickled.npz", "got Object arrays cannot be loaded"),
        (".", "no .arrow or .parquet files in it|expected a readable"),
    ]:
        with pytest.raises(BadInput, match=message):
            read_labels(tmp_path / name)

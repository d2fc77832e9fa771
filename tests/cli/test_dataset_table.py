"""The labels of a data set as a table, as `transect datasets table` writes them."""

import csv
import io
from typing import ClassVar

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import printed
from PIL import Image

from transect.cli.dataset_table import rows_of
from transect.records import Attribute


@pytest.fixture
def faces(tmp_path) -> str:
    for number in range(3):
        Image.fromarray(np.full((8, 8, 3), 60 * number, np.uint8)).save(tmp_path / f"{number}.png")
    (tmp_path / "labels.csv").write_text(
        "file,subject,age,hat,glasses\n0.png,a,20,cap,1\n1.png,a,,hood,0\n2.png,b,70,beanie,1\n"
    )
    return f"folder:{tmp_path}"


def test_values_comparisons_levels_and_missing_labels(faces, tmp_path):
    out = tmp_path / "out" / "labels.csv"
    columns = ["age", "old=age>50", "hat", "cap=hat==cap", "glasses"]
    printed("datasets", "table", faces, str(out), *[word for name in columns for word in ("--column", name)])
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert [row["age"] for row in rows] == ["20", "", "70"]
    assert [row["old"] for row in rows] == ["0", "", "1"]
    assert [row["hat"] for row in rows] == ["cap", "hood", "beanie"]
    assert [row["cap"] for row in rows] == ["1", "0", "0"]
    assert [row["glasses"] for row in rows] == ["1", "0", "1"]
    assert rows[0]["subject"] == rows[1]["subject"] != rows[2]["subject"]
    assert [row["id"] for row in rows] == ["0.png", "1.png", "2.png"]


class Hats:
    """Three images whose hats have levels that begin with none."""

    attributes = (Attribute("hat", "categorical", "hat", levels=("none", "cap", "hood")),)
    values: ClassVar = {"hat": np.array([1.0, 0.0, 2.0])}
    ids = subjects = ("a", "b", "c")

    def level_names(self, name):
        return [self.attributes[0].levels[int(value)] for value in self.values[name]]


def test_levels_keep_their_names_where_the_first_is_none():
    table = rows_of(Hats(), ["hat", "worn=hat!=none"])
    assert table["hat"].to_pylist() == ["cap", "none", "hood"]
    assert table["worn"].to_pylist() == [1, 0, 1]


def test_pictures_are_the_images(faces, tmp_path):
    out = tmp_path / "labels.parquet"
    printed("datasets", "table", faces, str(out), "--pictures")
    table = pq.read_table(out)
    assert table.column_names == ["id", "subject", "age", "hat", "glasses", "image"]
    pixels = [np.asarray(Image.open(io.BytesIO(content))) for content in table["image"].to_pylist()]
    assert [int(picture[0, 0, 0]) for picture in pixels] == [0, 60, 120]
    assert pixels[0].shape == (8, 8, 3)

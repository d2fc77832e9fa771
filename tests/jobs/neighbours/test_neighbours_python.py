"""`transect.neighbours`: the same numbers from every kind of table, a page, and JSON that fits its schema."""

import io
import json

import html5lib
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arrow_streams import Stream
from commands import printed
from PIL import Image
from published import fits

import transect

COLUMNS = {"who": list("ppqq"), "age": [20.0, 30.0, 60.0, 62.0], "hat": [0, 0, 1, 1], "place": list("xyxy")}
NEAR = np.array([[0.0], [1.0], [5.0], [6.0]])
FAR = np.array([[0.0], [7.0], [1.0], [20.0]])


def untimed(result):
    return {name: value for name, value in result.to_json().items() if name != "seconds"}


@pytest.mark.parametrize("kind", ["pandas", "stream", "columns"])
def test_every_kind_of_table_gives_the_commands_numbers(tmp_path, kind):
    arrow = pa.table(COLUMNS)
    pq.write_table(arrow, tmp_path / "t.parquet")
    np.save(tmp_path / "near.npy", NEAR)
    tables = {"pandas": pd.DataFrame(COLUMNS)}
    tables |= {"stream": Stream(arrow), "columns": COLUMNS}
    more = {"attributes": ["age", "hat", "place"], "identity": "who", "k": 1}
    result = transect.neighbours({"near": NEAR}, tables[kind], **more)
    words = ["--features", tmp_path / "near.npy", "--table", tmp_path / "t.parquet", "--identity", "who", "--k", "1"]
    words += [part for name in more["attributes"] for part in ("--attribute", name)]
    command = json.loads(printed("match", "neighbours", *map(str, words), "--json"))
    assert untimed(result) == {name: value for name, value in command.items() if name != "seconds"}
    assert result.numbers.distances[0].attributes[0].error == 6.0


def test_table_json_and_page(tmp_path):
    result = transect.neighbours([NEAR, FAR], COLUMNS, identity="who", k=1, second=FAR, second_threshold=2.0)
    fits(result)
    assert [row.distance for row in result.numbers.distances] == [
        "features 1",
        "features 1, second < 2",
        "features 2",
        "images at random",
    ]
    first = result.table.slice(0, 1).to_pylist()[0]
    assert (first["distance"], first["attribute"], first["error"]) == ("features 1", "age", 6.0)
    page = result.report(tmp_path / "page")
    html5lib.HTMLParser(strict=True).parse(page.read_text())
    assert json.loads((tmp_path / "page" / "neighbours.json").read_text()) == result.to_json()


def test_the_page_shows_the_nearest_images_of_a_few_by_each_distance(tmp_path):
    """Lines 0 1 5 6 and 0 7 1 20: of image 0 the nearest are 1 2 3 at 1 5 6, and 2 1 3 at 1 7 20, in units of the first."""
    color = Image.new("RGB", (8, 8), (200, 30, 30))
    sink = io.BytesIO()
    color.save(sink, "PNG")
    table = {**COLUMNS, "picture": [sink.getvalue()] * 3 + [None]}
    result = transect.neighbours({"near": NEAR, "far": FAR}, table, attributes=["age"], k=3, pictures="picture")
    first = result.numbers.examples[0]
    assert [example.row for example in result.numbers.examples] == [0, 1, 2, 3]
    assert [[(image.row, image.ratio) for image in each.images] for each in first.nearest] == [
        [(1, 1.0), (2, 5.0), (3, 6.0)],
        [(2, 1.0), (1, 7.0), (3, 20.0)],
    ]
    pixels = np.asarray(Image.open(io.BytesIO(result.numbers.sheets[0])))
    assert pixels.shape == (2 * 104 - 8, 4 * 104, 3)
    assert pixels[50, 50].tolist() == [200, 30, 30]
    assert pixels[50, 3 * 104 + 50].tolist() == [128, 128, 128]  # image 3 has no picture
    page = result.report(tmp_path).read_text()
    html5lib.HTMLParser(strict=True).parse(page)
    assert page.count("data:image/png") == 4
    assert "row 2 (5.00)" in page

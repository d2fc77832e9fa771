"""`transect.recognition`: the same numbers from every kind of table and target, and JSON that fits its schema."""

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arrow_streams import Stream
from commands import printed
from people_tables import GROUPS, PEOPLE, PLACES, given_table, write_people
from published import fits

import transect


@pytest.fixture
def folder(tmp_path):
    return write_people(tmp_path)


def untimed(result):
    return {name: value for name, value in result.to_json().items() if name not in ("seconds", "embeddings")}


@pytest.mark.parametrize("kind", ["pandas", "stream", "columns"])
def test_every_kind_of_table_gives_the_commands_numbers(folder, kind):
    columns = {"who": PEOPLE, "tone": GROUPS}
    arrow = pa.table(columns)
    tables = {"pandas": pd.DataFrame(columns)}
    tables |= {"stream": Stream(arrow), "columns": columns}
    pairs = pa.table({"a": [0], "b": [4], "a_reference": [1], "b_reference": [5]})
    pq.write_table(pairs, folder / "pairs.parquet")
    result = transect.recognition(tables[kind], "who", "tone", embeddings=PLACES, pairs=pairs, thresholds=[0.75])
    more = ("--embeddings", str(folder / "e.npy"), "--threshold", "0.75", "--pairs", str(folder / "pairs.parquet"))
    command = json.loads(printed(*given_table(folder, *more, "--json")))
    assert untimed(result) == {name: command[name] for name in untimed(result)}
    assert set(command) - set(untimed(result)) == {"seconds", "embeddings"}
    fits(result)


def test_rows_table_and_view(folder):
    result = transect.recognition(folder / "t.parquet", "who", "tone", embeddings=PLACES, thresholds=[0.75, 2.0])
    rows = result.table.to_pylist()
    assert [(row["sample"], row["group"], row["threshold"], row["fnmr"], row["fmr"]) for row in rows] == [
        ("all", "a", 0.75, 0.5, 0.0),
        ("all", "a", 2.0, 0.0, 0.0),
        ("all", "b", 0.75, 1.0, 0.5),
        ("all", "b", 2.0, 1.0, 0.5),
    ]

"""`transect.match`: the same numbers from every kind of table, and JSON that fits its schema."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arrow_streams import Stream
from commands import printed
from match_tables import arguments, write_population
from published import fits

import transect
from transect.analysis.matched.request import MatchOptions

_TIMED = ("seconds", "peak_mb")


@pytest.fixture
def folder(tmp_path):
    return write_population(tmp_path)


def untimed(result):
    return {name: value for name, value in result.to_json().items() if name not in _TIMED}


@pytest.mark.parametrize("kind", ["arrow", "pandas", "stream", "csv"])
def test_every_kind_of_table_gives_the_commands_numbers(folder, kind):
    rows = pq.read_table(folder / "t.parquet")
    frame = rows.to_pandas()
    frame.to_csv(folder / "t.csv", index=False)
    tables = {"arrow": rows, "pandas": frame}
    tables |= {"stream": Stream(rows), "csv": folder / "t.csv"}
    result = transect.match(np.load(folder / "w.npy"), "male", tables[kind], caliper=4.0, exact="place")
    command = json.loads(printed(*arguments(folder, "--caliper", "4", "--exact", "place")))
    assert untimed(result) == {name: value for name, value in command.items() if name not in _TIMED}
    assert result.table.equals(pq.read_table(folder / "pairs.parquet"))


@pytest.mark.parametrize("kind", ["path", "columns"])
def test_one_table_can_be_features_and_attributes(folder, kind):
    table = {"x": [0.0, 1.0, 2.0, 0.1, 1.2, 2.3], "group": list("aaabbb"), "error": [9.0, 0, 0, 0, 0, 9]}
    pq.write_table(pa.table(table), folder / "one.parquet")
    sources = {"path": folder / "one.parquet", "columns": table}
    result = transect.match(sources[kind], "group", outcomes="error")
    assert result.table.to_pydict()["a"] == [3, 4, 5]
    assert result.table.to_pydict()["b"] == [0, 1, 2]
    assert result.numbers.outcomes[0].estimate == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"covariates": ["young", "smile"]}, {}),
        ({"covariates": "young", "method": "overlap"}, {}),
        ({"method": "propensity"}, {}),
        ({"identity": "person"}, {"references": True}),
    ],
)
def test_the_json_fits_the_schema(folder, more, options):
    result = transect.match(
        folder / "w.npy", "male", folder / "t.parquet", **more, options=MatchOptions(layers="average", **options)
    )
    fits(result)

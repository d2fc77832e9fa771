"""`transect.match`: the same numbers from every kind of table, and JSON that fits its schema."""

import json

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arrow_streams import Stream
from commands import printed
from match_tables import arguments, write_population
from published import fits

import transect
from transect.errors import BadInput, UnknownName
from transect.jobs.match.options import MatchOptions

_TIMED = ("seconds", "peak_mb")


@pytest.fixture
def folder(tmp_path):
    return write_population(tmp_path)


def untimed(result):
    return {name: value for name, value in result.to_json().items() if name not in _TIMED}


@pytest.mark.parametrize("kind", ["path", "text", "arrow", "pandas", "stream", "csv"])
def test_every_kind_of_table_gives_the_commands_numbers(folder, kind):
    rows = pq.read_table(folder / "t.parquet")
    frame = rows.to_pandas()
    frame.to_csv(folder / "t.csv", index=False)
    tables = {"path": folder / "t.parquet", "text": str(folder / "t.parquet"), "arrow": rows, "pandas": frame}
    tables |= {"stream": Stream(rows), "csv": folder / "t.csv"}
    result = transect.match(np.load(folder / "w.npy"), "male", tables[kind], caliper=4.0, exact="place")
    command = json.loads(printed(*arguments(folder, "--caliper", "4", "--exact", "place")))
    assert untimed(result) == {name: value for name, value in command.items() if name not in _TIMED}
    assert result.table.equals(pq.read_table(folder / "pairs.parquet"))


@pytest.mark.parametrize("kind", ["path", "arrow", "pandas", "stream", "columns"])
def test_one_table_can_be_features_and_attributes(folder, kind):
    table = {"x": [0.0, 1.0, 2.0, 0.1, 1.2, 2.3], "group": list("aaabbb"), "error": [9.0, 0, 0, 0, 0, 9]}
    pq.write_table(pa.table(table), folder / "one.parquet")
    sources = {"path": folder / "one.parquet", "arrow": pa.table(table), "pandas": pd.DataFrame(table)}
    sources |= {"stream": Stream(pa.table(table)), "columns": table}
    result = transect.match(sources[kind], "group", outcomes="error")
    assert result.table.to_pydict()["a"] == [3, 4, 5]
    assert result.table.to_pydict()["b"] == [0, 1, 2]
    assert result.numbers.outcomes[0].estimate == pytest.approx(0.0)


@pytest.mark.parametrize(
    ("more", "options"),
    [
        ({"covariates": ["young", "smile"]}, {}),
        ({"covariates": "young", "method": "overlap"}, {}),
        ({"covariates": ["young"], "method": "cardinality"}, {}),
        ({"method": "propensity"}, {}),
        ({"identity": "person"}, {"references": True}),
        ({"outcomes": ["smile"]}, {}),
    ],
)
def test_the_json_fits_the_schema(folder, more, options):
    result = transect.match(
        folder / "w.npy", "male", folder / "t.parquet", **more, options=MatchOptions(layers="average", **options)
    )
    fits(result)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**result.to_json(), "pairs": "many"}, result.schema())


def test_several_groups_and_doses_fit_the_schema_too(folder):
    table = pq.read_table(folder / "t.parquet")
    sets = transect.match(folder / "w.npy", "tri", table, covariates="young")
    doses = transect.match(folder / "w.npy", "dose", table, covariates="young", options=MatchOptions(dose_gap=1.0))
    for result in (sets, doses):
        fits(result)
    assert sets.table.column_names == ["a", "b", "distance", "set", "group"]
    assert (sets.numbers.dose_gap, doses.numbers.dose_gap) == (None, 1.0)


def test_a_result_has_a_headline_a_view_and_a_page(folder):
    result = transect.match(folder / "w.npy", "male", folder / "t.parquet", covariates=["young", "smile"])
    assert result.headline().startswith(f"{result.numbers.pairs} pairs from ")
    assert result.headline().endswith(result.numbers.verdict)
    shown = result._repr_html_()
    assert f"<td>{result.numbers.balance[0].before:+.3f}</td>" in shown
    page = result.report(folder / "page")
    assert page == folder / "page" / "match.html"
    assert json.loads((folder / "page" / "match.json").read_text()) == result.to_json()


def test_blocks_are_weighted_as_on_the_command_line(folder):
    w, faces = np.load(folder / "w.npy"), np.load(folder / "faces.npy")
    result = transect.match([w, faces], "male", folder / "t.parquet", options=MatchOptions(weights=[1, 4]))
    printed(*arguments(folder, "--features", f"{folder / 'faces.npy'}=4"))
    assert result.table.equals(pq.read_table(folder / "pairs.parquet"))
    with pytest.raises(BadInput, match="weights: expected one for each of 2 blocks of features, got 1"):
        transect.match([w, faces], "male", folder / "t.parquet", options=MatchOptions(weights=[1]))


def test_an_array_needs_a_table_and_names_are_checked(folder):
    with pytest.raises(BadInput, match="an array or .npy file holds features alone"):
        transect.match(np.ones((3, 2)), "male")
    with pytest.raises(BadInput, match=r"features: expected numbers \[images, columns\], got float64 \[200\]"):
        transect.match(np.ones(200), "male", folder / "t.parquet")
    with pytest.raises(UnknownName, match="did you mean male"):
        transect.match(folder / "w.npy", "mael", folder / "t.parquet")

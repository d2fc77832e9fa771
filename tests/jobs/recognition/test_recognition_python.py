"""`transect.recognition`: the same numbers from every kind of table and target, and JSON that fits its schema."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arrow_streams import Stream
from commands import printed
from people_tables import GROUPS, PEOPLE, PLACES, embedder, given_table, write_people
from published import fits

import transect
from transect.errors import BadInput, UnknownName
from transect.jobs.recognition.run import RecognitionOptions


@pytest.fixture
def folder(tmp_path):
    return write_people(tmp_path)


def untimed(result):
    return {name: value for name, value in result.to_json().items() if name not in ("seconds", "embeddings")}


@pytest.mark.parametrize("kind", ["path", "arrow", "pandas", "stream", "columns"])
def test_every_kind_of_table_gives_the_commands_numbers(folder, kind):
    columns = {"who": PEOPLE, "tone": GROUPS}
    arrow = pa.table(columns)
    tables = {"path": folder / "t.parquet", "arrow": arrow, "pandas": pd.DataFrame(columns)}
    tables |= {"stream": Stream(arrow), "columns": columns}
    pairs = pa.table({"a": [0], "b": [4], "a_reference": [1], "b_reference": [5]})
    pq.write_table(pairs, folder / "pairs.parquet")
    result = transect.recognition(tables[kind], "who", "tone", embeddings=PLACES, pairs=pairs, thresholds=[0.75])
    more = ("--embeddings", str(folder / "e.npy"), "--threshold", "0.75", "--pairs", str(folder / "pairs.parquet"))
    command = json.loads(printed(*given_table(folder, *more, "--json")))
    assert untimed(result) == {name: command[name] for name in untimed(result)}
    assert set(command) - set(untimed(result)) == {"seconds", "embeddings"}
    fits(result)


@pytest.mark.parametrize("kind", ["function", "spec"])
def test_a_target_embeds_the_pictures(folder, kind):
    target = embedder if kind == "function" else "test_recognizing:embedder"
    table = folder / "t.parquet"
    result = transect.recognition(table, "who", "tone", target=target, pictures="face", thresholds=[0.75])
    np.testing.assert_allclose(result.embeddings, PLACES)
    again = transect.recognition(table, "who", "tone", embeddings=PLACES, thresholds=[0.75])
    assert result.to_json()["samples"] == again.to_json()["samples"]
    assert not (folder / "recognition").exists(), "answers are kept where options.answers says"
    page = result.report(folder / "page")
    assert page.name == "recognition.html"
    assert pq.read_table(folder / "page" / "embeddings.parquet").num_rows == 7


def test_rows_table_and_view(folder):
    result = transect.recognition(folder / "t.parquet", "who", "tone", embeddings=PLACES, thresholds=[0.75, 2.0])
    rows = result.table.to_pylist()
    assert [(row["sample"], row["group"], row["threshold"], row["fnmr"], row["fmr"]) for row in rows] == [
        ("all", "a", 0.75, 0.5, 0.0),
        ("all", "a", 2.0, 0.0, 0.0),
        ("all", "b", 0.75, 1.0, 0.5),
        ("all", "b", 2.0, 1.0, 0.5),
    ]
    assert "2 groups of tone" in result.headline()
    assert "<th>FNMR, %</th>" in result._repr_html_()


def test_recognition_refuses_missing_targets_and_unknown_columns(folder):
    with pytest.raises(BadInput, match="a TARGET with --pictures COLUMN, or --embeddings FILE: one of the two"):
        transect.recognition(folder / "t.parquet", "who", "tone")
    with pytest.raises(UnknownName, match="unknown identity column 'hwo': did you mean who"):
        transect.recognition(folder / "t.parquet", "hwo", "tone", embeddings=PLACES)


def test_an_own_name_stands_in_the_numbers_and_on_the_page(tmp_path):
    """Also for an array, which has none; a name that cannot be shown is refused."""
    people = {"who": list("ppqq"), "tone": list("aaaa")}
    places = np.array([[0.0], [1.0], [4.0], [4.5]])

    def named(name):
        options = RecognitionOptions(name=name)
        return transect.recognition(people, "who", "tone", embeddings=places, thresholds=[0.75], options=options)

    result = named(" ours <v2> ")
    assert result.numbers.embeddings == "ours <v2>"
    assert named(None).numbers.embeddings == "embeddings"
    assert "ours &lt;v2&gt;" in result.report(tmp_path).read_text()
    with pytest.raises(BadInput, match="--name: expected a name with a letter or a digit, got '!'; write another"):
        named("!")

"""`transect.leakage` from Python: the same numbers from any table, JSON that fits its schema, typed use."""

import re

import jsonschema
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from leaky_data import planted, planted_bits
from published import fits

import transect
from transect.errors import BadInput
from transect.jobs.leakage.request import LeakageOptions


def columns():
    data = planted(n=400)
    return {
        "id": list(data.ids),
        "verb": data.labels.category,
        "gender": np.where(data.protected == 1, "woman", "man"),
        "split": data.split.tolist(),
    }


def predicted():
    data = planted(n=400)
    scores = np.random.default_rng(0).normal(size=(400, 4)) + data.labels.dense(np.arange(400))
    return {"id": list(data.ids), "score": scores}


QUICK = {
    "split": "split",
    "attacker": "logistic",
    "quiet": True,
    "options": LeakageOptions(permutations=5, alphas=(2,)),
}


def measure(table, scores=None):
    return transect.leakage(table, "gender", "verb", predictions=scores, prediction="score", **QUICK)


@pytest.fixture(scope="module")
def result():
    return measure(columns(), predicted())


def test_a_path_arrow_a_data_frame_and_arrays_give_the_same_numbers(result, tmp_path):
    table, scores = pa.table(columns()), pa.table({"id": predicted()["id"], "score": predicted()["score"].tolist()})
    pa.parquet.write_table(table, tmp_path / "labels.parquet")
    pa.parquet.write_table(scores, tmp_path / "scores.parquet")
    expected = {key: value for key, value in result.to_json().items() if key not in ("title", "source")}
    assert expected["model_leakage"]["estimate"] > 50
    for labels, predictions in (
        (tmp_path / "labels.parquet", str(tmp_path / "scores.parquet")),
        (table, scores),
        (pd.DataFrame(columns()), scores),
    ):
        values = measure(labels, predictions).to_json()
        assert {key: values[key] for key in expected} == expected


def test_json_fits_the_schema_and_a_text_in_place_of_a_number_does_not(result):
    schema = result.schema()
    assert schema["$id"] == "transect/leakage/1"
    fits(result)
    bare = transect.leakage(columns(), "gender", "verb", **{**QUICK, "options": LeakageOptions(permutations=0)})
    assert bare.to_json()["null"] == {"low": None, "high": None}
    fits(bare)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**result.to_json(), "chance": "even"}, schema)


def test_the_table_the_page_and_the_notebook_show_the_same_figures(result, tmp_path):
    row = result.table.to_pylist()[0]
    assert (row["figure"], row["estimate"]) == ("dataset leakage λ_D", result.numbers.dataset_leakage.estimate)
    assert result.report(tmp_path).name == "leakage.html"
    assert pa.parquet.read_table(tmp_path / "balanced.parquet").column_names[-1] == "in_alpha2"
    estimate = f"{result.numbers.dataset_leakage.estimate:.1f} %"
    assert f"an attacker guesses gender with a balanced accuracy of {estimate}" in result.headline()
    assert estimate in result._repr_html_()


def test_several_labels_as_one_array(capsys):
    data = planted_bits(n=300)
    table = {"objects": data.labels.values.astype(int), "gender": data.protected}
    result = transect.leakage(table, "gender", "objects", attacker="logistic", options=LeakageOptions(permutations=2))
    assert (result.numbers.labels, result.numbers.label_format) == (6, "bits")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "leakage: logistic: " in printed.err


def test_leakage_refuses_labels_that_are_no_table():
    with pytest.raises(BadInput, match="labels: expected a path, an Arrow table, a data frame"):
        transect.leakage(7, "gender", "verb")


@pytest.mark.parametrize("quiet", [False, True])
def test_stages_and_counts_are_said_unless_it_is_quiet(quiet, capsys):
    """Two attackers on 2 problems each (no permutations): the second attacker and the two values of α are 3 further."""
    data = planted(n=240)
    table = {"verb": data.labels.category, "gender": data.protected}
    options = LeakageOptions(permutations=0, rounds=1, alphas=(3.0, 2.0), curve=False)
    transect.leakage(table, "gender", "verb", attacker="bayes,logistic", quiet=quiet, options=options)
    printed = capsys.readouterr()
    assert printed.out == ""
    if quiet:
        assert printed.err == ""
        return
    stages = [line for line in printed.err.splitlines() if line.endswith(" …")]
    assert stages == [
        "reading labels and predictions …",
        "sizes of the balanced subsets …",
        "attacks by bayes, gender …",
        "rows of the balanced subsets …",
        "further attacks, 1 of 3: logistic …",
        "further attacks, 2 of 3: α = 3 …",
        "further attacks, 3 of 3: α = 2 …",
        "overview of the labels …",
    ]
    assert re.search(r"^leakage: bayes: (\d+) of \1 ", printed.err, re.MULTILINE)
    assert re.search(r"^leakage, α = 2: bayes: (\d+) of \1 ", printed.err, re.MULTILINE)

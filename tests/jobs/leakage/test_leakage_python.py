"""`transect.leakage` from Python: the same numbers from any table, JSON that fits its schema, typed use."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from leaky_data import planted
from published import fits

import transect
from transect.attacks.cases import LeakageOptions
from transect.job import schema
from transect.jobs.leakage import Leakage


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
    assert schema(Leakage)["$id"] == "transect/leakage/1"
    fits(result)
    bare = transect.leakage(columns(), "gender", "verb", **{**QUICK, "options": LeakageOptions(permutations=0)})
    assert bare.to_json()["null"] == {"low": None, "high": None}
    fits(bare)

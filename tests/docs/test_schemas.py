"""Each job's JSON has a published schema, which a real answer of the job fits."""

import json

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from places import ROOT

import transect
from tools import generate

SCHEMAS = ROOT / "docs" / "reference" / "schemas"
RESULTS = generate.job_results()


def test_every_job_has_a_published_schema():
    assert {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")} == {"results", *RESULTS}


def test_jobs_are_named_as_commands_are():
    assert not [name for name in RESULTS if "_" in name]


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_schemas_are_valid(path):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["$id"].startswith("transect/")


def test_json_of_matching_is_valid_under_its_schema():
    rng = np.random.default_rng(0)
    table = pa.table({"young": rng.integers(0, 2, 60).astype(float), "hat": rng.integers(0, 2, 60).astype(float)})
    found = transect.match(rng.normal(size=(60, 3)), "young", table, caliper=2.0)
    schema = json.loads((SCHEMAS / f"{found.JOB}.schema.json").read_text())
    answer = json.loads(json.dumps(found.to_json(), allow_nan=False))
    jsonschema.Draft202012Validator(schema).validate(answer)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({**answer, "pairs": "many"})

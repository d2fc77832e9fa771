"""Each job's JSON has a published schema, which a real answer of the job fits."""

import json

import jsonschema
import pytest
from places import ROOT

from tools import generate
from transect.cli.declared import declared
from transect.job import jobs_of, name_of

SCHEMAS = ROOT / "docs" / "reference" / "schemas"
RESULTS = generate.job_results()


def test_every_job_has_a_published_schema():
    assert {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")} == {
        "results",
        *RESULTS,
        *(name_of(kind) for module in declared() for kind in jobs_of(module)),
    }


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_schemas_are_valid(path):
    schema = json.loads(path.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["$id"].startswith("transect/")

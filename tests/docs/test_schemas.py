"""Each job's JSON has a published schema, which a real answer of the job fits."""

import json

import jsonschema
import pytest
from places import ROOT
from published import fits, published

import transect
from transect.cli.declared import declared
from transect.job import jobs_of, name_of

SCHEMAS = ROOT / "docs" / "reference" / "schemas"


def test_every_job_has_a_published_schema():
    assert {path.name.removesuffix(".schema.json") for path in SCHEMAS.glob("*.json")} == {
        "results",
        "audit",
        *(name_of(kind) for module in declared() for kind in jobs_of(module)),
    }


@pytest.mark.parametrize("path", sorted(SCHEMAS.glob("*.json")), ids=lambda path: path.name)
def test_schemas_are_valid(path):
    schema = json.loads(path.read_text(), parse_constant=pytest.fail)  # JSON has no NaN
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert schema["$id"].startswith("transect/")


def test_a_document_without_a_key_that_is_always_written_does_not_fit():
    """Also one whose field has a default, as the reason of an estimate that there is."""
    schema = jsonschema.Draft202012Validator(published("plan"))
    answer = fits(transect.plan(effect=0.05, base=0.1))
    for key in answer:
        assert not schema.is_valid({name: value for name, value in answer.items() if name != key})

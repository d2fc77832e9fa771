"""The published JSON Schemas, and what jobs print checked against them."""

import json

import jsonschema
from places import ROOT

from transect.job import Finished, name_of
from transect.runs.json_records import dumps

SCHEMAS = ROOT / "docs" / "reference" / "schemas"


def published(name):
    """A published schema by the name of its document."""
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


def fits(result):
    """What `--json` prints of a result, after a check that it fits the published schema of its job."""
    answer = json.loads(dumps(result.to_json()))
    jsonschema.Draft202012Validator(published(_job(result))).validate(answer)
    return answer


def _job(result):
    return name_of(type(result.job)) if isinstance(result, Finished) else "audit"

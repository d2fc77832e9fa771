"""results.json: its schema, its exact text, and what is refused."""

import json
import math
from dataclasses import fields

import jsonschema
import pytest
from places import ROOT
from report_factory import make_gallery, make_results

from transect.analysis.reporting import EFFECTS
from transect.errors import BadInput
from transect.records import Effect
from transect.reports import schema, write
from transect.reports.entries import STANDING_LIMITS
from transect.reports.results import read

PUBLISHED = json.loads((ROOT / "docs/reference/schemas/results.schema.json").read_text())


def written(results, folder, gallery=None):
    write(results, gallery or make_gallery(), folder)
    return json.loads((folder / "results.json").read_text())


def test_the_published_schema_is_the_one_of_the_code():
    assert schema() == PUBLISHED, "run: python -m tools.generate"


def test_an_effect_has_one_set_of_fields():
    entry = {"origin" if name == "from" else name for name in EFFECTS.names}
    assert entry == {"study", *(field.name for field in fields(Effect))}
    assert EFFECTS.names == list(PUBLISHED["$defs"]["EffectEntry"]["properties"])
    assert EFFECTS.field("p_adjusted").type == "double"
    assert EFFECTS.field("excluded").type == "string"


def test_results_json_fits_the_published_schema(tmp_path):
    jsonschema.Draft202012Validator.check_schema(PUBLISHED)
    jsonschema.Draft202012Validator(PUBLISHED).validate(written(make_results(), tmp_path))


def test_nan_becomes_null_with_its_reason(tmp_path):
    last = written(make_results(), tmp_path)["effects"][-1]
    assert [last[key] for key in ("estimate", "low", "high", "p", "p_adjusted")] == [None] * 5
    assert last["reason"] == "the detector gives no confidence (0 of 4500 images)"


def test_the_standing_limits_are_added_once(tmp_path):
    results = make_results()
    results["limits"].append(STANDING_LIMITS[0])
    limits = written(results, tmp_path)["limits"]
    assert limits[0] == "Subjects of one population only."
    assert sorted(limits[1:]) == sorted(STANDING_LIMITS)


def test_written_results_can_be_read_and_written_again(tmp_path):
    once = written(make_results(), tmp_path / "one")
    assert written(once, tmp_path / "two") == once


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r["effects"][0].update(study="none"), "expected study to be one of faces, smiles, got 'none'"),
        (lambda r: r["rates"][1].update(cell={"skin_tone": 2.0}), r"rates.1: expected a level of skin_tone"),
        (lambda r: r["verdicts"][0].update(effect=999), "verdicts: expected indices below 19, the effects"),
        (lambda r: r["studies"].append(r["studies"][0]), "two studies have the same name"),
        (lambda r: r["studies"][0]["attributes"][0]["labels"].pop(), "expected one label per level, got 4 for 5"),
        (lambda r: r.pop("family"), "at family: it is missing"),
        (lambda r: r["effects"][0].update(estimate=math.inf), "at effects.0.estimate"),
    ],
)
def test_results_outside_the_schema_are_refused_with_their_place(change, message):
    results = make_results()
    change(results)
    with pytest.raises(BadInput, match=message) as caught:
        read(results)
    assert "\n" not in str(caught.value)

"""Observation beside an experiment: by which attributes images as they come are compared, and what the report says."""

import json

import audited
import auditing
import pytest
from canonical import audit_result


@pytest.fixture(scope="module")
def result(canonical):
    return audit_result(canonical("observed"))


@pytest.mark.integration
def test_nuisances_can_be_compared_and_attributes_left_out(result):
    (study,) = [one for one in result.results["studies"] if one["name"] == "observation"]
    # what is varied stays, so that observation can stand beside experiment
    assert [one["name"] for one in study["attributes"]] == ["glasses", "skin_tone", "yaw"]
    assert {e["attribute"] for e in result.results["effects"] if e["study"] == "observation"} == {
        "glasses", "skin_tone", "yaw",
    }  # fmt: skip
    # FaceWorld's other attributes are held equal all the same: 34 less the two that are shown
    held = {one["name"] for one in study["spec"]["held"]}
    assert len(held) == 32
    assert not held & {"glasses", "skin_tone", "yaw"}


@pytest.mark.integration
def test_rates_that_would_be_thousands_are_left_out_and_said(tmp_path):
    """FaceWorld's 34 attributes: 163,943 triples of groups and 5,123 pairs."""
    auditing.audit(audited.brightness, images=20, image_size=32, outcomes=["score"], out=tmp_path, quiet=True)
    results = json.loads((tmp_path / "results.json").read_text())
    (study,) = results["studies"]
    sizes = [len(one["levels"]) for one in study["attributes"]]
    triples = sum(a * b * c for i, a in enumerate(sizes) for j, b in enumerate(sizes[:i]) for c in sizes[:j])
    pairs = sum(a * b for i, a in enumerate(sizes) for b in sizes[:i])
    assert study["cells_left_out"] == triples + pairs
    assert max(rate["order"] for rate in results["rates"]) == 1
    assert (tmp_path / "results.json").stat().st_size < 2_000_000
